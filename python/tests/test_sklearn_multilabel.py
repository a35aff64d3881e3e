"""vargate.sklearn.MultilabelAbstainingClassifier: an ensemble, a k and a threshold for each label."""

from __future__ import annotations

import doctest
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import vargate
from vargate import _sklearn_multilabel
from vargate.sklearn import AbstainingClassifier, MultilabelAbstainingClassifier, member_probabilities

X, DIGIT = load_digits(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(X))
X, DIGIT = X[ORDER], DIGIT[ORDER]
Y = np.stack([DIGIT % 2, DIGIT > 4, np.isin(DIGIT, (0, 6, 8, 9))], axis=1).astype(int)  # odd, large, has a loop
FOREST = RandomForestClassifier(20, random_state=0)


@pytest.fixture(scope="module")
def model() -> MultilabelAbstainingClassifier:
    return MultilabelAbstainingClassifier(FOREST, k=[0.5, 1, 2]).fit(X[:700], Y[:700])


def test_the_other_classifier_names_this_one() -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)), rng.integers(0, 2, (40, 2))
    with pytest.raises(ValueError, match="MultilabelAbstainingClassifier takes yes/no labels"):
        AbstainingClassifier(RandomForestClassifier(3)).fit(X, Y)


def test_a_forest_for_each_label_and_its_own_k(model: MultilabelAbstainingClassifier) -> None:
    members = model.predict_members(X[700:])
    assert members.shape == (len(X) - 700, 20, 3)
    for c in range(3):
        alone = clone(FOREST).fit(X[:700], Y[:700, c])
        np.testing.assert_array_equal(members[:, :, c], member_probabilities(alone, X[700:])[:, :, 1])
    mean, spread = members.mean(axis=1), members.std(axis=1)
    top = np.maximum(mean, 1 - mean)
    kept = top - model.thresholds_ * spread > (1 - top) + model.thresholds_ * spread
    clear = np.abs(2 * top - 1 - 2 * model.thresholds_ * spread) > 1e-9  # not on the edge of the rule
    want = np.where(kept, mean > 0.5, -1)
    answers = model.predict(X[700:])
    np.testing.assert_array_equal(answers[clear], want[clear])
    np.testing.assert_allclose(model.predict_proba(X[700:]), mean, atol=1e-15)
    whole = vargate.score(members, multilabel=True)
    np.testing.assert_array_equal(model.predict_uncertainty(X[700:], "tu"), whole.tu)
    found = model.evaluate(X[700:], Y[700:])
    assert found.to_dict() == vargate.evaluate(whole, Y[700:]).to_dict()
    rows = model.score_selective(X[700:], Y[700:])
    kept = answers >= 0
    np.testing.assert_allclose(rows["coverage"], kept.mean(axis=0))
    right = (answers == Y[700:])[kept].mean()
    assert model.score(X[700:], Y[700:]) == pytest.approx(right)
    assert (rows["accuracy"] > rows["accuracy_all"]).all()


@pytest.mark.parametrize("by", ["k", "gmu", "gtu@1", "snr"])
def test_a_threshold_for_each_label(by: str) -> None:
    model = MultilabelAbstainingClassifier(FOREST, target_risk=[0.05, 0.1, 0.05], by=by, random_state=0)
    model.fit(X[:1200], Y[:1200])
    assert model.selections_ is not None
    assert [found.target_risk for found in model.selections_] == [0.05, 0.1, 0.05]
    assert len(set(model.thresholds_)) > 1
    members = model.predict_members(X[1200:])
    for c, found in enumerate(model.selections_):
        one = vargate.score(np.ascontiguousarray(members[:, :, [c]]), multilabel=True)
        np.testing.assert_array_equal(model.predict(X[1200:])[:, [c]], one.decide(found))
    rows = model.score_selective(X[1200:], Y[1200:])
    assert (rows["coverage"] > 0.3).all()
    assert (1 - rows["accuracy"] < [0.08, 0.13, 0.08]).all()


def test_as_an_estimator(model: MultilabelAbstainingClassifier) -> None:
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X[:50]), model.predict(X[:50]))
    assert clone(model).get_params()["k"] == [0.5, 1, 2]
    piped = MultilabelAbstainingClassifier(make_pipeline(StandardScaler(), FOREST), n_jobs=2, random_state=1)
    search = GridSearchCV(piped, {"k": np.array([0.5, 1.0])}, cv=2).fit(X[:300], Y[:300])
    assert search.best_params_["k"] in (0.5, 1.0)
    pandas = pytest.importorskip("pandas")
    frame, labels = pandas.DataFrame(X[:200]), pandas.DataFrame(Y[:200], columns=["odd", "large", "loop"])
    fitted = MultilabelAbstainingClassifier(FOREST, target_risk=0.3, random_state=0).fit(frame, labels)
    assert fitted.predict(frame).shape == (200, 3)


def test_a_label_that_is_never_given() -> None:
    never = np.column_stack([Y[:200, 0], np.zeros(200, int), np.ones(200, int)])
    model = MultilabelAbstainingClassifier(FOREST).fit(X[:200], never)
    np.testing.assert_array_equal(model.predict(X[:20])[:, 1:], [[0, 1]] * 20)


@pytest.mark.parametrize(
    ("options", "labels", "says"),
    [
        ({}, Y[:100, 0], r"Y has shape \(100,\), expected \(100, labels\)"),
        ({}, 2 * Y[:100], "Y has values other than 0 and 1"),
        ({"k": [1, 2]}, Y[:100], "k is .*, expected one number above 0, or one for each of 3 labels"),
        ({"target_risk": 0.0}, Y[:100], "target_risk is 0.0"),
        ({"target_risk": 0.1, "validation": 2}, Y[:100], "validation is 2"),
        ({"target_risk": 0.1, "by": "nope"}, Y[:100], "by is 'nope'"),
        ({"estimator": SVC()}, Y[:100], "SVC has no members"),
    ],
)
def test_what_is_refused(options: dict[str, Any], labels: Any, says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        MultilabelAbstainingClassifier(**{"estimator": FOREST, **options}).fit(X[:100], labels)


def test_a_risk_out_of_reach_is_said() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        MultilabelAbstainingClassifier(FOREST, target_risk=1e-4, random_state=0).fit(X[:100], Y[:100])
    assert any("cannot be promised from 25 held-out samples for labels 0 (best bound" in str(w.message) for w in said)


def test_examples() -> None:
    assert doctest.testmod(_sklearn_multilabel).failed == 0
