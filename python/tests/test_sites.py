"""Images and volumes: axes in any order, xarray dims, lists of members, label maps."""

from __future__ import annotations

import itertools
import json
import subprocess
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
        ("NMXHW", "'X' is not an axis"),
        ("NMCHH", "H is there twice"),
        ("NCHW", "names 4, but the array has 5 .*what fits: NMCHW, MNCHW or NCHWM"),
        (None, "has 5 axes, expected 3 .* name the axes: axes='NMCHW'"),
    ],
)
def test_what_does_not_fit(p: np.ndarray[Any, Any], axes: str | None, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        vargate.score(p, axes=axes)


def test_no_bootstrap_of_sites(p: np.ndarray[Any, Any]) -> None:
    s = vargate.score(p, axes="NMCHW")
    assert vargate.ood(s, s, measures="tu").measures["tu"].auroc == 0.5
    with pytest.raises(ValueError, match="the sites of an image are not independent"):
        vargate.ood(s, s, measures="tu", bootstrap=20)


def test_labels_of_another_size(p: np.ndarray[Any, Any]) -> None:
    with pytest.raises(ValueError, match=r"labels has shape \(3, 6\), but the predictions have sites \(3, 6, 20\)"):
        vargate.score(p, axes="NMCHW", labels=np.zeros((N, H), int))


@pytest.fixture(scope="module")
def maps() -> np.ndarray[Any, Any]:
    """Label maps, of which a corner of the first image is left out."""
    labels = np.random.default_rng(1).integers(0, C, (N, H, W))
    labels[0, :2, :7] = 255
    return labels


def close(a: Any, b: Any) -> None:
    """Figures equal to 1e-12, key by key of those that both have."""
    if isinstance(a, dict):
        for key in a.keys() & b.keys():
            close(a[key], b[key])
    elif isinstance(a, list):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            close(one, other)
    elif isinstance(a, float):
        assert a == pytest.approx(b, abs=1e-12, rel=1e-12), (a, b)
    else:
        assert a == b


def test_evaluation(p: np.ndarray[Any, Any], maps: np.ndarray[Any, Any]) -> None:
    """As the flat sites, with what only images have."""
    keep = maps.reshape(-1) != 255
    flat = np.ascontiguousarray(p.transpose(0, 3, 4, 1, 2)).reshape(-1, M, C)
    want = vargate.evaluate(flat[keep], maps.reshape(-1)[keep]).to_dict()
    found = vargate.evaluate(p, maps, axes="NMCHW", ignore=255)
    ours = found.to_dict()
    assert set(want) < set(ours)
    # Whether the ECE or a lead are chance needs independent rows, which sites are not.
    tested = ("ece_expected", "ece_p_value", "ece_debiased", "lead", "notes", "advice", "findings", "best")
    close({key: value for key, value in want.items() if key not in tested}, ours)
    assert found.measures.keys() == want["measures"].keys()
    assert (found.sites, found.ignored) == ((N, H, W), 14)
    pred = flat.mean(axis=1, dtype=np.float64).argmax(axis=1).reshape(N, H, W)
    for c, row in enumerate(found.per_class):
        hit, either = (pred == c) & (maps == c), ((pred == c) & (maps != 255)) | (maps == c)
        assert row.iou == pytest.approx(hit.sum() / either.sum(), abs=1e-12)
    assert found.miou == pytest.approx(np.mean([row.iou or 0 for row in found.per_class]), abs=1e-12)
    gmu = vargate.score(p, axes="NMCHW").map("gmu")
    for i, image in enumerate(found.images):
        inside = maps[i] != 255
        assert (image.sites, image.accuracy) == (inside.sum(), pytest.approx((pred[i] == maps[i])[inside].mean()))
        assert image.median == pytest.approx(np.median(gmu[i][inside]), abs=1e-12)
    assert len(found.to_pandas("images")) == N
    assert f"sites of {N} images" in str(found)
    assert "miou" in str(found)


def test_evaluation_of_any_source(p: np.ndarray[Any, Any], maps: np.ndarray[Any, Any], tmp_path: Path) -> None:
    want = vargate.evaluate(p, maps, axes="NMCHW", ignore=255, classes=list("abcde")).to_dict()
    np.save(tmp_path / "p.npy", p)
    np.save(tmp_path / "y.npy", maps.astype(np.uint8))
    np.savez(tmp_path / "both.npz", P=p, L=maps)
    sources: list[tuple[Any, Any, str]] = [
        (tmp_path / "p.npy", tmp_path / "y.npy", "NMCHW"),
        (str(tmp_path / "p.npy"), maps, "NMCHW"),
        (tmp_path / "both.npz", None, "NMCHW"),
        ([p[:, m] for m in range(M)], maps, "NCHW"),
        ([p[:, m].transpose(1, 2, 0, 3) for m in range(M)], maps, "CHNW"),
        (p.transpose(4, 1, 0, 2, 3), maps, "WMNCH"),
    ]
    for source, labels, axes in sources:
        assert vargate.evaluate(source, labels, axes=axes, ignore=255, classes=list("abcde")).to_dict() == want
    torch = pytest.importorskip("torch")
    tensors = [torch.from_numpy(p[:, m].copy()) for m in range(M)]
    assert (
        vargate.evaluate(tensors, torch.from_numpy(maps), axes="NCHW", ignore=255, classes=list("abcde")).to_dict()
        == want
    )
    halves = vargate.evaluate(torch.from_numpy(p).to(torch.bfloat16), maps, axes="NMCHW", ignore=255, renormalise=True)
    assert halves.accuracy == pytest.approx(want["accuracy"], abs=0.02)
    one = vargate.evaluate([p[0, m] for m in range(M)], maps[0], axes="CHW", ignore=255)
    assert (one.sites, len(one.images)) == ((1, H, W), 1)


def test_evaluation_is_the_commands(
    p: np.ndarray[Any, Any], maps: np.ndarray[Any, Any], tmp_path: Path, command: Any
) -> None:
    """Every figure, with intervals by resampling images."""
    np.save(tmp_path / "p.npy", p)
    np.save(tmp_path / "y.npy", maps)
    options = ["--axes", "NMCHW", "--labels", str(tmp_path / "y.npy"), "--ignore", "255", "--bootstrap", "30"]
    said = command("evaluate", str(tmp_path / "p.npy"), *options)
    found = vargate.evaluate(p, maps, axes="NMCHW", ignore=255, bootstrap=30)
    assert found.to_dict() == said
    assert found.intervals is not None
    low, high = found.intervals["miou"]
    assert low < found.miou < high


def test_evaluation_options(p: np.ndarray[Any, Any], maps: np.ndarray[Any, Any]) -> None:
    z, flat = np.log(p), np.log(np.ascontiguousarray(p.transpose(0, 3, 4, 1, 2)).reshape(-1, M, C))
    how: dict[str, Any] = {"logits": True, "temperature": [1, 2, 1, 1.5], "k": [0.5, 1], "measures": "tu,gtu@1"}
    maps = np.where(maps == 255, 0, maps)
    found = vargate.evaluate(z, maps, axes="NMCHW", coverages=[0.5], bins=7, threads=1, **how)
    want = vargate.evaluate(flat, maps.reshape(-1), coverages=[0.5], bins=7, **how)
    assert list(found.measures) == ["tu", "gtu@1"]
    close({name: row.to_dict() for name, row in want.measures.items()}, found.to_dict()["measures"])
    assert found.ece == pytest.approx(want.ece, abs=1e-12)
    assert list(found.rule) == ["0.5", "1"]
    scores = vargate.score(p, axes="NMCHW")
    assert vargate.evaluate(scores, maps, ignore=0).n == (maps != 0).sum()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"labels": None}, r"labels are needed: label maps \(3, 6, 20\)"),
        ({"ignore": None}, r"^labels: label 255 of site 0 is outside 0..4; .*ignore=255"),
        ({"ignore": 1.5}, "ignore is 1.5, expected a whole number"),
        ({"extra": {"mine": np.zeros((N, H, W))}}, "extra: images are ranked by our measures"),
        ({"labels": np.full((N, H, W), 255)}, "^p: every site is left out by ignore=255"),
        ({"labels": np.zeros((N, H), int)}, r"labels has shape \(3, 6\), but the predictions have sites"),
        ({"multilabel": True}, "ignore is a label of maps; multilabel=True has none"),
        ({"measures": "nope"}, "measures: unknown 'nope'"),
    ],
)
def test_evaluation_refuses(
    p: np.ndarray[Any, Any], maps: np.ndarray[Any, Any], change: dict[str, Any], says: str
) -> None:
    given: dict[str, Any] = {"labels": maps, "ignore": 255, "axes": "NMCHW", **change}
    with pytest.raises((ValueError, TypeError), match=says):
        vargate.evaluate(p, **given)
    with pytest.raises(ValueError, match="ignore leaves out sites of images: name their axes"):
        vargate.evaluate(p[:, :, :, 0, 0], np.zeros(N, int), ignore=255)


