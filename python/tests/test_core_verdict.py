"""The verdict on an ensemble, and what `calibrate` warns of: the texts come from the library."""

from __future__ import annotations

import json
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

import vargate


def made(n: int, m: int, c: int, base: float, noise: float) -> np.ndarray:
    rng = np.random.default_rng(5)
    return base * rng.normal(size=(n, 1, c)) + noise * rng.normal(size=(n, m, c))


def test_same_as_the_command(program: str, tmp_path: Path) -> None:
    z, labels = made(200, 6, 4, 4, 1), np.random.default_rng(1).integers(0, 4, 200)
    np.savez(tmp_path / "z.npz", Z=z, L=labels)
    done = subprocess.run(
        [program, "score", str(tmp_path / "z.npz"), "--json"], capture_output=True, text=True, check=True
    )
    theirs = json.loads(done.stdout)
    s = vargate.score(z, logits=True, labels=labels)
    ours = s.summary().to_dict()
    for key in ("verdict", "verdict_text", "verdict_figures"):
        assert ours[key] == theirs[key], key
    assert s.verdict().name == ours["verdict"] == "no-skill"
    assert str(s.verdict()) in str(s.summary())
    assert vargate.score(z, logits=True).verdict().name == "diverse"


@pytest.mark.parametrize(
    ("base", "noise", "expected"), [(8, 0.01, "collapsed"), (8, 1, "diverse"), (0, 0.01, "undecided")]
)
def test_k_members_and_measures_do_not_matter(base: float, noise: float, expected: str) -> None:
    for m in (2, 40):
        z = made(400, m, 10, base, noise)
        first = vargate.score(z, logits=True).verdict()
        assert first.name == expected
        for options in ({"k": (100,)}, {"k": (0.01,)}, {"measures": "gmu"}):
            assert vargate.score(z, logits=True, **options).verdict().text == first.text


def test_scorer_judges_all_it_was_fed() -> None:
    z = made(300, 5, 4, 4, 1)
    with vargate.Scorer(logits=True) as scorer:
        for first in range(0, 300, 70):
            scorer.feed(z[first : first + 70])
        assert scorer.verdict().text == vargate.score(z, logits=True).verdict().text
        assert scorer.verdict(correct=0, labelled=300).name == "no-skill"


def test_calibrate_warns_once_at_a_bound() -> None:
    labels = np.random.default_rng(0).integers(0, 4, 100)
    z = np.repeat(20.0 * np.eye(4)[labels][:, None, :], 30, axis=1)
    with pytest.warns(UserWarning, match="30 of 30 temperatures reached the lower end of their range, 0.01") as caught:
        fit = vargate.calibrate(z, labels)
    assert len(caught) == 1
    assert fit.warning == str(caught[0].message)
    with pytest.warns(UserWarning, match="0.5"):
        assert vargate.calibrate(z, labels, t_min=0.5).temperatures.tolist() == [0.5] * 30


def test_calibrate_says_what_is_held_out() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 900)
    z = 5 * (np.eye(3)[labels][:, None, :] + rng.normal(size=(900, 1, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = vargate.calibrate(z, labels)
        assert vargate.calibrate(z, labels, folds=0).held_out is None
    assert fit.warning == ""
    assert fit.held_out is not None
    assert fit.nll_after <= fit.held_out["nll"] < fit.nll_before
    # members that are sure of different classes: each gains, the mean loses
    tops = np.where(rng.random((900, 8)) < 0.6, labels[:, None], rng.integers(0, 3, (900, 8)))
    with pytest.warns(UserWarning, match="on held-out samples the temperatures make the ensemble worse: NLL"):
        worse = vargate.calibrate(4.0 * np.eye(3)[tops], labels)
    assert worse.held_out is not None
    assert worse.held_out["nll"] > worse.nll_before


def test_enormous_logits() -> None:
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="upper end"):
        fit = vargate.calibrate(1e20 * rng.normal(size=(50, 2, 3)), rng.integers(0, 3, 50), solver="both")
    assert fit.temperatures.tolist() == [10, 10]
    assert fit.gap is not None
    assert fit.gap["log_t_max"] is None
