"""`vargate.sets`, `Conformal` and `ConformalClassifier`: the definitions in NumPy, files, scikit-learn's checks."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vargate

RNG = np.random.default_rng(5)


def data(n: int = 500, m: int = 4, c: int = 7) -> tuple[Any, Any]:
    p = RNG.dirichlet(np.full(c, 0.3), size=(n, m)).mean(axis=1, keepdims=True) * 0.7
    p = p + 0.3 * RNG.dirichlet(np.full(c, 0.5), size=(n, m))
    y = np.array([RNG.choice(c, p=row / row.sum()) for row in p.mean(axis=1)])
    return p, y


P, Y = data()


def scores(kind: str, p: Any, lam: float = 0.05, k_reg: float = 1) -> Any:
    """Scores of every class at u = 1, from the definitions."""
    mu, sigma = p.mean(axis=1), p.std(axis=1)
    order = np.argsort(-mu, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(1, mu.shape[1] + 1)[None], axis=1)
    through = np.take_along_axis(np.cumsum(np.take_along_axis(mu, order, 1), axis=1), rank - 1, axis=1)
    first, second = order[:, :1], order[:, 1:2]
    rival = np.where(np.arange(mu.shape[1]) == first, second, first)
    gap = np.take_along_axis(mu, rival, 1) - mu
    return {
        "lac": 1 - mu,
        "aps": through,
        "raps": through + lam * np.maximum(0, rank - k_reg),
        "saps": np.where(rank == 1, mu.max(1, keepdims=True), mu.max(1, keepdims=True) + (rank - 1) * lam),
        "margin": gap,
        "topk": rank.astype(float),
        "snr": gap / (np.take_along_axis(sigma, rival, 1) + sigma + 1e-8),
    }[kind]


@pytest.mark.parametrize("kind", ["lac", "aps", "raps", "saps", "margin", "topk", "snr"])
def test_definitions(kind: Any) -> None:
    given: dict[str, Any] = {"lam": 0.05} if kind in ("raps", "saps") else {}
    given |= {"k_reg": 1} if kind == "raps" else {}
    randomise = False if kind in ("aps", "raps", "saps") else None
    made = vargate.Conformal(alpha=(0.1, 0.3), score=kind, randomise=randomise, **given).fit(P[:200], Y[:200])
    found = made.sets(P[200:], labels=Y[200:])
    label = np.sort(scores(kind, P[:200])[np.arange(200), Y[:200]])
    for a, alpha in enumerate((0.1, 0.3)):
        t = label[int(np.ceil(201 * (1 - alpha) - 1e-9)) - 1]
        assert made.thresholds[a, 0] == pytest.approx(t, abs=1e-11)
        assert np.array_equal(found.mask[:, a], scores(kind, P[200:]) <= t + 1e-11)
        held = found.mask[np.arange(300), a, Y[200:]]
        assert found.figures[a]["coverage"] == pytest.approx(held.mean())
        assert found.figures[a]["mean_size"] == pytest.approx(found.size[:, a].mean())
    assert found.classes(0)[0] == P[200].mean(axis=0).argmax()


def test_gated_mean_and_logits() -> None:
    mu, sigma = P.mean(axis=1), P.std(axis=1)
    gamma = -np.expm1(-mu / (2 * sigma + 1e-8))
    q = P * gamma[:, None]
    q = (q / q.sum(axis=-1, keepdims=True)).mean(axis=1)
    found = vargate.sets(P[200:], calibration=(P[:200], Y[:200]), gated=2)
    assert np.allclose(found.value, q[200:], atol=1e-6)
    logits = vargate.sets(np.log(P[200:]), calibration=(np.log(P[:200]), Y[:200]), gated=2, logits=True)
    assert np.allclose(found.value, logits.value, atol=1e-6)


def test_cells_and_p_values() -> None:
    groups = np.where(np.arange(500) % 2 == 0, "even", "odd")
    found = vargate.sets(
        P[200:], calibration=(P[:200], Y[:200], groups[:200]), groups=groups[200:], by="group", p_values=True
    )
    cal = 1 - P[:200].mean(axis=1)[np.arange(200), Y[:200]]
    for name in ("even", "odd"):
        own, rows = cal[groups[:200] == name], groups[200:] == name
        s = 1 - P[200:].mean(axis=1)[rows]
        expected = (1 + (own[None, None] >= s[..., None] - 1e-12).sum(-1)) / (len(own) + 1)
        assert found.p_value is not None
        assert np.allclose(found.p_value[rows], expected)
    few = vargate.Conformal(alpha=0.01, by="class").fit(P[:50], Y[:50])
    assert np.isinf(few.thresholds).all()
    assert few.sets(P).mask.all()


def test_files(tmp_path: Path) -> None:
    made = vargate.Conformal(score="aps", alpha=(0.1, 0.2), seed=4).fit(P[:200], Y[:200])
    made.save(tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["command"] == "thresholds"
    again = vargate.sets(P[200:], calibration=tmp_path / "t.json")
    copied = pickle.loads(pickle.dumps(made))
    assert np.array_equal(again.packed, copied.sets(P[200:]).packed)
    assert np.array_equal(again.packed, made.sets(P[200:]).packed)
    with pytest.raises(ValueError, match="promises nothing about another"):
        vargate.Conformal.load(tmp_path / "t.json").sets(P[:, :2])
    with pytest.raises(TypeError, match="p_values need calibration scores"):
        vargate.sets(P, calibration=tmp_path / "t.json", p_values=True)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="alpha"):
        vargate.Conformal(alpha=0)
    with pytest.raises(ValueError, match="score"):
        vargate.Conformal(score="best")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="label"):
        vargate.Conformal().fit(P, Y + 5)
    made = vargate.Conformal().fit(P, Y)
    made.sets(P)
    with pytest.raises(ValueError, match="fit a new Conformal"):
        made.fit(P, Y)
    for bad in (None, (P,), P[0, 0, 0]):
        with pytest.raises(TypeError, match="calibration is "):
            vargate.sets(P, calibration=bad)  # type: ignore[arg-type]


def test_multilabel() -> None:
    u = RNG.uniform(size=(600, 1, 5))
    y = (RNG.uniform(size=(600, 5)) < u[:, 0]).astype(int)
    found = vargate.sets(u[300:], calibration=(u[:300], y[:300]), labels=y[300:], multilabel=True, alpha=0.2)
    missed = (y[300:] * ~found.mask[:, 0]).sum(1) / np.maximum(y[300:].sum(1), 1)
    assert found.figures[0]["risk"] == pytest.approx(missed.mean())
    assert 0.1 < missed.mean() < 0.2


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn() -> None:
    pytest.importorskip("sklearn", "1.6")
    from sklearn.datasets import load_digits
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.utils.estimator_checks import check_estimator

    from vargate.sklearn import ConformalClassifier

    check_estimator(ConformalClassifier(ExtraTreesClassifier(9, random_state=0)))
    x, y = load_digits(return_X_y=True)
    model = ConformalClassifier(alpha=(0.1, 0.02), nonconformity="aps", random_state=0).fit(x[:1200], y[:1200])
    found = model.sets(x[1200:], y[1200:])
    assert found.figures[1]["coverage"] > 0.9
    assert np.array_equal(model.predict_set(x[1200:], 1), found.mask[:, 1])
    assert model.predict_set(x[1200:])[np.arange(597), y[1200:]].mean() > 0.8
    # A new process knows the class by its module alone.
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).predict_set([[0] * 64]).shape)"
    fresh = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(model), capture_output=True, check=False)
    assert fresh.stdout.strip() == b"(1, 10)", fresh.stderr.decode()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["lac", "aps", "margin", "topk"])
def test_one_member(kind: Any, dtype: Any) -> None:
    """One member is read in place: the same sets as of its copies, and `value` is no copy of it."""
    p = P.mean(axis=1).astype(dtype)
    twice = np.repeat(p[:, None], 2, axis=1)
    one = vargate.sets(p[200:], calibration=(p[:200], Y[:200]), score=kind, alpha=(0.2, 0.05), labels=Y[200:])
    two = vargate.sets(twice[200:], calibration=(twice[:200], Y[:200]), score=kind, alpha=(0.2, 0.05), labels=Y[200:])
    assert np.array_equal(one.packed, two.packed)
    assert one.figures == two.figures
    assert np.array_equal(one.value, two.value)
    assert one.classes(3) == two.classes(3)
    assert np.shares_memory(one.value, p) == (dtype is np.float64)
    assert not one.value.flags.writeable
    bad = p.copy()
    bad[7, 1] = np.nan
    with pytest.raises(ValueError, match="sample 7, member 0, class 1"):
        vargate.sets(bad, calibration=(p[:200], Y[:200]), score=kind)


def test_tuned_for_every_alpha() -> None:
    """lambda and k_reg of an alpha do not depend on the other alphas, and a file keeps them."""
    alphas = (0.4, 0.02)
    both = vargate.Conformal(alpha=alphas, score="raps", tuning=0.4).fit(P[:300], Y[:300])
    found = both.settings
    assert found["tuned_parameters"] == ["lambda", "k_reg"]
    assert 0 < found["tuned"] < 300
    assert found["tuned"] + found["calibrated"] == 300
    for a, alpha in enumerate(alphas):
        alone = vargate.Conformal(alpha=alpha, score="raps", tuning=0.4).fit(P[:300], Y[:300]).settings
        for key in ("lambda", "k_reg"):
            assert found["thresholds"][a][key] == alone["thresholds"][0][key]
    assert found["thresholds"][0]["k_reg"] != found["thresholds"][1]["k_reg"]
    copy = pickle.loads(pickle.dumps(both))
    assert np.array_equal(copy.sets(P[300:]).packed, both.sets(P[300:]).packed)
    assert "k_reg and lambda tuned on" in repr(both.sets(P[300:], labels=Y[300:]))
    given = vargate.Conformal(alpha=alphas, score="raps", lam=0.1).fit(P[:300], Y[:300]).settings
    assert given["tuned_parameters"] == ["k_reg"]
    assert given["lambda"] == 0.1


@pytest.mark.filterwarnings("ignore:on held-out samples")
def test_one_member_through_a_map() -> None:
    """A calibration map changes the rows: `value` is what it made of them, not the array that was given."""
    p = P.mean(axis=1)
    found = vargate.calibrate(p[:200], Y[:200], method="isotonic", probabilities=True)
    made = vargate.Conformal(calibration_map=found).fit(p[:200], Y[:200])
    mapped = vargate.CalibrationMap(found).apply(p[200:])
    assert np.allclose(made.sets(p[200:]).value, mapped.reshape(300, -1), atol=1e-12)
    assert not np.allclose(made.sets(p[200:]).value, p[200:])