def test_scorer_and_calibrate(p: np.ndarray[Any, Any]) -> None:
    scorer = vargate.Scorer(axes="NMCHW")
    parts = [scorer.feed(p[:1]), scorer.feed(p[1:])]
    whole = vargate.concatenate(parts)
    assert whole.sites == (N, H, W)
    np.testing.assert_array_equal(whole.tu, packed(p).tu)
    labels = np.random.default_rng(1).integers(0, C, (N, H, W))
    z = np.log(p)
    flat = np.ascontiguousarray(z.transpose(0, 3, 4, 1, 2)).reshape(-1, M, C)
    fit = vargate.calibrate(z, labels, axes="NMCHW", folds=0).to_dict()
    assert fit.pop("images") == N
    assert fit == vargate.calibrate(flat, labels.reshape(-1), folds=0).to_dict()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_images_are_held_out(program: str, tmp_path: Path) -> None:
    """Copies of a sample as the sites of an image are in one fold: figures are those of the samples."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, C, 120)
    z = 2 * np.eye(C)[y][:, None] + 2 * rng.normal(size=(120, M, C))
    images, labels = np.tile(z[..., None, None], (1, 1, 1, 2, 3)), np.tile(y[:, None, None], (1, 2, 3))
    how: dict[str, Any] = {"method": "vector", "shared": True, "compare": True}
    samples, found = vargate.calibrate(z, y, **how), vargate.calibrate(images, labels, axes="NMCHW", **how)
    assert found.held_out is not None
    assert samples.held_out is not None
    assert (samples.images, found.images, found.samples) == (None, 120, 720)
    for key in ("nll", "nll_change_error", "ece", "accuracy", "member_nll"):
        assert found.held_out[key] == pytest.approx(samples.held_out[key], abs=1e-7)
    assert found.comparison is not None
    assert samples.comparison is not None
    assert found.comparison["supported"] == samples.comparison["supported"]
    one, other = vargate.fit_k(z, y, logits=True), vargate.fit_k(images, labels, axes="NMCHW", logits=True)
    for name in ("one", "by_class"):
        nll = one.figures[name]["held_out"]["nll"]
        assert other.figures[name]["held_out"]["nll"] == pytest.approx(nll, abs=1e-6)
    # Sites and an image that are left out: the command's figures.
    labels[:40, 0, 0] = 255
    labels[-1] = 255
    np.savez(tmp_path / "z.npz", logits=images, labels=labels)
    for command, fit in (
        ("calibrate", vargate.calibrate(images, labels, axes="NMCHW", ignore=255)),
        ("fit-k", vargate.fit_k(images, labels, axes="NMCHW", ignore=255, logits=True)),
    ):
        args = [program, command, str(tmp_path / "z.npz"), "--axes", "NMCHW", "--ignore", "255", "-q", "--json"]
        printed = json.loads(subprocess.run(args, check=True, capture_output=True).stdout)
        assert {**printed, **fit.to_dict()} == printed
        assert printed["images"] == 119


def test_one_image_is_not_held_out(p: np.ndarray[Any, Any]) -> None:
    labels = np.random.default_rng(1).integers(0, C, (1, H, W))
    says = "no held-out figures: the sites of one image are not independent"
    with pytest.warns(UserWarning, match=says):
        fit = vargate.calibrate(np.log(p[:1]), labels, axes="NMCHW")
    assert (fit.images, fit.held_out) == (1, None)
    with pytest.warns(UserWarning, match=says):
        k = vargate.fit_k(p[:1], labels, axes="NMCHW")
    assert (k.images, k.folds, k.supported) == (1, 0, "none")


def test_scores_of_sites_are_not_tested(p: np.ndarray[Any, Any], maps: np.ndarray[Any, Any]) -> None:
    """Tests and intervals would take sites for independent samples; those of predictions with axes draw images."""
    scores = vargate.score(p, axes="NMCHW", labels=maps, ignore=255)
    assert [finding.about for finding in vargate.evaluate(scores).findings] == ["diversity"]
    with pytest.raises(ValueError, match="pass predictions with axes"):
        vargate.evaluate(scores, bootstrap=20)


def test_sites_left_out(p: np.ndarray[Any, Any], maps: np.ndarray[Any, Any]) -> None:
    """Scores are those of the other sites; maps mark those that are left out."""
    keep = maps != 255
    want = vargate.score(np.ascontiguousarray(p.transpose(0, 3, 4, 1, 2)[keep]), labels=maps[keep])
    found = vargate.score(p, axes="NMCHW", labels=maps, ignore=255)
    same(found, want)
    assert found.summary() == want.summary()
    shown = found.map("gmu")
    np.testing.assert_array_equal(shown[keep], want.gmu)
    assert np.isnan(shown[~keep]).all()
    assert (found.map("decision@1")[~keep] == -2).all()
    members = [p[:, m] for m in range(M)]
    same(vargate.score(members, axes="NCHW", labels=maps, ignore=255), want)
    both = vargate.concatenate([found, found])
    np.testing.assert_array_equal(both.map("tu")[N:], found.map("tu"))
    for options, says in (
        ({"axes": "NMCHW"}, "ignore=255 needs labels"),
        ({"axes": "NMCHW", "labels": np.full((N, H, W), 255)}, "every site is left out by ignore=255"),
    ):
        with pytest.raises(ValueError, match=says):
            vargate.score(p, ignore=255, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="ignore leaves out sites of images"):
        vargate.score(p[:, :, :, 0, 0], ignore=255)


def test_referral(p: np.ndarray[Any, Any], maps: np.ndarray[Any, Any]) -> None:
    found = vargate.score(p, axes="NMCHW", labels=maps, ignore=255)
    e = vargate.evaluate(p, maps, axes="NMCHW", ignore=255)
    np.testing.assert_allclose(found.abstained(1), [image.abstained for image in e.images])
    share = float(np.median(found.abstained(1)))
    np.testing.assert_array_equal(found.refer(share), found.abstained(1) > share)
    with pytest.raises(ValueError, match="above is 2"):
        found.refer(2)
    with pytest.raises(ValueError, match="not those of all sites"):
        found[:5].refer(0.5)


def test_maps_in_a_folder(p: np.ndarray[Any, Any], maps: np.ndarray[Any, Any], tmp_path: Path) -> None:
    found = vargate.score(p, axes="NMCHW", labels=maps, ignore=255)
    out = vargate.save_maps([p[:, m] for m in range(M)], tmp_path / "maps", axes="NCHW", labels=maps, ignore=255)
    np.testing.assert_array_equal(np.load(out / "gmu.npy"), found.map("gmu"))
    np.testing.assert_array_equal(np.load(out / "decision@2.npy"), found.map("decision@2"))
    assert (out / "gmu-0002.png").exists()
    with pytest.raises(ValueError, match="save_maps writes maps of images"):
        vargate.save_maps(p[:, :, :, 0, 0], tmp_path / "other")


def test_curve_and_page(p: np.ndarray[Any, Any], maps: np.ndarray[Any, Any], tmp_path: Path) -> None:
    flat = vargate.score(p, axes="NMCHW", labels=maps, ignore=255)
    want = vargate.evaluate(flat, curve=7).measures["eu"].curve
    found = vargate.evaluate(p, maps, axes="NMCHW", ignore=255, curve=7).measures["eu"].curve
    assert found == pytest.approx(want, abs=1e-12)
    photos = np.zeros((N, 2 * H, 2 * W, 3), np.uint8)
    page = vargate.report(p, tmp_path, axes="NMCHW", labels=maps, ignore=255, images=photos)
    text = page.path.read_text(encoding="utf-8")
    assert 'id="vg-sitephoto"' in text
    assert 'id="vg-sitelabel"' in text
