# ruff: noqa: E402 - imports follow importorskip
"""A checkpoint as Python's safetensors package reads it: names, shapes, state, and the network that the arrays make."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

safetensors = pytest.importorskip("safetensors", reason="the package safetensors is not installed")

from numpy.lib.stride_tricks import sliding_window_view
from safetensors.numpy import load_file

HEADS, CLASSES = 3, 4


@pytest.fixture(scope="module")
def images() -> np.ndarray:
    return np.random.default_rng(3).integers(0, 256, (160, 16, 16), dtype=np.uint8)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, training_program: str, images: np.ndarray) -> Path:
    """Two epochs of a small network on noise."""
    folder = tmp_path_factory.mktemp("checkpoint")
    np.savez(folder / "noise.npz", images=images, labels=np.arange(len(images)) % CLASSES)
    recipe = {
        "name": "small",
        "dataset": f"path:{folder / 'noise.npz'}",
        "network": "cnn-8-24",
        "heads": HEADS,
        "epochs": 2,
        "batch": 32,
        "rate": 1e-3,
    }
    (folder / "small.yaml").write_text("".join(f"{key}: {value}\n" for key, value in recipe.items()))
    subprocess.run([training_program, "train", folder / "small.yaml", "--out", folder / "run", "--quiet"], check=True)
    return folder / "run"


def metadata(path: Path) -> dict[str, str]:
    with safetensors.safe_open(path, framework="numpy") as file:
        return dict(file.metadata())


def test_arrays_and_state(run: Path) -> None:
    arrays = load_file(run / "last.safetensors")
    shapes = {
        "conv1.weight": (8, 1, 5, 5),
        "conv1.bias": (8,),
        "conv2.weight": (8, 8, 5, 5),
        "conv2.bias": (8,),
        "hidden.weight": (24, 8),
        "hidden.bias": (24,),
        "heads.weight": (HEADS * CLASSES, 24),
        "heads.bias": (HEADS * CLASSES,),
    }
    for name, shape in shapes.items():
        for prefix in ("", "adam.m/", "adam.v/"):
            array = arrays[prefix + name]
            assert array.shape == shape
            assert array.dtype == np.float32
            assert np.isfinite(array).all()
    assert (arrays["adam.v/conv2.weight"] > 0).any()
    said = metadata(run / "last.safetensors")
    assert "network: cnn-8-24\n" in said["recipe"]
    state = json.loads(said["state"])
    assert (state["epoch"], state["classes"], state["height"]) == (2, CLASSES, 16)
    best = load_file(run / "best.safetensors")
    assert {name for name in best if "/" not in name} >= set(shapes)


def test_arrays_make_the_network(run: Path, training_program: str, images: np.ndarray, tmp_path: Path) -> None:
    """NumPy's forward pass over the arrays gives the logits that the program predicts."""
    arrays = {name: array.astype(np.float64) for name, array in load_file(run / "last.safetensors").items()}
    state = json.loads(metadata(run / "last.safetensors")["state"])
    x = (images[:20, None] / 255 - state["mean"][0]) / state["std"][0]
    for layer in ("conv1", "conv2"):
        windows = sliding_window_view(x, (5, 5), axis=(2, 3))
        x = np.einsum("nchwij,ocij->nohw", windows, arrays[f"{layer}.weight"]) + arrays[f"{layer}.bias"][:, None, None]
        n, c, h, w = x.shape
        x = np.maximum(x.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5)), 0)
    x = np.maximum(x.reshape(len(x), -1) @ arrays["hidden.weight"].T + arrays["hidden.bias"], 0)
    wanted = (x @ arrays["heads.weight"].T + arrays["heads.bias"]).reshape(-1, HEADS, CLASSES)
    np.savez(tmp_path / "some.npz", images=images[:20])
    subprocess.run(
        [
            training_program,
            "predict",
            run,
            "--input",
            tmp_path / "some.npz",
            "--logits",
            "-o",
            tmp_path / "z.npz",
            "--quiet",
        ],
        check=True,
    )
    np.testing.assert_allclose(np.load(tmp_path / "z.npz")["Z"], wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())
