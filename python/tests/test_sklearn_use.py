"""AbstainingClassifier as scikit-learn's users use it: searches, routing, pipelines, frozen models, large forests,
tables."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", "1.6")

import sklearn
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import shuffle

import vargate
from vargate import _forest
from vargate.sklearn import AbstainingClassifier, CollapseWarning, member_probabilities, selective_scoring

X, Y = shuffle(*load_digits(return_X_y=True), random_state=0)
TRAIN, TEST = slice(0, 900), slice(900, None)


def forest(n: int = 20, **options: Any) -> RandomForestClassifier:
    return RandomForestClassifier(n, random_state=0, **options)


# --- refused before training ------------------------------------------------------------------------------------------


class Untrainable(LogisticRegression):
    def fit(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("this was trained before it was refused")


@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        (Untrainable(), TypeError, "Untrainable has no members"),
        (make_pipeline(StandardScaler(), Untrainable()), TypeError, "Untrainable has no members"),
        (GridSearchCV(Untrainable(), {"C": [1, 2]}), TypeError, "Untrainable has no members"),
        (sklearn.ensemble.AdaBoostClassifier(Untrainable()), TypeError, "AdaBoostClassifier has no members"),
        (FrozenEstimator(LogisticRegression()), TypeError, "LogisticRegression has no members"),
        (VotingClassifier([("a", Untrainable())], weights=[1]), ValueError, "weights=None"),
        ([], ValueError, "empty list"),
    ],
)
def test_what_has_no_members_is_refused_before_training(estimator: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        AbstainingClassifier(estimator).fit(X[:100], Y[:100])


# --- numbers, labels, tables ------------------------------------------------------------------------------------------


def test_search_over_numpy_numbers() -> None:
    search = GridSearchCV(AbstainingClassifier(forest(5)), {"k": np.arange(1, 3)}, cv=2, error_score="raise").fit(
        X[:200], Y[:200]
    )
    assert search.best_params_["k"] in (1, 2)
    assert AbstainingClassifier(forest(3), k=np.float32(0.5)).fit(X[:100], Y[:100]).k_ == 0.5
    with pytest.raises(ValueError, match="k is '12'"):
        AbstainingClassifier(forest(3), k="12").fit(X[:100], Y[:100])  # type: ignore[arg-type]


def test_bool_labels() -> None:
    y = Y > 4
    model = AbstainingClassifier(forest(10), k=1.0).fit(X[TRAIN], y[TRAIN])
    predicted = model.predict(X[TEST])
    kept = predicted != model.abstain_label_
    assert 0 < kept.mean() < 1
    assert predicted.dtype == np.int64
    assert (predicted[kept] == y[TEST][kept]).mean() > 0.9
    assert model.score_selective(X[TEST], y[TEST])["accuracy"] == (predicted[kept] == y[TEST][kept]).mean()
    assert 0 < cross_val_score(model, X[:300], y[:300], cv=2).min() <= 1


def test_a_word_among_integer_classes() -> None:
    model = AbstainingClassifier(forest(10), k=1.0, abstain_label="?").fit(X[TRAIN], Y[TRAIN])
    predicted = model.predict(X[TEST])
    assert {type(v) for v in predicted} == {int, str} or {type(v) for v in predicted} == {np.int64, str}
    kept = predicted != "?"
    assert 0 < kept.mean() < 1
    wrong = predicted[kept] != Y[TEST][kept]
    assert model.score(X[TEST], Y[TEST]) == pytest.approx(1 - wrong.sum() / len(kept) - 0.1 * (~kept).mean())
    assert cross_val_score(model, X[:300], Y[:300], cv=2, error_score="raise").shape == (2,)


def test_polars() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(X, schema=[f"pixel {i}" for i in range(64)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for target in (None, 0.5):
            model = AbstainingClassifier(forest(5), target_risk=target, random_state=0).fit(
                frame[:900], polars.Series(Y[TRAIN])
            )
            assert list(model.feature_names_in_) == frame.columns
            plain = AbstainingClassifier(forest(5), target_risk=target, random_state=0).fit(X[TRAIN], Y[TRAIN])
            np.testing.assert_array_equal(model.predict(frame[900:]), plain.predict(X[TEST]))


# --- routing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["outer", "inner", "list"])
def test_metadata_routing(who: str) -> None:
    weights = np.where(Y[:600] == 3, 0.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        if who == "outer":
            model = AbstainingClassifier(forest(5), target_risk=0.9, random_state=0).set_fit_request(sample_weight=True)
        elif who == "inner":
            model = AbstainingClassifier(forest(5).set_fit_request(sample_weight=True), k=0.1)
        else:
            model = AbstainingClassifier(
                [tree.set_fit_request(sample_weight=True) for tree in (forest(3), ExtraTreesClassifier(3))]
            )
        model.fit(X[:600], Y[:600], sample_weight=weights)
        assert not (member_probabilities(model, X[TEST])[..., 3] > 0).any()
        scores = cross_val_score(
            model.set_score_request(sample_weight=False), X[:600], Y[:600], cv=2, params={"sample_weight": weights}
        )
        assert scores.shape == (2,)
        with pytest.raises(Exception, match="sample_weight"):
            AbstainingClassifier(forest(5)).fit(X[:100], Y[:100], sample_weight=weights[:100])
    assert np.asarray(
        AbstainingClassifier(forest(5)).fit(X[:600], Y[:600], sample_weight=weights).predict(X[:5])
    ).shape == (5,)


@pytest.mark.parametrize("who", ["outer", "inner"])
def test_weights_reach_fit_and_score_through_a_search_over_a_pipeline(who: str) -> None:
    weights = np.where(Y[:600] == 3, 0.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = (
            AbstainingClassifier(forest(5)).set_fit_request(sample_weight=True)
            if who == "outer"
            else AbstainingClassifier(forest(5).set_fit_request(sample_weight=True))
        )
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False), model.set_score_request(sample_weight=True)
        )
        search = GridSearchCV(pipeline, {"abstainingclassifier__k": [0.1, 0.5]}, cv=2, error_score="raise")
        search.fit(X[:600], Y[:600], sample_weight=weights)
        assert not (search.predict_proba(X[:600])[:, 3] > 0).any()  # class 3 weighs nothing in `fit`
        weighted = search.score(X[:600], Y[:600], sample_weight=weights)
        kept = Y[:600] != 3
        assert weighted == pytest.approx(search.score(X[:600][kept], Y[:600][kept], sample_weight=np.ones(kept.sum())))
        assert weighted != search.score(X[:600], Y[:600], sample_weight=np.ones(600))
        # The folds are scored with their weights too: errors on class 3, which is not known to them, do not count.
        plain = GridSearchCV(pipeline, search.param_grid, cv=2, scoring=lambda model, x, y: model.score(x, y))
        plain.fit(X[:600], Y[:600], sample_weight=weights)
        assert (search.cv_results_["mean_test_score"] > plain.cv_results_["mean_test_score"]).all()


# --- thresholds, searches, pipelines ----------------------------------------------------------------------------------


def test_a_frozen_estimator_gives_all_data_to_the_threshold() -> None:
    trained = forest().fit(X[:600], Y[:600])
    model = AbstainingClassifier(FrozenEstimator(trained), target_risk=0.2).fit(X[600:1200], Y[600:1200])
    assert model.selection_ is not None
    assert (
        model.selection_.n + model.selection_.set_aside == 600
    )  # some samples place the thresholds, the others are tested
    whole = vargate.select_k(member_probabilities(trained, X[600:1200]), Y[600:1200], target_risk=0.2)
    assert model.k_ == whole.threshold


def test_refit_by_risk_takes_the_lowest() -> None:
    grid = {"k": [0.01, 0.3, 0.6]}
    search = GridSearchCV(
        AbstainingClassifier(forest(10)),
        grid,
        cv=2,
        scoring=AbstainingClassifier.score_selective,
        refit="risk",
        error_score="raise",
    ).fit(X[:600], Y[:600])
    risks = -search.cv_results_["mean_test_risk"]
    assert risks.min() < risks.max()
    assert search.best_params_["k"] == grid["k"][int(risks.argmin())] == 0.6
    costs = GridSearchCV(AbstainingClassifier(forest(10)), grid, cv=2, scoring=selective_scoring, refit="cost").fit(
        X[:600], Y[:600]
    )
    default = GridSearchCV(AbstainingClassifier(forest(10)), grid, cv=2).fit(X[:600], Y[:600])
    assert costs.best_params_ == default.best_params_
    assert default.best_score_ == pytest.approx(1 + costs.best_score_)


def test_dear_referrals_abstain_less() -> None:
    grid, found = {"k": [0.01, 0.3, 1.0, 3.0]}, []
    for cost in (0.0, 0.02, 0.3, 1.0):
        search = GridSearchCV(AbstainingClassifier(forest(10), referral_cost=cost), grid, cv=2).fit(X[:600], Y[:600])
        found.append(search.best_params_["k"])
    assert found == sorted(found, reverse=True)
    assert found[0] >= 1.0 > found[-1] == 0.01
    for costs in (
        {"referral_cost": -0.1},
        {"referral_cost": 2.0},
        {"error_cost": 0.0, "referral_cost": 0.0},
        {"error_cost": "1"},
    ):
        with pytest.raises(ValueError, match="expected 0 <= referral_cost <= error_cost"):
            AbstainingClassifier(forest(3), **costs).fit(X[:100], Y[:100])


def test_score_takes_weights() -> None:
    model = AbstainingClassifier(forest(10), k=0.5).fit(X[TRAIN], Y[TRAIN])
    half = np.arange(len(Y[TEST])) % 2
    assert model.score(X[TEST], Y[TEST], sample_weight=half) == pytest.approx(model.score(X[TEST][1::2], Y[TEST][1::2]))


def test_uncertainty_through_a_pipeline() -> None:
    pipeline = make_pipeline(StandardScaler(), AbstainingClassifier(forest(10), k=0.5)).fit(X[TRAIN], Y[TRAIN])
    model, scaled = pipeline[-1], pipeline[:-1].transform(X[TEST])
    labels, uncertainty = pipeline.predict(X[TEST], return_uncertainty=True)
    np.testing.assert_array_equal(labels, model.predict(scaled))
    np.testing.assert_array_equal(uncertainty, model.predict_uncertainty(scaled))
    for measure in ("tu", "gtu", "gtu@0.5"):
        np.testing.assert_array_equal(
            pipeline.predict(X[TEST], return_uncertainty=measure)[1], model.predict_uncertainty(scaled, measure)
        )
    np.testing.assert_array_equal(member_probabilities(pipeline, X[TEST]), model.predict_members(scaled))
    assert (
        selective_scoring(pipeline, X[TEST], Y[TEST])["coverage"] == model.score_selective(scaled, Y[TEST])["coverage"]
    )


def test_identical_members_are_told() -> None:
    copies = VotingClassifier([("a", GaussianNB()), ("b", GaussianNB())], voting="soft")
    with pytest.warns(CollapseWarning, match="the 2 members give identical probabilities for all 897 samples"):
        AbstainingClassifier(copies).fit(X[TRAIN], Y[TRAIN]).predict(X[TEST])
    same = [DecisionTreeClassifier(random_state=0), DecisionTreeClassifier(random_state=0)]
    with pytest.warns(CollapseWarning, match="2 members give identical"):
        AbstainingClassifier(same, target_risk=0.5, random_state=None).fit(X[TRAIN], Y[TRAIN])
    with pytest.warns(CollapseWarning, match="one member"):
        AbstainingClassifier(CalibratedClassifierCV(GaussianNB(), ensemble=False)).fit(X[TRAIN], Y[TRAIN]).predict(
            X[TEST]
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AbstainingClassifier(forest()).fit(X[TRAIN], Y[TRAIN]).predict(X[TEST])
        AbstainingClassifier(copies).fit(X[TRAIN], Y[TRAIN]).predict(X[TEST][:5])  # too few samples


# --- forests ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize(
    "model",
    [
        forest(7),
        forest(7, max_leaf_nodes=9),
        forest(5, max_depth=1),
        forest(4, class_weight="balanced"),
        ExtraTreesClassifier(6, random_state=0, max_features=1),
    ],
    ids=repr,
)
def test_trees_are_read_as_scikit_learn_reads_them(model: Any, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_forest, "_LEAST_ROWS", 37)
    monkeypatch.setattr(_forest, "_LEAST_LEAVES", 1000)
    monkeypatch.setattr(_forest, "_VALUES", 1)
    model.fit(X[TRAIN], Y[TRAIN])
    expected = np.stack([tree.predict_proba(X[TEST].astype(np.float32)) for tree in model.estimators_], axis=1)
    np.testing.assert_array_equal(member_probabilities(model, X[TEST], n_jobs=jobs), expected)
    s = vargate.score(expected, k=0.3)
    found = AbstainingClassifier(FrozenEstimator(model), k=0.3, n_jobs=jobs).fit(X[TRAIN], Y[TRAIN])
    scores = found.predict_scores(X[TEST])
    for name in s.keys():
        np.testing.assert_array_equal(scores[name], s[name])
    assert (scores.diversity, scores.k_sensitivity, scores.m) == (s.diversity, s.k_sensitivity, s.m)
    assert (scores.verdict().text, scores.verdict().name) == (s.verdict().text, s.verdict().name)
    assert scores.verdict().name != "unknown"


def test_missing_values_and_sparse_inputs() -> None:
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    model = forest(9).fit(holes[TRAIN], Y[TRAIN])
    expected = np.stack([tree.predict_proba(holes[TEST].astype(np.float32)) for tree in model.estimators_], axis=1)
    np.testing.assert_array_equal(member_probabilities(model, holes[TEST]), expected)
    dense = AbstainingClassifier(forest(9), k=0.3).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_array_equal(dense.predict(sparse.csr_matrix(X[TEST])), dense.predict(X[TEST]))


def peak_of(call: Any) -> int:
    """Most memory of arrays at once, in bytes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_large_forest_costs_what_predict_proba_costs() -> None:
    """Both sides with one thread, by CPU time, best of several."""
    data, y = make_classification(34_000, 20, n_informative=10, n_classes=5, random_state=0)
    trained = forest(100).fit(data[:4000], y[:4000])
    model = AbstainingClassifier(FrozenEstimator(trained)).fit(data[:100], y[:100])
    new = data[4000:]

    def cost(call: Any) -> float:
        begun = time.process_time()
        call(new)
        return time.process_time() - begun

    theirs, ours = [], []
    for _ in range(5):
        theirs.append(cost(trained.predict_proba))
        ours.append(cost(model.predict))
    assert min(ours) < 1.5 * min(theirs), (ours, theirs)
    assert peak_of(lambda: model.predict(new)) < 1.1 * peak_of(lambda: trained.predict_proba(new))


