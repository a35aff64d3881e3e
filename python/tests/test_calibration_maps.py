"""Calibration maps against independent solvers: plain NumPy and SciPy here, scikit-learn and netcal where installed."""

from __future__ import annotations

import json
import pickle
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vargate

METHODS = ("temperature", "vector", "dirichlet", "isotonic", "histogram", "venn-abers")
FLOOR = 1e-12


def softmax(z: Any) -> Any:
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def nll(p: Any, y: Any) -> float:
    return float(-np.log(np.maximum(p[np.arange(len(y)), y], FLOOR)).mean())


def problem(n: int = 900, m: int = 3, c: int = 4, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, c, n)
    z = 2.2 * np.eye(c)[y][:, None] + rng.normal(size=(n, 1, c)) + 0.5 * rng.normal(size=(n, m, c))
    return 2 * (z + 0.5 * np.arange(c) / c), y


def fit(*args: Any, **options: Any) -> vargate.Calibration:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return vargate.calibrate(*args, **options)


def minimise(loss: Any, x: Any) -> float:
    optimise = pytest.importorskip("scipy.optimize", reason="scipy is not installed")
    found = optimise.minimize(loss, x, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 0, "gtol": 1e-10})
    return float(found.fun)


# --- linear maps ------------------------------------------------------------------------------------------------------


def test_vector_reaches_the_optimum() -> None:
    z, y = problem()
    n, c = len(y), z.shape[2]
    hot = np.eye(c)[y]
    found = fit(z, y, method="vector")
    for member, how in enumerate(found.fits or []):
        x = z[:, member]

        def loss(v: Any, x: Any = x) -> tuple[float, Any]:
            p = softmax(v[:c] * x + v[c:])
            g = (p - hot) / n
            return nll(p, y), np.concatenate([(g * x).sum(axis=0), g.sum(axis=0)])

        best = minimise(loss, np.concatenate([np.ones(c), np.zeros(c)]))
        assert how["converged"]
        assert how["gradient"] <= 1e-8
        assert how["loss"] <= best + 1e-9
        own = (found.maps or [])[member]
        p = softmax(np.array(own["scale"]) * x + np.array(own["bias"]))
        assert nll(p, y) == pytest.approx(how["loss"], abs=1e-12)
        assert np.allclose(vargate.CalibrationMap(found).apply(z, logits=True)[:, member], p, atol=1e-14)


@pytest.mark.parametrize(("off", "intercept"), [(0.0, 0.0), (0.01, 0.02), (1.0, 0.5)])
def test_dirichlet_reaches_the_optimum(off: float, intercept: float) -> None:
    z, y = problem(m=1)
    n, c = len(y), z.shape[2]
    hot, x, diagonal = np.eye(c)[y], np.log(softmax(z[:, 0])), np.eye(c, dtype=bool)

    def loss(v: Any) -> tuple[float, Any]:
        w, b = v[: c * c].reshape(c, c), v[c * c :]
        p = softmax(x @ w.T + b)
        g = (p - hot) / n
        outside = np.where(diagonal, 0, w)
        value = nll(p, y) + off / (c * (c - 1)) * (outside**2).sum() + intercept / c * (b**2).sum()
        slope = g.T @ x + 2 * off / (c * (c - 1)) * outside
        return value, np.concatenate([slope.ravel(), g.sum(axis=0) + 2 * intercept / c * b])

    best = minimise(loss, np.concatenate([np.eye(c).ravel(), np.zeros(c)]))
    found = fit(z, y, method="dirichlet", off_diagonal=off, intercept=intercept)
    how, own = (found.fits or [])[0], (found.maps or [])[0]
    assert how["converged"]
    assert how["loss"] == pytest.approx(best, abs=1e-8)
    p = softmax(x @ np.array(own["weights"]).T + np.array(own["bias"]))
    assert np.allclose(vargate.CalibrationMap(found).apply(z, logits=True)[:, 0], p, atol=1e-13)
    if off == 0:
        linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
        peer = linear.LogisticRegression(C=np.inf, max_iter=10000, tol=1e-10).fit(x, y)
        assert nll(p, y) <= nll(peer.predict_proba(x), y) + 1e-6


@pytest.mark.parametrize("probabilities", [False, True])
def test_temperature_of_the_mean(probabilities: bool) -> None:
    z, y = problem()
    mean = softmax(z).mean(axis=1)
    x = np.log(mean)

    def loss(v: Any) -> tuple[float, Any]:
        p = softmax(v[0] * x)
        return nll(p, y), np.array([((p - np.eye(4)[y]) * x).sum() / len(y)])

    best = minimise(loss, np.ones(1))
    found = fit(softmax(z) if probabilities else z, y, mean=True, probabilities=probabilities)
    assert (found.fits or [])[0]["loss"] == pytest.approx(best, abs=1e-9)
    assert found.nll_after == pytest.approx(best, abs=1e-8)  # the mean of the members that follow


# --- exact maps -------------------------------------------------------------------------------------------------------


