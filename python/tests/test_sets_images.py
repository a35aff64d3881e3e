"""Fits and prediction sets of images: label maps, sites that are left out, the image as the unit of exchange."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vargate

M, N, C, H, W = 3, 30, 4, 5, 6


def images(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits (M, N, C, H, W) and label maps (N, H, W), 255 on a fifth of the sites."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, C, (N, H, W))
    z = rng.normal(size=(M, N, C, H, W)) + 1.5 * np.moveaxis(np.eye(C)[y], 3, 1)
    y[rng.random(y.shape) < 0.2] = 255
    return z.astype(np.float32), y


def kept(z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sites with a label as samples (sites, M, C)."""
    return np.moveaxis(z, (0, 2), (3, 4))[y != 255], y[y != 255]


def test_fits_leave_sites_out() -> None:
    z, y = images(1)
    flat, labels = kept(z, y)
    whole = vargate.calibrate(z, y, axes="MNCHW", ignore=255)
    assert np.array_equal(whole.temperatures, vargate.calibrate(flat, labels).temperatures)
    gates = vargate.fit_k(z, y, logits=True, axes="MNCHW", ignore=255)
    assert np.array_equal(gates.by_class, vargate.fit_k(flat, labels, logits=True).by_class)
    several = vargate.calibrate(list(z), y, axes="NCHW", ignore=255)  # one array per member
    assert np.array_equal(whole.temperatures, several.temperatures)
    assert vargate.fit_k(z, np.where(y == 255, 0, y), logits=True, axes="MNCHW").samples == y.size


def test_sets_of_images(tmp_path: Path, command: Callable[..., Any]) -> None:
    (z, y), (new, maps) = images(2), images(3)
    options: Any = {"axes": "MNCHW", "ignore": 255, "logits": True, "alpha": [0.1, 0.3]}
    found = vargate.sets(new, calibration=(z, y), labels=maps, **options)
    assert found.sites == (N, H, W)
    sizes = found.size.reshape(*found.sites, 2)
    assert np.array_equal(sizes[..., 0] == -1, maps == 255)
    held = np.take_along_axis(found.mask[:, 0], np.where(maps == 255, 0, maps).reshape(-1, 1), 1).reshape(maps.shape)
    shares = [held[i][maps[i] != 255].mean() for i in range(N)]
    assert found.figures[0]["coverage"] == pytest.approx(np.mean(shares), abs=1e-12)
    assert found.to_dict()["images"] == N
    assert found.to_dict()["ignored"] == (maps == 255).sum()

    np.savez(tmp_path / "val.npz", Z=z, L=y)
    np.savez(tmp_path / "new.npz", Z=new, L=maps)
    axes = ("--axes", "MNCHW", "--ignore", 255)
    there = command("sets", tmp_path / "new.npz", "--calibration", tmp_path / "val.npz", "--alpha", "0.1,0.3", *axes)
    assert there == {key: value for key, value in found.to_dict().items() if key not in ("schema", "command")}

    made = vargate.Conformal(**options).fit(z[:, :20], y[:20]).fit(z[:, 20:], y[20:])  # in two blocks
    made.save(tmp_path / "thresholds.json")
    assert json.loads((tmp_path / "thresholds.json").read_text())["calibrated"] == N
    again = vargate.Conformal.load(tmp_path / "thresholds.json", axes="MNCHW", ignore=255, logits=True)
    assert np.array_equal(again.sets(new, labels=maps).packed, found.packed)
    assert again.sets(new, labels=maps).figures == found.figures


def test_refusals_of_images() -> None:
    z, y = images(4)
    with pytest.raises(ValueError, match=r"site .* is 255, expected 0 to 3; .* give ignore=255"):
        vargate.fit_k(z, y, logits=True, axes="MNCHW")
    with pytest.raises(ValueError, match=r"site .* is 255, expected 0 to 3; .* give ignore=255"):
        vargate.Conformal(axes="MNCHW", logits=True).fit(z, y)
    with pytest.raises(ValueError, match="every site is left out by ignore=255"):
        vargate.calibrate(z, np.full_like(y, 255), axes="MNCHW", ignore=255)
    with pytest.raises(ValueError, match="ignore leaves out sites of images: name their axes"):
        vargate.fit_k(kept(z, y)[0], kept(z, y)[1], logits=True, ignore=255)
    made = vargate.Conformal(axes="MNCHW", ignore=255, logits=True).fit(z, y)
    with pytest.raises(ValueError, match="images of 15 sites, but those before had 30"):
        made.fit(z[..., :3], y[..., :3])
    with pytest.raises(ValueError, match="do not go with multilabel"):
        vargate.Conformal(axes="MNCHW", multilabel=True).fit(z, y)


def test_groups_of_images(tmp_path: Path, command: Callable[..., Any]) -> None:
    (z, y), (new, maps) = images(5), images(6)
    groups = np.array(["near", "far"])[np.arange(N) % 2]
    found = vargate.sets(
        new,
        calibration=(z, y, groups),
        groups=groups,
        labels=maps,
        by="group",
        axes="MNCHW",
        ignore=255,
        logits=True,
    )
    for name, cell in zip(("near", "far"), found.figures[0]["cells"], strict=True):
        alone = vargate.Conformal(axes="MNCHW", ignore=255, logits=True).fit(z[:, groups == name], y[groups == name])
        assert (cell["cell"], cell["samples"], cell["threshold"]) == (name, N // 2, alone.thresholds[0, 0])
    np.savez(tmp_path / "val.npz", Z=z, L=y, place=groups)
    np.savez(tmp_path / "new.npz", Z=new, L=maps, place=groups)
    options = ("--axes", "MNCHW", "--ignore", 255, "--by", "group:place")
    there = command("sets", tmp_path / "new.npz", "--calibration", tmp_path / "val.npz", *options)
    assert there["alphas"] == found.figures
    with pytest.raises(ValueError, match=r"groups has shape \(3,\), expected \(30,\)"):
        vargate.Conformal(by="group", axes="MNCHW", ignore=255, logits=True).fit(z, y, groups=["a", "b", "c"])
