"""A k for every class: the gate and the rule against NumPy, and the ways a k comes in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import vargate


@pytest.fixture(scope="module")
def p() -> np.ndarray:
    return np.random.default_rng(3).dirichlet(np.ones(6) * 0.5, size=(200, 7))


K = np.array([0.2, 0.5, 1.0, 1.5, 3.0, 9.0])


def gated(p: np.ndarray, k: np.ndarray) -> np.ndarray:
    mu, sigma = p.mean(1), p.std(1)
    q = p * -np.expm1(-mu / (k * sigma + 1e-8))[:, None, :]
    return np.asarray(q / q.sum(-1, keepdims=True))


def test_measures_and_rule(p: np.ndarray) -> None:
    s = vargate.score(p, k=(1, 2), class_k=K)
    mu, sigma = p.mean(1), p.std(1)
    order = np.argsort(-mu, axis=1, kind="stable")
    i, j, rows = order[:, 0], order[:, 1], np.arange(len(p))
    for at, factor in enumerate((1, 2)):
        mean = gated(p, factor * K).mean(1)
        assert np.allclose(s.gtu[:, at], -(mean * np.log(mean)).sum(-1), atol=1e-12)
        k = factor * K
        keeps = mu[rows, i] - k[i] * sigma[rows, i] > mu[rows, j] + k[j] * sigma[rows, j]
        assert np.array_equal(s.decision[:, at], np.where(keeps, i, -1))
        assert np.array_equal(s.decide(factor), s.decision[:, at])
    assert s.class_k is not None
    assert np.array_equal(s.class_k, K)
    assert np.array_equal(s[10:20].decide(2), s.decide(2)[10:20])


def test_one_for_all(p: np.ndarray) -> None:
    one, three = vargate.score(p, k=1, class_k=[3.0]), vargate.score(p, k=3)
    assert np.array_equal(one.gtu, three.gtu)
    assert np.array_equal(one.decision, three.decision)


def test_files(p: np.ndarray, tmp_path: Path) -> None:
    file = tmp_path / "k.json"
    file.write_text(json.dumps({"k": K.tolist()}))
    labels = p.mean(1).argmax(-1)
    s = vargate.score(p, k=1, class_k=file, labels=labels)
    s.save(tmp_path / "scores.npz")
    back = vargate.load(tmp_path / "scores.npz")
    assert np.array_equal(back.decide(1), s.decide(1))
    assert np.array_equal(back.class_k, K)
    with vargate.Scorer(k=1, class_k=file) as scorer:
        file.unlink()
        assert np.array_equal(scorer.feed(p).gtu, s.gtu)
    e = vargate.evaluate(s)
    assert e.rule["1"].coverage == pytest.approx(np.mean(s.decision[:, 0] >= 0))
    wrong = tmp_path / "temps.json"
    wrong.write_text('{"temperatures": [1.0]}')
    with pytest.raises(ValueError, match="fit-k"):
        vargate.score(p, class_k=wrong)


def test_in_the_place_of_k(p: np.ndarray, tmp_path: Path) -> None:
    file, labels = tmp_path / "k.json", p.mean(1).argmax(-1)
    file.write_text(json.dumps({"k": K.tolist()}))
    s = vargate.score(p, k=1, class_k=K)
    for k in (file, str(file)):
        assert np.array_equal(vargate.score(p, k=k).gtu, s.gtu)
        assert np.array_equal(vargate.decide(p, k), s.decide(1))
    with vargate.Scorer(k=file) as scorer:
        assert np.array_equal(scorer.feed(p).gtu, s.gtu)
    assert vargate.evaluate(p, labels, k=str(file)).rule["1"].coverage == np.mean(s.decide(1) >= 0)
    page = vargate.report(p, tmp_path / "page", labels=labels, k=file)
    assert page.path.exists()
    both = [vargate.sets(p, calibration=(p, labels), **how) for how in ({"gated": file}, {"gated": 1, "class_k": K})]
    assert np.array_equal(both[0].value, both[1].value)
    for call in (lambda: vargate.score(p, k=file, class_k=K), lambda: vargate.Conformal(gated=file, class_k=K)):
        with pytest.raises(TypeError, match="both give a k"):
            call()
    with pytest.raises(TypeError, match="expected a number"):
        vargate.score(p, k="12")


@pytest.mark.parametrize("bad", [[1.0] * 5, [0.0] * 6, [-1.0] * 6, [np.inf] * 6, [2e6] * 6])
def test_refused(p: np.ndarray, bad: list[float]) -> None:
    with pytest.raises(ValueError, match="class"):
        vargate.score(p, class_k=bad)