def isotonic(x: Any, hits: Any) -> tuple[Any, Any]:
    """Pool adjacent violators, as slowly and plainly as can be: distinct x and their values."""
    at, inverse = np.unique(x, return_inverse=True)
    blocks = [[h, w, 1] for h, w in zip(np.bincount(inverse, hits), np.bincount(inverse), strict=True)]
    i = 0
    while i + 1 < len(blocks):
        (h, w, k), (h2, w2, k2) = blocks[i], blocks[i + 1]
        if h / w >= h2 / w2:
            blocks[i : i + 2] = [[h + h2, w + w2, k + k2]]
            i = max(i - 1, 0)
        else:
            i += 1
    return at, np.concatenate([np.full(int(k), h / w) for h, w, k in blocks])


def tied(n: int = 400, c: int = 3, seed: int = 2) -> tuple[Any, Any]:
    """Probabilities with many equal values."""
    z, y = problem(n, 1, c, seed)
    p = np.round(softmax(z) * 20) + 1
    return p / p.sum(axis=2, keepdims=True), y


def test_isotonic_is_exact_with_ties() -> None:
    p, y = tied()
    found = fit(p, y, method="isotonic", probabilities=True)
    rows = []
    for c, curve in enumerate((found.maps or [])[0]["classes"]):
        at, value = isotonic(p[:, 0, c], (y == c).astype(float))
        assert np.allclose(np.interp(at, curve["x"], curve["y"]), value, atol=1e-15)
        rows.append(np.interp(p[:, 0, c], at, value))
        peer = pytest.importorskip("sklearn.isotonic", reason="scikit-learn is not installed")
        other = peer.IsotonicRegression(out_of_bounds="clip").fit(p[:, 0, c], y == c)
        grid = np.linspace(0, 1, 301)
        assert np.allclose(np.interp(grid, curve["x"], curve["y"]), other.predict(grid), atol=1e-12)
    expected = np.stack(rows, axis=1)
    expected /= expected.sum(axis=1, keepdims=True)
    assert np.allclose(vargate.CalibrationMap(found).apply(p)[:, 0], expected, atol=1e-14)


@pytest.mark.parametrize("ties", [False, True])
def test_venn_abers_is_two_isotonic_fits(ties: bool) -> None:
    if ties:
        p, y = tied(200, 2)
    else:
        z, y = problem(200, 1, 2, 5)
        p = softmax(z)
    found = vargate.CalibrationMap(fit(p, y, method="venn-abers", probabilities=True))
    rng = np.random.default_rng(3)
    score = np.concatenate([rng.random(40), p[:20, 0, 1], [0.0, 1.0, p[:, 0, 1].min(), p[:, 0, 1].max()]])
    asked = np.stack([1 - score, score], axis=1)
    low, high = found.interval(asked)
    mapped = found.apply(asked)[:, 0]
    for i, s in enumerate(score):
        value = []
        for label in (0.0, 1.0):
            at, v = isotonic(np.append(p[:, 0, 1], s), np.append((y == 1).astype(float), label))
            value.append(v[np.searchsorted(at, s)])
        assert (low[i, 1], high[i, 1]) == pytest.approx(tuple(value), abs=1e-14)
        assert mapped[i, 1] == pytest.approx(value[1] / (1 - value[0] + value[1]), abs=1e-9)


@pytest.mark.parametrize("equal_mass", [False, True])
def test_histogram(equal_mass: bool) -> None:
    z, y = problem(600, 1, 3)
    p = softmax(z)
    found = fit(p, y, method="histogram", probabilities=True, map_bins=7, equal_mass=equal_mass)
    rows = []
    for c, curve in enumerate((found.maps or [])[0]["classes"]):
        x = p[:, 0, c]
        edges = np.quantile(x, np.arange(1, 7) / 7, method="midpoint") if equal_mass else np.arange(1, 7) / 7
        counts = np.bincount(np.searchsorted(np.array(curve["edges"]), x), minlength=7)
        if equal_mass:
            assert counts.max() - counts.min() <= 1
        else:
            assert np.allclose(curve["edges"][:-1], edges)
        which = np.searchsorted(np.array(curve["edges"]), x)
        share = np.array([(y == c)[which == b].mean() for b in range(7)])
        assert np.allclose(share, curve["y"])
        rows.append(share[which])
    expected = np.stack(rows, axis=1)
    expected /= expected.sum(axis=1, keepdims=True)
    assert np.allclose(vargate.CalibrationMap(found).apply(p)[:, 0], expected, atol=1e-14)


def test_netcal_finds_no_better() -> None:
    scaling = pytest.importorskip("netcal.scaling", reason="netcal is not installed")
    binning = pytest.importorskip("netcal.binning", reason="netcal is not installed")
    z, y = problem(1500, 1, 4)
    p = softmax(z)[:, 0].astype(np.float64)
    for method, peer in (
        ("temperature", scaling.TemperatureScaling()),
        ("vector", scaling.LogisticCalibration()),
        ("isotonic", binning.IsotonicRegression()),
    ):
        peer.fit(p, y)
        ours = fit(p, y, method=method, probabilities=True, mean=True)
        theirs = np.asarray(peer.transform(p))
        assert ours.nll_after <= nll(theirs / theirs.sum(axis=1, keepdims=True), y) + 1e-6, method


