"""AbstainingClassifier: scikit-learn's own checks, members of every kind, the decision rule written out, the promise of
a target risk."""

from __future__ import annotations

import doctest
import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", "1.6")

from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import shuffle
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

import vargate
import vargate._sklearn_members
import vargate._sklearn_sets
import vargate.sklearn
from vargate.sklearn import AbstainingClassifier, expected_failed_checks, member_probabilities

X, Y = shuffle(*load_digits(return_X_y=True), random_state=0)  # as they come, the last were written by other people
TRAIN, TEST = slice(0, 900), slice(900, None)


def forest(n: int = 30, **options: Any) -> RandomForestClassifier:
    return RandomForestClassifier(n, random_state=0, **options)


# scikit-learn compares predict with the largest of predict_proba on training data, where an abstention would be a
# difference: members here are sure of what they have been trained on.
CHECKED = [
    AbstainingClassifier(),
    AbstainingClassifier(RandomForestClassifier(9, bootstrap=False), k=2.0),
    AbstainingClassifier(ExtraTreesClassifier(9), target_risk=0.5),
    AbstainingClassifier(BaggingClassifier(GaussianNB(), n_estimators=5), k=0.01),
    AbstainingClassifier(VotingClassifier([("a", DecisionTreeClassifier()), ("b", ExtraTreesClassifier(5))])),
    AbstainingClassifier([DecisionTreeClassifier(), ExtraTreesClassifier(5)]),
]


@pytest.mark.filterwarnings("ignore")
def test_the_usual_model_fails_one_check_and_only_by_abstaining() -> None:
    model = AbstainingClassifier(RandomForestClassifier(random_state=0))  # k = 1: abstains on training samples too
    found = check_estimator(model, expected_failed_checks=expected_failed_checks(model), on_fail=None)
    failed = [one for one in found if one["status"] not in ("passed", "skipped")]
    assert {one["check_name"] for one in failed} == {"check_classifiers_train"}
    assert {one["status"] for one in failed} == {"xfail"}
    assert all("Arrays are not equal" in str(one["exception"]) and "-1" in str(one["exception"]) for one in failed)
    fitted = model.fit(X[TRAIN], Y[TRAIN])
    predicted, largest = fitted.predict(X[TEST]), fitted.classes_[fitted.predict_proba(X[TEST]).argmax(axis=1)]
    assert np.array_equal(np.where(predicted == -1, largest, predicted), largest)
    assert expected_failed_checks(RandomForestClassifier()) == {}


@pytest.mark.parametrize(
    "model", CHECKED, ids=lambda m: type(m.estimator).__name__ + ("_risk" if m.target_risk else "")
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks(model: AbstainingClassifier) -> None:
    failed = []
    for estimator, check in estimator_checks_generator(model):
        name = getattr(check, "func", check).__name__
        try:
            check(estimator)
        except pytest.skip.Exception:
            pass
        except Exception as error:
            if type(error).__name__ != "SkipTest":
                failed.append(f"{name}: {error!r}"[:300])
    assert not failed


def rule(p: np.ndarray, k: float) -> np.ndarray:
    """The decision rule in plain NumPy."""
    mu, sigma = p.mean(axis=1), p.std(axis=1)
    order = np.argsort(-mu, axis=1, kind="stable")
    rows = np.arange(len(p))
    i, j = order[:, 0], order[:, 1]
    keep = mu[rows, i] - k * sigma[rows, i] > mu[rows, j] + k * sigma[rows, j]
    return np.where(keep, i, -1)


ENSEMBLES = {
    "forest": forest(),
    "extra": ExtraTreesClassifier(11, random_state=0, max_depth=5),
    "bagging": BaggingClassifier(DecisionTreeClassifier(max_depth=6), n_estimators=7, max_features=0.5, random_state=0),
    "bagging of few": BaggingClassifier(KNeighborsClassifier(2), n_estimators=9, max_samples=12, random_state=3),
    "voting": VotingClassifier([("a", GaussianNB()), ("b", forest(5))], voting="soft"),
    "hard voting": VotingClassifier([("a", GaussianNB()), ("b", RidgeClassifier())]),
    "calibrated": CalibratedClassifierCV(GaussianNB(), cv=3),
    "pipeline": make_pipeline(StandardScaler(), forest(5)),
    "search": GridSearchCV(forest(5), {"max_depth": [3, 6]}, cv=2),
    "list": [GaussianNB(), DecisionTreeClassifier(max_depth=4, random_state=0), RidgeClassifier()],
}


@pytest.mark.parametrize("name", ENSEMBLES)
def test_members_mean_and_rule(name: str) -> None:
    model = AbstainingClassifier(ENSEMBLES[name], k=0.7).fit(X[TRAIN], Y[TRAIN])
    p = model.predict_members(X[TEST])
    assert p.shape[2] == 10
    np.testing.assert_allclose(p.sum(axis=2), 1, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X[TEST]), rule(p, 0.7))
    proba = model.predict_proba(X[TEST])
    np.testing.assert_allclose(proba, p.mean(axis=1), atol=1e-12)
    inner = model.estimator_
    if name != "list" and hasattr(inner, "predict_proba"):
        np.testing.assert_allclose(proba, inner.predict_proba(X[TEST]), atol=1e-9)
    s = vargate.score(p, k=0.7)
    np.testing.assert_array_equal(model.predict_uncertainty(X[TEST]), s.gmu)
    np.testing.assert_array_equal(model.predict_uncertainty(X[TEST], "gtu"), s.gtu[:, 0])
    np.testing.assert_array_equal(model.predict_uncertainty(X[TEST], "eu"), s.eu)


