"""`calibrate`, `evaluate`, `ood`, `select_k`, `select_threshold`: equal to the commands' JSON."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vargate
from vargate._options import compared

Command = Callable[..., Any]


def equal(theirs: Any, ours: Any, where: str = "") -> None:
    """The same keys in the same order, the same numbers to the bit."""
    assert type(theirs) is type(ours), (where, theirs, ours)
    if isinstance(theirs, dict):
        assert list(theirs) == list(ours), where
        for key in theirs:
            equal(theirs[key], ours[key], f"{where}/{key}")
    elif isinstance(theirs, list):
        assert len(theirs) == len(ours), where
        for i, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            equal(a, b, f"{where}/{i}")
    else:
        assert theirs == ours, (where, theirs, ours)
    json.dumps(ours, allow_nan=False)


# --- calibrate --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, []),
        ({"shared": True, "bins": 10}, ["--shared", "--bins", "10"]),
        ({"solver": "both", "evaluations": 20, "seed": 3}, ["--solver", "both", "--evaluations", "20", "--seed", "3"]),
        (
            {"solver": "bayes", "evaluations": 12, "initial": 4},
            ["--solver", "bayes", "--evaluations", "12", "--initial", "4"],
        ),
    ],
)
def test_calibrate(command: Command, files: Path, logits: Any, options: dict[str, Any], arguments: list[str]) -> None:
    fit = vargate.calibrate(*logits, **options)
    theirs = command("calibrate", files / "z.npz", *arguments)
    equal(theirs, fit.to_dict())
    assert fit.temperatures.tolist() == theirs["temperatures"]
    assert fit.nll_after == theirs["nll_after"]
    assert fit.member["ece_before"] == theirs["member_ece_before"]
    assert (fit.newton is None) == (options.get("solver") == "bayes")


def test_calibration_is_a_temperature(program: str, files: Path, logits: Any, tmp_path: Path) -> None:
    fit = vargate.calibrate(*logits)
    fit.save(tmp_path / "ours.json")
    subprocess.run(
        [program, "calibrate", files / "z.npz", "-o", tmp_path / "theirs.json", "-q"], check=True, capture_output=True
    )
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()
    expected = vargate.score(logits[0], logits=True, temperature=fit.temperatures)
    for temperature in (fit, tmp_path / "ours.json", str(tmp_path / "ours.json"), fit.temperatures.tolist()):
        assert vargate.score(logits[0], logits=True, temperature=temperature).tu.tobytes() == expected.tu.tobytes()
    assert "T = " in repr(fit)
    assert vargate.calibrate(logits[0].swapaxes(0, 1), logits[1], axes="MNC").to_dict() == fit.to_dict()


def test_calibrate_errors(logits: Any) -> None:
    z, y = logits
    with pytest.raises(ValueError, match="labels has shape"):
        vargate.calibrate(z, y[:5])
    with pytest.raises(ValueError, match="solver is 'sgd'"):
        vargate.calibrate(z, y, solver="sgd")
    with pytest.raises(ValueError, match="9"):
        vargate.calibrate(z, np.full_like(y, 9))
    bad = z.copy()
    bad[7, 2, 0] = np.nan
    with pytest.raises(ValueError, match=r"7.*2"):
        vargate.calibrate(bad, y)


# --- evaluate ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, []),
        ({"bins": 7, "curve": 9, "k": (0.5, 1)}, ["--bins", "7", "--curve", "9", "-k", "0.5,1"]),
        ({"bootstrap": 40, "seed": 5, "confidence": 0.9}, ["--bootstrap", "40", "--seed", "5", "--confidence", "0.9"]),
        ({"preset": "vge", "measures": "tu,gmu,snr"}, ["--preset", "vge", "--measures", "tu,gmu,snr"]),
        (
            {"coverages": (0.5,), "risks": (0.1, 0.2), "temperature": 2},
            ["--coverages", "0.5", "--risks", "0.1,0.2", "--temperature", "2"],
        ),
    ],
)
def test_evaluate(command: Command, files: Path, logits: Any, options: dict[str, Any], arguments: list[str]) -> None:
    e = vargate.evaluate(*logits, logits=True, **options)
    theirs = command("evaluate", files / "z.npz", *arguments)
    equal(theirs, e.to_dict())
    assert e.accuracy == theirs["accuracy"]
    assert e.measures["gmu"].aurc == theirs["measures"]["gmu"]["aurc"]
    assert "gmu" in str(e)
    assert "accuracy" in repr(e)


def test_evaluate_multilabel(command: Command, files: Path, multilabel: Any) -> None:
    u, y = multilabel
    equal(command("evaluate", files / "u.npz", "--multilabel"), vargate.evaluate(u, y, multilabel=True).to_dict())
    theirs = command("evaluate", files / "u.npz", "--multilabel", "--bootstrap", "20")
    equal(theirs, vargate.evaluate(u, y, multilabel=True, bootstrap=20).to_dict())


def test_evaluate_of_scores(logits: Any) -> None:
    z, y = logits
    expected = vargate.evaluate(z, y, logits=True).to_dict()
    named = compared(logits=True)
    equal(expected, vargate.evaluate(vargate.score(z, logits=True, labels=y, measures=named)).to_dict())
    equal(expected, vargate.evaluate(vargate.score(z, logits=True, measures=named), y, threads=2).to_dict())
    with pytest.raises(TypeError, match="preset"):
        vargate.evaluate(vargate.score(z, logits=True), y, preset="vge")
    with pytest.raises(ValueError, match="labels are needed"):
        vargate.evaluate(z, logits=True)
    with pytest.raises(AttributeError, match="mean was not computed"):
        vargate.evaluate(vargate.score(z, logits=True, measures="tu"), y)
    with pytest.raises(ValueError, match="coverages is"):
        vargate.evaluate(z, y, logits=True, coverages=(1.5,))
    with pytest.raises(ValueError, match="4"):
        vargate.evaluate(z, np.full_like(y, 4), logits=True)


def test_undefined_is_nan_and_none() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=(20, 4))
    e = vargate.evaluate(p, p.mean(axis=1).argmax(axis=1))
    assert math.isnan(e.measures["tu"].error_auroc)
    assert e.to_dict()["measures"]["tu"]["error_auroc"] is None
    assert e.confusion is not None
    assert e.confusion.sum() == 20


# --- ood --------------------------------------------------------------------------------------------------------------


def test_ood(command: Command, files: Path, logits: Any) -> None:
    z, other = logits[0], np.load(files / "ood.npz")["Z"]
    equal(command("ood", files / "z.npz", files / "ood.npz"), vargate.ood(z, other, logits=True).to_dict())
    theirs = command("ood", files / "z.npz", files / "ood.npz", "--bootstrap", "15", "--seed", "2")
    measures = compared(logits=True)
    scored = vargate.score(other, logits=True, measures=measures)
    equal(theirs, vargate.ood(z, scored, logits=True, bootstrap=15, seed=2, measures=measures).to_dict())
    two = vargate.ood(z, {"ood": other, "z": z}, logits=True)
    equal(command("ood", files / "z.npz", files / "ood.npz", files / "z.npz"), two.to_dict())
    assert two.sets["z"].measures["tu"].auroc == 0.5
    assert "auroc" in str(two)
    with pytest.raises(ValueError, match="2 sets"):
        _ = two.measures
    with pytest.raises(ValueError, match="3 classes"):
        vargate.ood(z, other[:, :, :3], logits=True)


def test_ood_multilabel(command: Command, files: Path, multilabel: Any) -> None:
    theirs = command("ood", files / "u.npz", files / "u.npz", "--multilabel")
    equal(theirs, vargate.ood(multilabel[0], multilabel[0], multilabel=True, name="u").to_dict())


# --- choosing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("target", "value"), [("risk", 0.3), ("risk", 0.25), ("coverage", 0.7)])
@pytest.mark.parametrize("by", ["k", "gmu", "snr", "gtu@2"])
def test_select(command: Command, files: Path, logits: Any, by: str, target: str, value: float) -> None:
    z, y = logits
    arguments = ["--calibration", files / "z.npz", f"--target-{target}", value, "--by", by]
    options: dict[str, Any] = {f"target_{target}": value, "logits": True}
    rule = by == "k"
    chosen = vargate.select_k(z, y, **options) if rule else vargate.select_threshold(z, y, by=by, **options)
    theirs = command("decide", files / "z.npz", *arguments)
    equal(theirs["calibration"], chosen.to_dict())
    threshold = theirs["k" if by == "k" else "threshold"]
    assert threshold == (chosen.threshold if math.isfinite(chosen.threshold) else None)
    decisions = vargate.score(z, logits=True).decide(chosen)
    kept = np.count_nonzero(decisions >= 0)
    assert kept == chosen.kept if target == "coverage" else chosen.kept <= kept <= chosen.kept + chosen.set_aside
    scores = vargate.score(z, logits=True)
    again = {f"target_{target}": value}
    assert (
        vargate.select_k(scores, y, **again) if by == "k" else vargate.select_threshold(scores, y, by=by, **again)
    ) == chosen


def test_select_by_what_will_be_decided(logits: Any, command: Command, tmp_path: Path) -> None:
    """Thresholds at quantiles of other predictions, and several measures that share the level, as by the command."""
    z, y = logits
    np.savez(tmp_path / "val.npz", Z=z[:300], L=y[:300])
    np.savez(tmp_path / "test.npz", Z=z[300:])
    arguments = ["--calibration", tmp_path / "val.npz", "--target-risk", 0.3]
    names = ["k", "gmu", "gtu@2", "gtu@3"]
    for by in (["k"], ["gmu"], names):
        theirs = command("decide", tmp_path / "test.npz", *arguments, "--by", ",".join(by))
        chosen = vargate.select_threshold(z[:300], y[:300], by=by, target_risk=0.3, to_decide=z[300:], logits=True)
        equal(theirs["calibration"], chosen.to_dict())
        kept = np.count_nonzero(vargate.score(z[300:], logits=True).decide(chosen) >= 0)
        assert (theirs["by"], theirs["kept"]) == (chosen.by, kept)
        assert (chosen.source, chosen.set_aside, chosen.n, chosen.candidates) == ("unlabelled", 0, 300, len(by))
    assert chosen.level <= 0.05 / len(names) + 1e-15


def test_select_multilabel_by_sample(multilabel: Any, command: Command, tmp_path: Path) -> None:
    """The unit is the sample: its labels are not tested as if they were independent."""
    u, y = multilabel
    np.savez(tmp_path / "u.npz", P=u, L=y)
    chosen = vargate.select_k(u, y, target_risk=0.45, multilabel=True)
    assert chosen.samples + chosen.set_aside == len(u)
    assert chosen.n == chosen.samples * u.shape[2]
    assert chosen.bound in ("hoeffding-bentkus", "betting")
    arguments = ["--multilabel", "--calibration", tmp_path / "u.npz", "--target-risk", 0.45, "--by", "k"]
    theirs = command("decide", tmp_path / "u.npz", *arguments)
    equal(theirs["calibration"], chosen.to_dict())


def test_select_without_labels_and_unmet(logits: Any) -> None:
    z, y = logits
    chosen = vargate.select_k(z, target_coverage=0.5, logits=True)
    assert chosen.errors is None
    assert "risk" not in chosen.to_dict()
    with pytest.raises(ValueError, match="labels are needed"):
        vargate.select_k(z, target_risk=0.1, logits=True)
    with pytest.raises(
        ValueError, match=r"no k meets a risk of 0\.0001 with 95 % confidence; the best reachable is k = "
    ):
        vargate.select_k(z, y, target_risk=1e-4, logits=True)
    assert not vargate.select_k(z, y, target_risk=1e-4, logits=True, must_meet=False).met
    with pytest.raises(ValueError, match="one of target_risk and target_coverage"):
        vargate.select_k(z, y, logits=True)
    with pytest.raises(ValueError, match="by is 'gtu'"):
        vargate.select_threshold(z, y, by="gtu", target_risk=0.1, logits=True)
    with pytest.raises(ValueError, match="target_risk is 2"):
        vargate.select_k(z, y, target_risk=2, logits=True)
    with pytest.raises(AttributeError, match="no k"):
        _ = vargate.select_threshold(z, by="gmu", target_coverage=0.5, logits=True).k
    grid = vargate.select_k(z, y, target_risk=0.3, logits=True, grid=[0.1, 0.2, 0.4], multiplicity="bonferroni")
    assert grid.k in (0.1, 0.2, 0.4)
    assert grid.multiplicity == "bonferroni"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ece_alone(logits: Any, dtype: Any) -> None:
    z, y = logits
    scores = vargate.score(z, logits=True, labels=y)
    p = scores.mean.astype(dtype)
    assert math.isclose(vargate.ece(p, y), vargate.evaluate(scores).ece, abs_tol=1e-6 if dtype is np.float32 else 1e-14)
    assert vargate.ece(p[::2].tolist(), y[::2].tolist()) == vargate.ece(p[::2].astype(np.float64), y[::2])
    with pytest.raises(ValueError, match=r"labels has shape \(399,\), expected \(400,\)"):
        vargate.ece(p, y[:-1])
    with pytest.raises(ValueError, match="label 0 is 99"):
        vargate.ece(p, np.full(len(y), 99))


def test_auroc_and_comparison() -> None:
    rng = np.random.default_rng(2)
    positive = rng.random(300) < 0.3
    u, v = positive + rng.normal(size=300), positive + 0.5 * rng.normal(size=300)
    value, low, high = vargate.auroc(u, positive)
    pairs = (u[positive][:, None] > u[~positive][None, :]).mean()
    assert abs(value - pairs) < 1e-12
    assert low < value < high
    c = vargate.compare_auroc(u, v, positive)
    assert c.first == value
    assert c.difference < 0
    assert c.p_value < 0.05
    assert c.intervals["first"] == (low, high)
    assert c.intervals["difference"][1] < 0
    both = vargate.auroc(np.stack([u, u], axis=1), np.stack([positive, positive], axis=1))
    assert both[2] - both[1] > 0.95 * (high - low)  # two equal values of a sample are not two samples
    with pytest.raises(ValueError, match="the same"):
        vargate.auroc(u, positive[:-1])


def test_calibration_check(logits: Any) -> None:
    z, y = logits
    e = vargate.evaluate(z, y, logits=True, bootstrap=50)
    assert 0 <= e.ece_debiased <= e.ece
    assert 0 < e.ece_p_value <= 1
    assert e.ece_expected > 0
    assert any("perfectly calibrated" in note for note in e.notes)
    assert e.intervals is not None
    assert "mce" not in e.intervals
    assert "ece_classwise" not in e.intervals
    for name, (low, high) in e.intervals.items():
        assert low <= getattr(e, name) <= high


def _auroc(values: np.ndarray, errors: np.ndarray) -> float:
    """The share of pairs (an error, a correct prediction) in which the error is the more uncertain; ties are half."""
    right = np.sort(values[~errors])
    ends = np.searchsorted(right, values[errors], "left"), np.searchsorted(right, values[errors], "right")
    return float(np.mean(ends) / len(right))


def test_lead_is_the_paired_bootstrap() -> None:
    """Interval and p-value of the lead agree with resamples that NumPy draws, within their Monte Carlo error."""
    rng = np.random.default_rng(3)
    n, resamples = 500, 2000
    logits = rng.normal(size=(n, 1, 4)) * 1.5 + rng.normal(size=(n, 5, 4)) * rng.gamma(1, 1, size=(n, 1, 1))
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    mean = p.mean(1)
    y = (mean.cumsum(1) < rng.random((n, 1))).sum(1).clip(0, 3)
    scored = vargate.score(p)
    errors = scored.pred != y
    found = vargate.evaluate(scored, y, measures=["tu", "eu"], bootstrap=resamples, seed=9)
    lead = found.lead
    assert lead is not None
    assert lead.rival is not None
    first, second = np.asarray(getattr(scored, lead.leader)), np.asarray(getattr(scored, lead.rival))
    value = _auroc(first, errors) - _auroc(second, errors)
    assert lead.difference == pytest.approx(value, abs=1e-12)
    draws = [rng.integers(n, size=n) for _ in range(resamples)]
    differences = np.array([_auroc(first[d], errors[d]) - _auroc(second[d], errors[d]) for d in draws])
    spread = differences.std(ddof=1)
    noise = 4 * spread * np.sqrt(2 * 0.025 * 0.975 / resamples) / 0.0584  # 0.0584: the normal density at its 2.5 %
    assert lead.interval == pytest.approx(np.quantile(differences, [0.025, 0.975]), abs=noise)
    z = abs(value) / spread
    ends = [math.erfc(z * factor / math.sqrt(2)) for factor in (1.1, 0.9)]
    assert ends[0] <= lead.p_value <= ends[1]
    assert lead.p_corrected == min(1, lead.p_value)
    assert any("paired bootstrap" in str(text) for text in found.findings)
    plain = vargate.evaluate(scored, y, measures=["tu", "eu"])
    assert any("paired DeLong test" in str(text) for text in plain.findings)
