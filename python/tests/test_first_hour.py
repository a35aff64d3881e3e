"""What a new user writes by mistake or by habit: errors that name Python's arguments, and no wrong result without an
error."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import vargate
from vargate import plots

RNG = np.random.default_rng(5)
Y = RNG.integers(0, 3, 200)
Z = 2 * np.eye(3)[Y][:, None] + RNG.normal(size=(200, 1, 3)) + RNG.normal(size=(200, 6, 3))
P = np.exp(Z) / np.exp(Z).sum(axis=2, keepdims=True)


def test_errors_name_keyword_arguments() -> None:
    with pytest.raises(ValueError, match=r"logits=True; else renormalise=True") as found:
        vargate.score(P * 0.4)
    assert "--" not in str(found.value)
    with pytest.raises(ValueError, match=r"pass p\.reshape\(200, 6, 3\)") as found:
        vargate.score(P.reshape(200, -1))
    assert "--" not in str(found.value)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("give --axes MNC", "give axes='MNC'"),
        ("name those: --classes a,b,c", "name those: classes='a,b,c'"),
        ("--labels-from 1", "labels_from=1"),
        ("replace it with --force", "replace it with force=True"),
        ("give --classes with the 3 names in order", "give classes with the 3 names in order"),
        ("if so, give --decimal comma", "if so, give decimal='comma'"),
        ("x.csv: --key: 'a' is named twice", "x.csv: key: 'a' is named twice"),
        ("no -- dashes - here", "no -- dashes - here"),
    ],
)
def test_options_of_the_command_become_arguments(line: str, expected: str) -> None:
    from vargate._native import in_pythons_words

    assert in_pythons_words(line) == expected


@pytest.mark.parametrize("marks", [Y, Y / 2, Y.astype(str), np.where(Y == 1, np.nan, 0.0)])
def test_error_marks_are_bools(marks: Any) -> None:
    for call in (vargate.rank, vargate.auroc, lambda v, m: vargate.compare_auroc(v, v, m)):
        with pytest.raises((ValueError, TypeError), match="expected bools"):
            call(P[:, 0, 0], marks)
    wrong = Y == 1
    assert vargate.rank(P[:, 0, 0], wrong.astype(float)) == vargate.rank(P[:, 0, 0], wrong)


@pytest.mark.parametrize("measures", ["nope", "gtu@7", "", "gtu@x", "baselines", ["tu", "maxlogit"]])
def test_measures_that_are_not_there_are_refused(measures: Any) -> None:
    s = vargate.score(P, labels=Y)
    with pytest.raises(ValueError, match="was not computed, expected some of tu, au"):
        vargate.evaluate(s, measures=measures)
    with pytest.raises(ValueError, match="was not computed, expected some of tu, au"):
        vargate.ood(s, s, measures=measures)
    assert list(vargate.evaluate(s, measures="gtu@2,margin").measures) == ["gmu", "snr", "gtu@2"]


def test_extra_certainty_names_extras() -> None:
    sure = P.mean(axis=1).max(axis=1)
    one = vargate.evaluate(P, Y, measures=[], extra={"sure": sure, "re": sure}, extra_certainty="sure")
    assert one.measures["sure"].error_auroc == pytest.approx(1 - one.measures["re"].error_auroc)
    with pytest.raises(ValueError, match="'sur' is not in extra, which has sure"):
        vargate.evaluate(P, Y, extra={"sure": sure}, extra_certainty=["sur"])
    with pytest.raises(ValueError, match="'sur' is not in extra, which has sure"):
        vargate.ood(P, P, extra={"sure": (sure, sure)}, extra_certainty=["sur"])


def test_targets_are_numbers() -> None:
    with pytest.raises(TypeError, match=r"target_risk is '\.1', expected a number"):
        vargate.select_k(P, Y, target_risk=".1")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"confidence is '0\.9', expected a number"):
        vargate.evaluate(P, Y, bootstrap=8, confidence="0.9")  # type: ignore[arg-type]
    found = vargate.select_k(P, Y, target_risk=np.float32(0.5), must_meet=False)
    assert json.loads(json.dumps(found.to_dict()))["target_risk"] == pytest.approx(0.5)


def test_plots_say_what_they_draw() -> None:
    pytest.importorskip("matplotlib")
    for draw in (plots.reliability, plots.risk_coverage, plots.decomposition, plots.measures, plots.abstained):
        with pytest.raises(TypeError, match=r"is a ndarray, expected .*vargate\.score"):
            draw(P)  # type: ignore[operator]
    with pytest.raises(TypeError, match=r"vargate\.evaluate\(p, y\)"):
        plots.ranking(P)  # type: ignore[arg-type]
    for two in (plots.ood_histogram, plots.ood_roc):
        with pytest.raises(TypeError, match=r"is a ndarray, expected Scores"):
            two(P, P)  # type: ignore[operator]
    with pytest.raises(TypeError, match=r"expected Ood"):
        plots.ood_auroc(P)  # type: ignore[arg-type]


def test_report_of_something_else() -> None:
    with pytest.raises(TypeError, match="source is a Evaluation, expected a path, Scores, or predictions"):
        vargate.report(vargate.evaluate(P, Y))
    with pytest.raises(TypeError, match="labels has dtype float64, expected integers"):
        vargate.report(P, labels=Y + 0.5)


def test_report_of_loaded_predictions(tmp_path: Any) -> None:
    np.savez(tmp_path / "preds.npz", Z=Z, L=Y)
    loaded = vargate.load(tmp_path / "preds.npz", "predictions")
    page = vargate.report(loaded, tmp_path / "page").path.read_text()
    labelled = vargate.report(P, tmp_path / "other", labels=Y).path.read_text()
    accuracy = f'"accuracy":{vargate.evaluate(P, Y).accuracy:.4g}'[:15]
    assert accuracy in page
    assert accuracy in labelled


def test_ood_as_a_table() -> None:
    pd = pytest.importorskip("pandas")
    one = vargate.ood(P, P[:50])
    assert one.to_pandas().loc["tu", "auroc"] == one.measures["tu"].auroc
    two = vargate.ood(P, {"near": P[:50], "far": P[50:]}).to_pandas()
    assert isinstance(two.index, pd.MultiIndex)
    assert two.loc[("far", "eu"), "fpr95"] == vargate.ood(P, P[50:]).measures["eu"].fpr95


def test_results_in_one_block_can_be_copied() -> None:
    import copy
    import pickle

    s = vargate.score(P[:3], labels=Y[:3])
    for other in (copy.deepcopy(s), pickle.loads(pickle.dumps(s)), copy.copy(s)):
        for name in s.keys():
            np.testing.assert_array_equal(other[name], s[name])
    assert s.tu.flags.writeable
    assert s.tu is s.tu
