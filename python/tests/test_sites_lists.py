"""Images as a list with one array per member, whose axes may be named with the list as M or without it."""

from __future__ import annotations

import numpy as np
import pytest

import vargate


def members() -> np.ndarray:
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(4), size=(3, 2, 5, 6)).astype(np.float32)  # M N H W C
    return np.ascontiguousarray(np.moveaxis(p, -1, 2))  # M N C H W


@pytest.mark.parametrize("axes", ["MNCHW", "NCHW"])
def test_list_of_members(axes: str) -> None:
    p = members()
    whole = vargate.score(p, axes="MNCHW")
    listed = vargate.score([np.ascontiguousarray(one) for one in p], axes=axes)
    assert listed.sites == whole.sites
    np.testing.assert_array_equal(listed.map("gmu"), whole.map("gmu"))


def test_members_inside_arrays_of_a_list() -> None:
    with pytest.raises(ValueError, match="axes"):
        vargate.score(list(members()), axes="NMCHW")


def test_unnamed_axes_say_what_to_write() -> None:
    with pytest.raises(ValueError, match="axes='MNCHW'"):
        vargate.score(list(members()))