def test_bagged_members_that_have_not_seen_every_class() -> None:
    bag = ENSEMBLES["bagging of few"].fit(X[TRAIN], Y[TRAIN])
    assert any(len(member.classes_) < 10 for member in bag.estimators_)
    np.testing.assert_allclose(member_probabilities(bag, X[TEST]).mean(axis=1), bag.predict_proba(X[TEST]), atol=1e-9)


def test_selective_figures() -> None:
    model = AbstainingClassifier(forest(), k=0.5).fit(X[TRAIN], Y[TRAIN])
    predicted, figures = model.predict(X[TEST]), model.score_selective(X[TEST], Y[TEST])
    kept = predicted != -1
    assert 0.1 < kept.mean() < 1
    assert figures["coverage"] == pytest.approx(kept.mean())
    assert figures["accuracy"] == pytest.approx((predicted == Y[TEST])[kept].mean())
    wrong = model.predict_proba(X[TEST]).argmax(axis=1) != Y[TEST]
    assert figures["accuracy_all"] == pytest.approx(1 - wrong.mean())
    assert figures["errors_caught"] == pytest.approx((wrong & ~kept).sum() / wrong.sum())
    assert figures["accuracy"] > figures["accuracy_all"]
    cost = ((predicted != Y[TEST]) & kept).mean() + 0.1 * (~kept).mean()
    assert figures["cost"] == pytest.approx(cost)
    assert model.score(X[TEST], Y[TEST]) == pytest.approx(1 - cost)
    evaluation = vargate.evaluate(model.predict_members(X[TEST]), Y[TEST], k=0.5)
    assert figures["aurc"] == evaluation.measures["gmu"].aurc
    assert figures["error_auroc"] == evaluation.measures["gmu"].error_auroc


def test_larger_k_abstains_more() -> None:
    trained = AbstainingClassifier(forest(), k=0.1).fit(X[TRAIN], Y[TRAIN])
    coverages = []
    for k in (0.1, 0.3, 1.0, 3.0):
        trained.k_ = k
        coverages.append(trained.score_selective(X[TEST], Y[TEST])["coverage"])
    assert coverages == sorted(coverages, reverse=True)
    assert coverages[0] > coverages[-1]


def test_target_risk_is_met_on_new_data() -> None:
    model = AbstainingClassifier(forest(60, max_depth=5), target_risk=0.04, random_state=1).fit(X[:1200], Y[:1200])
    assert model.selection_.met
    assert model.selection_.risk_bound <= 0.04
    assert model.k_ == model.selection_.threshold
    figures = model.score_selective(X[1200:], Y[1200:])
    assert figures["risk"] <= 0.04 < 1 - figures["accuracy_all"]
    assert figures["coverage"] > 0.3


def test_target_out_of_reach_warns_with_the_bound() -> None:
    with pytest.warns(UserWarning, match="cannot be promised from 38 held-out samples"):
        model = AbstainingClassifier(forest(10), target_risk=0.001, random_state=0).fit(*load_iris(return_X_y=True))
    assert not model.selection_.met


def test_fitted_models_are_kept_and_choose_k_on_all_data() -> None:
    models = [GaussianNB().fit(X[:600], Y[:600]), forest(5).fit(X[:600], Y[:600])]
    model = AbstainingClassifier(models, target_risk=0.2).fit(X[600:1200], Y[600:1200])
    assert model.estimator_[0] is models[0]
    assert model.selection_.samples + model.selection_.set_aside == 600
    frozen = AbstainingClassifier([FrozenEstimator(m) for m in models])
    assert clone(frozen).estimator[0].estimator is models[0]
    assert 0 < cross_val_score(frozen, X[600:1200], Y[600:1200], cv=2).min() < 1


