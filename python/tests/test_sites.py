"""Images and volumes: axes in any order, xarray dims, lists of members, label maps."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vargate

N, M, C, H, W = 3, 4, 5, 6, 20


@pytest.fixture(scope="module")
def p() -> np.ndarray[Any, Any]:
    """(N, M, C, H, W), float32."""
    z = np.random.default_rng(24).normal(size=(N, M, C, H, W))
    e = np.exp(2 * z)
    return (e / e.sum(2, keepdims=True)).astype(np.float32)


def packed(p: np.ndarray[Any, Any]) -> vargate.Scores:
    return vargate.score(np.ascontiguousarray(p.transpose(0, 3, 4, 1, 2)).reshape(-1, M, C))


def same(a: vargate.Scores, b: vargate.Scores) -> None:
    for name in b.keys():
        np.testing.assert_array_equal(a[name], b[name])
    assert (a.n, a.m, a.c, a.diversity) == (b.n, b.m, b.c, b.diversity)


def test_every_order_is_the_packed_one(p: np.ndarray[Any, Any]) -> None:
    want = packed(p)
    for order in itertools.permutations("NMCHW"):
        view = p.transpose(["NMCHW".index(letter) for letter in order])
        s = vargate.score(view, axes="".join(order))  # strides of any order
        same(s, want)
        assert s.sites == (N, H, W)
    copy = np.ascontiguousarray(p.transpose(1, 0, 2, 3, 4))
    same(vargate.score(copy, axes="MNCHW"), want)
    assert want.sites is None
    s = vargate.score(copy, axes="MNCHW")
    np.testing.assert_array_equal(s.map("tu"), want.tu.reshape(N, H, W))
    assert s.map("gtu").shape == (N, H, W, 3)
    with pytest.raises(ValueError, match="not those of all sites"):
        s[:5].map("tu")


def test_one_member_one_image_and_volumes(p: np.ndarray[Any, Any]) -> None:
    assert vargate.score(p[:, 0], axes="NCHW").m == 1
    s = vargate.score(p[0], axes="MCHW")
    assert s.sites == (1, H, W)
    np.testing.assert_array_equal(s.tu, packed(p).tu[: H * W])
    volume = vargate.score(p.reshape(N, M, C, H, W // 4, 4), axes="NMCHWD")
    assert volume.sites == (N, H, W // 4, 4)
    np.testing.assert_array_equal(volume.eu, packed(p).eu)


def test_lists_of_members(p: np.ndarray[Any, Any]) -> None:
    same(vargate.score([p[:, m] for m in range(M)], axes="NCHW"), packed(p))
    torch = pytest.importorskip("torch")
    tensors = [torch.from_numpy(p[:, m].copy()) for m in range(M)]
    same(vargate.score(tensors, axes="NCHW"), packed(p))
    last = [t.to(memory_format=torch.channels_last) for t in tensors]
    same(vargate.score(last, axes="NCHW"), packed(p))
    halves = [t.to(torch.bfloat16) for t in tensors]
    stacked = torch.stack(halves)
    same(vargate.score(halves, axes="NCHW", renormalise=True), vargate.score(stacked, axes="MNCHW", renormalise=True))
    with pytest.raises(ValueError, match=r"member 1 has shape .*: members predict the same sites and classes"):
        vargate.score([p[:, 0], p[:2, 1]], axes="NCHW")
    with pytest.raises(ValueError, match="several element types"):
        vargate.score([p[:, 0], p[:, 1].astype("f8")], axes="NCHW")


def test_xarray_dims(p: np.ndarray[Any, Any]) -> None:
    xarray = pytest.importorskip("xarray")
    data = xarray.DataArray(p.swapaxes(0, 1), dims=("member", "sample", "class", "y", "x"))
    same(vargate.score(data), packed(p))


def test_files(p: np.ndarray[Any, Any], tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", p)
    s = vargate.score(tmp_path / "p.npy", axes="NMCHW")
    same(s, packed(p))
    assert s.sites == (N, H, W)
    labels = np.zeros((N, H, W), np.uint8)
    np.savez(tmp_path / "p.npz", P=p, L=labels)
    found = vargate.load(tmp_path / "p.npz", "predictions", axes="NMCHW")
    assert (found.n, found.m, found.c) == (N * H * W, M, C)
    assert found.labels is not None
    assert found.labels.shape == (N * H * W,)
    np.testing.assert_array_equal(found.values.reshape(N, H, W, M, C), p.transpose(0, 3, 4, 1, 2))
    np.savez(tmp_path / "q.npz", P=p, L=labels[:, :, :-1])
    with pytest.raises(ValueError, match=r"labels L are \(3, 6, 19\), but the predictions have sites \(3, 6, 20\)"):
        vargate.load(tmp_path / "q.npz", "predictions", axes="NMCHW")


@pytest.mark.parametrize(
    ("axes", "says"),
    [
        ("NMXHW", "'X' is no axis"),
        ("NMCHH", "H is there twice"),
        ("NCHW", "names 4, but the array has 5 .*what fits: NMCHW, MNCHW or NCHWM"),
        (None, "has 5 axes, expected 3 .* name the axes: axes='NMCHW'"),
    ],
)
def test_what_does_not_fit(p: np.ndarray[Any, Any], axes: str | None, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        vargate.score(p, axes=axes)


def test_labels_of_another_size(p: np.ndarray[Any, Any]) -> None:
    with pytest.raises(ValueError, match=r"labels has shape \(3, 6\), but the predictions have sites \(3, 6, 20\)"):
        vargate.score(p, axes="NMCHW", labels=np.zeros((N, H), int))


def test_labels(p: np.ndarray[Any, Any]) -> None:
    labels = np.random.default_rng(1).integers(0, C, (N, H, W))
    a = vargate.evaluate(p, labels, axes="NMCHW")
    b = vargate.evaluate(p.transpose(0, 3, 4, 1, 2).reshape(-1, M, C), labels.reshape(-1))
    assert a.accuracy == b.accuracy
    assert a.to_dict() == b.to_dict()


def test_scorer_and_calibrate(p: np.ndarray[Any, Any]) -> None:
    scorer = vargate.Scorer(axes="NMCHW")
    parts = [scorer.feed(p[:1]), scorer.feed(p[1:])]
    whole = vargate.concatenate(parts)
    assert whole.sites == (N, H, W)
    np.testing.assert_array_equal(whole.tu, packed(p).tu)
    labels = np.random.default_rng(1).integers(0, C, (N, H, W))
    z = np.log(p)
    flat = np.ascontiguousarray(z.transpose(0, 3, 4, 1, 2)).reshape(-1, M, C)
    fit = vargate.calibrate(z, labels, axes="NMCHW")
    assert fit.to_dict() == vargate.calibrate(flat, labels.reshape(-1)).to_dict()
