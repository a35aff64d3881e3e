"""Members of scikit-learn's ensembles: which estimators have them, and their predictions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.ensemble._forest import ForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from ._arrays import Array
from ._forest import Forest

__all__ = ["check_members", "innermost", "is_fitted", "member_probabilities", "union"]

Float64 = npt.NDArray[np.float64]


def _columns(model: Any, X: Any, classes: Array) -> Float64:
    """One member's probabilities (N, C) in the order of `classes`; a class it has not seen has probability 0."""
    own = np.asarray(model.classes_)
    if hasattr(model, "predict_proba"):
        given = np.asarray(model.predict_proba(X), np.float64)
    else:
        given = (np.asarray(model.predict(X))[:, None] == own[None, :]).astype(np.float64)
    if len(own) == len(classes) and bool(np.all(own == classes)):
        return given
    place = np.searchsorted(classes, own)
    if bool(np.any(place >= len(classes))) or bool(np.any(classes[place] != own)):
        raise ValueError(f"a member knows classes {own!r}, expected some of {classes!r}")
    out = np.zeros((len(given), len(classes)))
    out[:, place] = given
    return out


def _each(models: Iterable[Any], inputs: Iterable[Any], classes: Array, jobs: int | None) -> Float64:
    tasks = zip(models, inputs, strict=False)
    return np.stack(
        Parallel(n_jobs=jobs, prefer="threads")(delayed(_columns)(model, X, classes) for model, X in tasks), axis=1
    )


def _repeat(X: Any) -> Iterable[Any]:
    while True:
        yield X


def member_probabilities(estimator: Any, X: Any, *, n_jobs: int | None = None) -> Float64:
    """The prediction of each member of a fitted ensemble for each sample.

    Parameters
    ----------
    estimator : fitted classifier, or a sequence of them
        A forest, bagging, voting (hard or soft, without weights) or calibrated classifier; a pipeline or a search that
        ends in one; or any fitted classifiers in a sequence. Members without ``predict_proba`` count as certain of what
        they predict.
    X : array_like (N, features)
    n_jobs : int, optional
        Members that predict at once, in threads; as everywhere in scikit-learn.

    Returns
    -------
    ndarray (N, M, C) float64, classes in the order of ``classes_``; ready for `vargate.score`

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> member_probabilities(RandomForestClassifier(7, random_state=0).fit(X, y), X).shape
    (150, 7, 3)
    """
    if isinstance(estimator, (list, tuple)):
        return _each(estimator, _repeat(X), union(estimator), n_jobs)
    estimator, X = innermost(estimator, X)
    if hasattr(estimator, "predict_members"):  # an AbstainingClassifier
        return member_probabilities(estimator.estimator_, X, n_jobs=estimator.n_jobs if n_jobs is None else n_jobs)
    if hasattr(estimator, "calibrated_classifiers_"):
        return np.stack([np.asarray(c.predict_proba(X), np.float64) for c in estimator.calibrated_classifiers_], axis=1)
    check_members(estimator)
    members, known = estimator.estimators_, estimator.classes_
    if isinstance(known, list):
        raise ValueError("several outputs, expected one label per sample")
    # Ensembles train their members on class numbers.
    numbers = np.arange(len(known))
    features = getattr(estimator, "estimators_features_", None)
    if isinstance(estimator, ForestClassifier):
        X = estimator._validate_X_predict(X)
        if not hasattr(X, "tocsr") and Forest.reads(estimator):
            jobs = effective_n_jobs(estimator.n_jobs if n_jobs is None else n_jobs)
            return _unrolled(Forest(estimator), X, jobs)
    if features is None:
        return _each(members, _repeat(X), numbers, n_jobs)
    X = validate_data(estimator, X, accept_sparse=["csr", "csc"], dtype=None, ensure_all_finite=False, reset=False)
    return _each(members, (X[:, f] for f in features), numbers, n_jobs)


def _unrolled(forest: Forest, X: Any, jobs: int) -> Float64:
    out, first = np.empty((len(X), len(forest), forest.classes)), 0
    for p in forest.blocks(X, jobs):
        out[first : first + p.shape[1]] = p.transpose(1, 0, 2)
        first += p.shape[1]
    return out


def innermost(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The ensemble inside fitted pipelines, searches and frozen estimators, and its input."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            X = estimator[:-1].transform(X) if len(estimator.steps) > 1 else X
            estimator = estimator.steps[-1][1]
        elif isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        else:
            return estimator, X


def check_members(estimator: Any) -> None:
    """Refuses what has no members of equal weight, fitted or not."""
    if isinstance(estimator, (list, tuple)):
        if not estimator:
            raise ValueError("estimator is an empty list, expected one classifier or more")
        return
    if isinstance(estimator, (BaseSearchCV, FrozenEstimator)):
        return check_members(estimator.estimator)
    if hasattr(estimator, "steps"):
        return check_members(estimator.steps[-1][1])
    if isinstance(estimator, CalibratedClassifierCV):
        return
    if not isinstance(estimator, (ForestClassifier, BaggingClassifier, VotingClassifier)):
        raise TypeError(
            f"{type(estimator).__name__} has no members of equal weight, expected a forest, bagging, voting or "
            "calibrated classifier, or a list of fitted classifiers"
        )
    if getattr(estimator, "weights", None) is not None:
        raise ValueError("voting with weights: members count equally here, expected weights=None")


def is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def union(models: Sequence[Any]) -> Array:
    if not models:
        raise ValueError("estimator is an empty list, expected one classifier or more")
    return np.unique(np.concatenate([np.asarray(model.classes_) for model in models]))
