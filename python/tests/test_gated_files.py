"""Files with gated members Q and k: preset vge gives what the authors' formulas give, written here in NumPy; and runs
that were trained with the gated loss leave such files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vargate

Array = npt.NDArray[np.float64]
N, M, C = 60, 5, 7


def gate(p: Array, k: Array) -> Array:
    """Q of the members p (N, M, C), with k for every class."""
    spread = p.std(axis=1) + 1e-8
    gamma = np.maximum(-np.expm1(-p.mean(axis=1) / (np.maximum(k, 1e-3) * spread)), 1e-8)
    q = p * gamma[:, None]
    return np.asarray(q / q.sum(axis=-1, keepdims=True))


def authors(q: Array) -> dict[str, Array]:
    """The measures of the authors' later code on Q: base 2, TU, AU and EU in units of log C, distinct pairs."""
    for _ in range(2):
        q = np.clip(q, 1e-8, 1)
        q = q / q.sum(axis=-1, keepdims=True)

    def entropy(x: Array) -> Array:
        return np.asarray(-(x * np.log2(x)).sum(axis=-1))

    mean, spread = q.mean(axis=1), q.std(axis=1, ddof=1) + 1e-8
    tu, au = entropy(mean), entropy(q).mean(axis=1)
    pairs = [(i, j) for i in range(M) for j in range(M) if i != j]
    kl = [(q[:, i] * np.log2(q[:, i] / q[:, j])).sum(axis=-1) for i, j in pairs]
    js = [entropy((q[:, i] + q[:, j]) / 2) - (entropy(q[:, i]) + entropy(q[:, j])) / 2 for i, j in pairs]
    first, second = np.argsort(-mean, axis=1, kind="stable")[:, :2].T
    rows = np.arange(len(q))
    snr = (mean[rows, first] - mean[rows, second]) / (spread[rows, first] + spread[rows, second])
    return {
        "tu": tu / np.log2(C),
        "au": au / np.log2(C),
        "eu": (tu - au) / np.log2(C),
        "epkl": np.mean(kl, axis=0),
        "epjs": np.mean(js, axis=0),
        "gmu": 1 - mean[rows, first] * (1 - np.exp(-snr)),
    }


@pytest.fixture
def members() -> tuple[Array, Array]:
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.full(C, 0.4), size=(N, M)) * 0.5 + rng.dirichlet(np.full(C, 0.3), size=(N, 1)) * 0.5
    return p, rng.uniform(0.3, 3, C)


def test_preset_vge_of_a_file_with_q_and_k(tmp_path: Path, members: tuple[Array, Array]) -> None:
    p, k = members
    q = gate(p, k)
    path = tmp_path / "authors.npz"
    np.savez(path, Q=q, L=np.zeros(N, np.int64), k=k)
    scores = vargate.load(path, "predictions").score(preset="vge")
    for name, want in authors(q).items():
        np.testing.assert_allclose(getattr(scores, name), want, rtol=1e-6, atol=1e-12, err_msg=name)
    np.testing.assert_array_equal(scores.pred, q.mean(axis=1).argmax(axis=1))


def test_the_gate_of_k_gives_the_measures_of_q(members: tuple[Array, Array]) -> None:
    p, k = members
    gated, plain = vargate.score(p, class_k=k, k=1), vargate.score(gate(p, k))
    for name in ("tu", "au", "eu", "epkl", "epjs"):
        np.testing.assert_allclose(gated[f"g{name}@1"], plain[name], rtol=1e-5, atol=1e-12, err_msg=name)


def test_ungated_predictions_come_first(tmp_path: Path, members: tuple[Array, Array]) -> None:
    p, k = members
    path = tmp_path / "both.npz"
    np.savez(path, Z=np.log(p), Q=gate(p, k), k=k)
    np.testing.assert_allclose(vargate.load(path, "predictions").values, np.log(p))
    np.testing.assert_allclose(vargate.load(path, "predictions", key="Q").values, gate(p, k))


def test_a_run_with_the_gated_loss(tmp_path: Path) -> None:
    run = tmp_path / "run"
    small: Any = {"network": "cnn-4-8", "heads": 3, "epochs": 2, "train_limit": 200, "test_limit": 60, "rate": 2e-3}
    vargate.train("quickstart", run, loss="gated", **small)
    k = json.loads((run / "k.json").read_text())["k"]
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["k"] == k
    assert (len(k), len(lines)) == (10, 2)
    path = tmp_path / "test.npz"
    vargate.predict(run, out=path)
    with np.load(path) as file:
        assert {"Q", "k", "L"} <= set(file.files)
        p = file["P"].astype(float) if "P" in file.files else np.exp(file["Z"].astype(float))
        p /= p.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(file["Q"], gate(p, file["k"]), atol=2e-6)
        np.testing.assert_array_equal(file["k"], k)
    scores = vargate.load(path, "predictions").score(class_k=run / "k.json", k=1)
    assert scores["gtu@1"].shape == (60,)
    with pytest.raises(ValueError, match="at least 2 members that can differ, found heads 1"):
        vargate.train("quickstart", tmp_path / "none", loss="gated", **{**small, "heads": 1})
