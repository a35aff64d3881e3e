"""fit_k: gradients against PyTorch, the optimum against scipy, the command, what is refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import vargate

Array = npt.NDArray[np.float64]


def made(n: int = 400, m: int = 5, c: int = 4, seed: int = 0) -> tuple[Array, npt.NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, c, size=n)
    z = 2.0 * np.eye(c)[y][:, None, :] + 1.5 * rng.normal(size=(n, m, c)) * np.linspace(0.3, 2, c)
    e = np.exp(z)
    return e / e.sum(-1, keepdims=True), y


def loss(p: Array, y: npt.NDArray[np.int64], k: Array) -> float:
    mu, s = p.mean(1), p.std(1) + 1e-8
    q = p * np.maximum(-np.expm1(-mu / (k * s)), 1e-8)[:, None, :]
    mean = (q / q.sum(-1, keepdims=True)).mean(1)
    return float(-np.log(np.maximum(mean[np.arange(len(y)), y], 1e-8)).mean())


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("m", "c", "seed"), [(5, 4, 0), (2, 3, 1), (12, 10, 2), (3, 2, 3)])
def test_same_optimum_as_scipy(m: int, c: int, seed: int) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    p, y = made(m=m, c=c, seed=seed)
    fit = vargate.fit_k(p, y, folds=0)
    found = fit.figures["by_class"]["after"]["nll"]
    assert found == pytest.approx(loss(p, y, fit.by_class), abs=1e-12)
    assert fit.figures["one"]["after"]["nll"] == pytest.approx(loss(p, y, np.full(c, fit.k_one)), abs=1e-12)
    assert fit.before["nll"] == pytest.approx(-np.log(p.mean(1)[np.arange(len(y)), y]).mean(), abs=1e-12)
    bounds = [(np.log(1e-3), np.log(1e3))] * c
    best = min(
        optimize.minimize(lambda x: loss(p, y, np.exp(x)), np.full(c, at), bounds=bounds, tol=1e-12).fun
        for at in (np.log(np.log(2)), np.log(fit.k_one), 1.0)
    )
    assert found <= best + 1e-6
    assert fit.figures["by_class"]["converged"]
    lines = np.exp(np.linspace(np.log(1e-3), np.log(1e3), 400))
    assert fit.figures["one"]["after"]["nll"] <= min(loss(p, y, np.full(c, k)) for k in lines) + 1e-6


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_stationary_by_autograd() -> None:
    torch = pytest.importorskip("torch")
    p, y = made(n=300, m=4, c=5, seed=7)
    fit = vargate.fit_k(p, y, folds=0)
    k = torch.tensor(fit.by_class, requires_grad=True)
    t = torch.tensor(p)
    mu, s = t.mean(1), t.std(1, unbiased=False) + 1e-8
    q = t * (1 - torch.exp(-mu / (k * s))).clamp(min=1e-8)[:, None, :]
    mean = (q / q.sum(-1, keepdim=True)).mean(1)
    (-torch.log(mean[torch.arange(len(y)), torch.tensor(y)]).mean()).backward()
    inside = (fit.by_class > 2e-3) & (fit.by_class < 5e2)
    assert inside.any()
    assert np.abs((k.grad.numpy() * fit.by_class)[inside]).max() < 1e-6


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_held_out_and_use(tmp_path: Path) -> None:
    p, y = made(n=500)
    fit = vargate.fit_k(p, y)
    low, high = fit.figures["by_class"]["nll_change_interval"]
    assert low <= fit.figures["by_class"]["nll_change"] <= high
    k = np.empty((5, 4))
    for fold in range(5):
        keep = np.arange(500) % 5 != fold
        k[fold] = vargate.fit_k(p[keep], y[keep], folds=0).by_class
    each = [loss(p[n : n + 1], y[n : n + 1], k[n % 5]) for n in range(500)]
    assert fit.figures["by_class"]["held_out"]["nll"] == pytest.approx(np.mean(each), abs=1e-5)
    fit.save(tmp_path / "k.json")
    assert np.array_equal(
        vargate.score(p, k=1, class_k=tmp_path / "k.json").gtu, vargate.score(p, k=1, class_k=fit).gtu
    )
    one = vargate.fit_k(p, y, one=True, threads=1)
    assert one.k.tolist() == [fit.k_one]
    assert one.by_class.tolist() == fit.by_class.tolist()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_command(program: str, tmp_path: Path) -> None:
    p, y = made()
    np.savez(tmp_path / "val.npz", P=p, L=y)
    fit = vargate.fit_k(p, y)
    out = subprocess.run(
        [program, "fit-k", tmp_path / "val.npz", "-q", "--json"], check=True, capture_output=True, text=True
    ).stdout
    assert json.loads(out) == json.loads(fit._text)


@pytest.mark.parametrize(
    ("change", "match"),
    [({"k_min": 2.0, "k_max": 1.0}, "k_min"), ({"folds": 1}, "folds"), ({"temperature": 2.0}, "logits")],
)
def test_refused(change: dict[str, float], match: str) -> None:
    p, y = made(n=50)
    with pytest.raises(ValueError, match=match):
        vargate.fit_k(p, y, **change)


def test_rows_refused() -> None:
    p, y = made(n=50)
    p[7, 2] *= 2
    with pytest.raises(ValueError, match="sample 7, member 2"):
        vargate.fit_k(p, y)