def test_bagging_and_lists_take_n_jobs() -> None:
    bag = BaggingClassifier(DecisionTreeClassifier(max_depth=6), n_estimators=7, max_features=0.5, random_state=0)
    for estimator in (bag, [GaussianNB(), DecisionTreeClassifier(max_depth=4, random_state=0), forest(3)]):
        one, two = (AbstainingClassifier(estimator, k=0.4, n_jobs=jobs).fit(X[TRAIN], Y[TRAIN]) for jobs in (1, 2))
        np.testing.assert_array_equal(one.predict_members(X[TEST]), two.predict_members(X[TEST]))
    data, y = load_iris(return_X_y=True)
    assert AbstainingClassifier([forest(2), forest(2)], n_jobs=2).fit(data, y).predict(data).shape == (150,)


def test_several_uncertainties_at_once() -> None:
    X, y = make_classification(200, random_state=0)
    pipe = make_pipeline(StandardScaler(), AbstainingClassifier(RandomForestClassifier(9, random_state=0), k=1.0))
    pipe.fit(X, y)
    labels, both = pipe.predict(X, return_uncertainty="tu,gtu@1")
    alone = [pipe.predict(X, return_uncertainty=name)[1] for name in ("tu", "gtu")]
    np.testing.assert_array_equal(both, np.stack(alone, axis=1))
    np.testing.assert_array_equal(labels, pipe.predict(X))