# --- members, files, every function ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_members_follow_the_mean(method: str) -> None:
    found = vargate.CalibrationMap(fit(*problem(), method=method, mean=True))
    z = problem(seed=1)[0]  # not where Venn-Abers has its steps
    p = softmax(z)
    q = found.apply(z, logits=True)
    assert np.allclose(q.sum(axis=2), 1, atol=1e-12)
    target = found.apply(p.mean(axis=1))[:, 0]
    assert np.abs(q.mean(axis=1) - target).max() < 1e-8
    if method in ("temperature", "vector", "dirichlet"):  # odds ratios of members stay as they were
        ratio = [x[:, 0, 0] * x[:, 1, 1] / (x[:, 0, 1] * x[:, 1, 0]) for x in (p, q)]
        assert np.allclose(np.log(ratio[0]), np.log(ratio[1]), atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", [{}, {"shared": True}, {"mean": True}])
def test_everything_takes_a_map(method: str, form: dict[str, Any], tmp_path: Path) -> None:
    z, y = problem()
    found = fit(z, y, method=method, **form)
    found.save(tmp_path / "map.json")
    if method == "temperature" and not form.get("mean"):
        assert found.temperatures is not None
        assert found.maps is None
        p = softmax(z / found.temperatures[:, None])
    else:
        assert found.temperatures is None
        assert len(found.maps or []) == (3 if not form else 1)
        p = vargate.CalibrationMap(tmp_path / "map.json").apply(z, logits=True)
    expected = vargate.score(p, labels=y)
    for given in (found, tmp_path / "map.json", vargate.CalibrationMap(found)):
        for name in ("temperature", "calibration_map"):
            got = vargate.score(z, logits=True, labels=y, **{name: given})
            assert np.allclose(got.tu, expected.tu, atol=1e-9)
            assert np.allclose(got.gmu, expected.gmu, atol=1e-7)
    with vargate.Scorer(logits=True, calibration_map=found) as scorer:
        copy = pickle.loads(pickle.dumps(scorer))
        assert np.allclose(copy.feed(z).tu, expected.tu, atol=1e-9)
    sets = vargate.Conformal(logits=True, calibration_map=found).fit(z, y)
    assert np.array_equal(sets.sets(z).size, vargate.Conformal().fit(p, y).sets(p).size)
    assert np.array_equal(pickle.loads(pickle.dumps(sets)).sets(z).size, sets.sets(z).size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = vargate.fit_k(z, y, logits=True, calibration_map=found, folds=0), vargate.fit_k(p, y, folds=0)
    assert one.k_one == pytest.approx(other.k_one, rel=1e-4)
    assert found.held_out is not None
    change = found.held_out["nll"] - found.nll_before
    assert found.held_out["nll_change_low"] <= change <= found.held_out["nll_change_high"]
    assert found.held_out["ece_change_low"] <= found.held_out["ece_change_high"]
    again = vargate.load(tmp_path / "map.json")
    assert isinstance(again, vargate.Calibration)
    assert again.method == method


def test_the_command_fits_the_same(tmp_path: Path) -> None:
    import os

    program = os.environ.get("VARGATE_PROGRAM")
    if not program:
        pytest.skip("VARGATE_PROGRAM is not set")
    z, y = problem()
    np.savez(tmp_path / "val.npz", Z=z, L=y)
    for method in METHODS:
        name = tmp_path / f"{method}.json"
        subprocess.run(
            [program, "calibrate", str(tmp_path / "val.npz"), "--method", method, "--mean", "-q", "-o", str(name)],
            check=True,
            capture_output=True,
        )
        assert json.loads(name.read_text())["nll_after"] == fit(z, y, method=method, mean=True).nll_after


def test_what_is_refused() -> None:
    z, y = problem()
    with pytest.raises(ValueError, match=r"no sample of class 3 among .* method vector needs"):
        fit(z[y != 3], y[y != 3], method="vector")
    with pytest.raises(ValueError, match="no sample of class"):
        fit(z[:1], y[:1], method="isotonic")
    found = fit(z, y, method="vector")
    with pytest.raises(ValueError, match="for 4 classes, the predictions have 3"):
        vargate.score(z[:, :, :3], logits=True, calibration_map=found)
    with pytest.raises(ValueError, match="for 3 members, the predictions have 2"):
        vargate.score(z[:, :2], logits=True, calibration_map=found)
    with pytest.raises(ValueError, match="is for logits, the predictions have probabilities"):
        vargate.score(softmax(z), calibration_map=found)
    with pytest.raises(ValueError, match="exclude each other"):
        vargate.score(z, logits=True, multilabel=True, calibration_map=found)
    with pytest.raises(TypeError, match="give one of them"):
        vargate.score(z, logits=True, calibration_map=found, temperature=2.0)
    with pytest.raises(ValueError, match="not both"):
        fit(z, y, method="vector", mean=True, shared=True)
    with pytest.raises(ValueError, match="not to probabilities"):
        fit(softmax(z), y, probabilities=True)
    with pytest.raises(ValueError, match="intervals come from a venn-abers map"):
        vargate.CalibrationMap(found).interval(z, logits=True)
