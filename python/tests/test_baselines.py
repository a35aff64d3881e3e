"""The measures to compare with (maxprob, gap, topstd, votes, maxlogit, energy) against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

import vargate

NAMES = ("maxprob", "gap", "topstd", "votes", "maxlogit", "energy")


def reference(z: np.ndarray, logits: bool) -> dict[str, np.ndarray]:
    z = z.astype(np.float64)
    top = z.max(axis=-1, keepdims=True)
    lse = top[..., 0] + np.log(np.exp(z - top).sum(axis=-1))
    p = np.exp(z - lse[..., None]) if logits else z
    mean = p.mean(axis=1)
    order = np.sort(mean, axis=-1)
    first = mean.argmax(axis=-1)
    counts = np.stack([np.bincount(row, minlength=z.shape[-1]) for row in z.argmax(axis=-1)])
    return {
        "maxprob": 1 - order[:, -1],
        "gap": 1 - (order[:, -1] - order[:, -2]),
        "topstd": np.take_along_axis(p.std(axis=1), first[:, None], axis=1)[:, 0],
        "votes": 1 - counts.max(axis=1) / z.shape[1],
        "maxlogit": -z.mean(axis=1).max(axis=-1),
        "energy": -lse.mean(axis=1),
    }


@pytest.mark.parametrize("shape", [(40, 5, 10), (6, 5, 400), (11, 30, 7), (3, 1, 2)])
@pytest.mark.parametrize("logits", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_against_numpy(shape: tuple[int, int, int], logits: bool, dtype: type) -> None:
    rng = np.random.default_rng(3)
    z = 3 * rng.normal(size=shape)
    if not logits:
        z = np.exp(z) / np.exp(z).sum(axis=-1, keepdims=True)
    z = z.astype(dtype)
    names = NAMES if logits else NAMES[:4]
    s = vargate.score(z, measures=list(names), logits=logits)
    want = reference(z, logits)
    for name in names:
        tolerance = 1e-12 if dtype is np.float64 else 1e-6
        np.testing.assert_allclose(s[name], want[name], rtol=tolerance, atol=tolerance, err_msg=name)


def test_group_and_refusal() -> None:
    p = np.array([[[0.5, 0.5], [0.25, 0.75]]])
    s = vargate.score(p, measures="baselines")
    np.testing.assert_allclose(s["gap"], [1 - 0.25])
    np.testing.assert_allclose(s["votes"], [0.5])
    with pytest.raises(Exception, match="logits"):
        vargate.score(p, measures=["energy"])


def test_listed() -> None:
    listed = {m.name: m for m in vargate.measures()}
    assert all(name in listed and not listed[name].certainty for name in NAMES)