@pytest.mark.parametrize(
    ("labels", "abstain", "dtype"),
    [
        (np.array(["cat", "dog", "owl"]), "uncertain", "U"),
        (np.array([0, 1, 2]), -1, "i"),
        (np.array([-1, 0, 1]), -2, "i"),
        (np.array([1.0, 2.0, 4.0]), -1, "f"),
        (np.array([1, 2, 3], np.uint8), -1, "i"),
    ],
)
def test_abstain_labels(labels: np.ndarray, abstain: Any, dtype: str) -> None:
    data, y = load_iris(return_X_y=True)
    model = AbstainingClassifier(forest(15), k=3.0).fit(data[::2], labels[y[::2]])
    predicted = model.predict(data[1::2])
    assert model.abstain_label_ == abstain
    assert predicted.dtype.kind == dtype
    kept = rule(model.predict_members(data[1::2]), 3.0)
    assert (kept < 0).any()
    np.testing.assert_array_equal(predicted == abstain, kept < 0)
    np.testing.assert_array_equal(predicted[kept >= 0], labels[kept[kept >= 0]])


def test_chosen_abstain_label() -> None:
    data, y = load_iris(return_X_y=True)
    model = AbstainingClassifier(forest(15), k=3.0, abstain_label="ask").fit(data[::2], y[::2])
    assert set(model.predict(data[1::2])) == {0, 1, 2, "ask"}
    with pytest.raises(ValueError, match="one of the classes"):
        AbstainingClassifier(forest(3), abstain_label=1).fit(data, y)


def test_pipeline_and_cross_validation() -> None:
    model = make_pipeline(StandardScaler(), AbstainingClassifier(forest(10), k=0.3))
    model.fit(X[TRAIN], Y[TRAIN])
    assert model.predict(X[TEST]).shape == (len(Y[TEST]),)
    found = cross_validate(
        AbstainingClassifier(forest(10), k=0.3),
        X,
        Y,
        cv=3,
        scoring=AbstainingClassifier.score_selective,
        error_score="raise",
    )
    assert (found["test_accuracy"] > found["test_accuracy_all"]).all()
    search = GridSearchCV(AbstainingClassifier(forest(10)), {"k": [0.1, 1.0], "estimator__max_depth": [4, None]}, cv=2)
    assert search.fit(X[:400], Y[:400]).best_params_ == {
        "k": 1.0,
        "estimator__max_depth": None,
    }  # an error costs ten referrals


def test_fit_parameters_are_cut_with_the_data() -> None:
    weights = np.where(Y[:600] == 3, 0.0, 1.0)
    model = AbstainingClassifier(forest(5), target_risk=0.9, random_state=0).fit(
        X[:600], Y[:600], sample_weight=weights
    )
    assert not (model.predict(X[TEST]) == 3).any()


def test_data_frames() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"pixel {i}" for i in range(64)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for estimator in (forest(5), ENSEMBLES["bagging"], ENSEMBLES["pipeline"]):
            model = AbstainingClassifier(estimator, target_risk=0.5, random_state=0).fit(frame[TRAIN], Y[TRAIN])
            assert list(model.feature_names_in_) == list(frame.columns)
            np.testing.assert_array_equal(model.predict_proba(frame[TEST]).argmax(axis=1).shape, Y[TEST].shape)


def test_one_class() -> None:
    model = AbstainingClassifier(forest(3)).fit(X[:20], np.ones(20, int))
    assert (model.predict(X[:5]) == 1).all()
    assert (model.predict_uncertainty(X[:5]) == 0).all()
    assert model.score_selective(X[:5], np.ones(5, int))["coverage"] == 1


@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        (AdaBoostClassifier(n_estimators=3), TypeError, "no members of equal weight"),
        (LogisticRegression(max_iter=10), TypeError, "no members of equal weight"),
        (VotingClassifier([("a", GaussianNB()), ("b", GaussianNB())], weights=[1, 2]), ValueError, "weights=None"),
        ([], ValueError, "empty list"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_has_no_members(estimator: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        AbstainingClassifier(estimator).fit(X[:200], Y[:200]).predict(X[:5])


@pytest.mark.parametrize("k", [0, -1, float("nan"), "1"])
def test_bad_k(k: Any) -> None:
    with pytest.raises(ValueError, match="expected a number > 0"):
        AbstainingClassifier(forest(3), k=k).fit(X[:100], Y[:100])


def test_examples_in_the_documentation() -> None:
    for module in (vargate.sklearn, vargate._sklearn_members, vargate._sklearn_sets):
        result = doctest.testmod(module)
        assert result.attempted > 0
        assert result.failed == 0
