"""scikit-learn estimators: a classifier that abstains where its members cannot tell classes apart.

>>> from sklearn.datasets import load_digits
>>> from sklearn.ensemble import RandomForestClassifier
>>> from sklearn.model_selection import train_test_split
>>> from vargate.sklearn import AbstainingClassifier
>>> X, X_new, y, y_new = train_test_split(*load_digits(return_X_y=True), random_state=0)
>>> model = AbstainingClassifier(RandomForestClassifier(50, random_state=0), k=0.5).fit(X, y)
>>> figures = model.score_selective(X_new, y_new)
>>> figures["accuracy"] > figures["accuracy_all"], figures["coverage"] > 0.5
(True, True)
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.utils import check_consistent_length, check_random_state, get_tags
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_method_params, _num_samples, check_is_fitted, column_or_1d, validate_data

from . import _parts
from ._arrays import Array
from ._options import Preset
from .decide import Selection, select_k
from .scores import Scores, score

__all__ = ["AbstainingClassifier", "expected_failed_checks", "member_probabilities"]

Float64 = npt.NDArray[np.float64]


# --- members --------------------------------------------------------------------------------------------------------------------


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


def _stack(members: Iterable[Float64]) -> Float64:
    return np.stack(list(members), axis=1)


def member_probabilities(estimator: Any, X: Any) -> Float64:
    """What each member of a fitted ensemble says of each sample.

    Parameters
    ----------
    estimator : fitted classifier, or a sequence of them
        A forest, bagging, voting (hard or soft, without weights) or calibrated classifier; a pipeline or a search that ends in
        one; or any fitted classifiers in a sequence. Members without ``predict_proba`` count as certain of what they predict.
    X : array_like (N, features)

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
        classes = _union(estimator)
        return _stack(_columns(model, X, classes) for model in estimator)
    if hasattr(estimator, "best_estimator_"):
        return member_probabilities(estimator.best_estimator_, X)
    if hasattr(estimator, "steps"):
        return member_probabilities(estimator.steps[-1][1], estimator[:-1].transform(X) if len(estimator.steps) > 1 else X)
    if type(estimator).__name__ == "FrozenEstimator":
        return member_probabilities(estimator.estimator, X)
    if hasattr(estimator, "calibrated_classifiers_"):
        return _stack(np.asarray(c.predict_proba(X), np.float64) for c in estimator.calibrated_classifiers_)
    members = getattr(estimator, "estimators_", None)
    known: Any = getattr(estimator, "classes_", None)
    if members is None or known is None or not _equal_members(estimator):
        raise TypeError(
            f"{type(estimator).__name__} has no members of equal weight, expected a forest, bagging, voting or calibrated "
            "classifier, or a list of fitted classifiers"
        )
    if getattr(estimator, "weights", None) is not None:
        raise ValueError("voting with weights: members count equally here, expected weights=None")
    if isinstance(known, list):
        raise ValueError("several outputs, expected one label a sample")
    # Ensembles train their members on class numbers.
    numbers = np.arange(len(known))
    features = getattr(estimator, "estimators_features_", None)
    if features is None:
        X = estimator._validate_X_predict(X) if _is_forest(estimator) else X
        return _stack(_columns(model, X, numbers) for model in members)
    X = validate_data(estimator, X, accept_sparse=["csr", "csc"], dtype=None, ensure_all_finite=False, reset=False)
    return _stack(_columns(model, X[:, f], numbers) for model, f in zip(members, features, strict=True))


def _is_forest(estimator: Any) -> bool:
    from sklearn.ensemble._forest import BaseForest

    return isinstance(estimator, BaseForest)


def _equal_members(estimator: Any) -> bool:
    from sklearn.ensemble import BaggingClassifier, VotingClassifier

    return _is_forest(estimator) or isinstance(estimator, (BaggingClassifier, VotingClassifier))


def _fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _union(models: Sequence[Any]) -> Array:
    if not models:
        raise ValueError("estimator is an empty list, expected one classifier or more")
    return np.unique(np.concatenate([np.asarray(model.classes_) for model in models]))


# --- the classifier ---------------------------------------------------------------------------------------------------------------


class AbstainingClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts where the members of an ensemble can tell the two likeliest classes apart, and abstains elsewhere.

    A sample is kept when ``mu_i - k sigma_i > mu_j + k sigma_j``: i and j are the classes of largest mean probability over members, mu
    and sigma its mean and spread. `k` is given, or chosen on held-out data so that the risk among kept samples meets a target.

    Parameters
    ----------
    estimator : classifier or list of classifiers, optional
        Anything with members: a forest, bagging, voting or calibrated classifier, a pipeline or search that ends in one; or a list of
        classifiers, each a member. Those of a list that are fitted already are used as they are, the others are fitted. None: a
        forest of extremely randomised trees.
    k : float, default 1.0
        Larger abstains more. Not used with `target_risk`.
    target_risk : float, optional
        The largest share of errors allowed among kept samples, for instance 0.01. A part of the data given to `fit` is held out and
        the smallest k is taken for which the risk is below the target with probability `confidence`.
    confidence : float, default 0.95
        Of that promise.
    validation : float, default 0.25
        Share of the data held out for it, stratified where possible. All data are used when no member needs fitting.
    abstain_label : label, optional
        What `predict` gives where it abstains. None: -1 for numbers (or one less than the smallest class below 0), ``"uncertain"`` for
        strings.
    preset : {"paper", "vge", "mljku"}
        Conventions of the measures; see `vargate.score`.
    random_state : int or RandomState, optional
        Of the split, and of members that have no ``random_state`` of their own.

    Attributes
    ----------
    estimator_ : the fitted ensemble, or list
    classes_ : ndarray (C,)
    k_ : float
        The gate setting used.
    abstain_label_ : label
    selection_ : vargate.Selection or None
        How k was chosen.
    n_features_in_ : int

    Notes
    -----
    Passes scikit-learn's ``check_estimator``, but for the one check that `expected_failed_checks` names when it abstains on a training
    sample.

    `score` is accuracy with an abstention counted as wrong; `score_selective` tells the two apart, and as a ``scoring`` callable of
    ``cross_validate`` gives each of its figures. To keep fitted models of a list fitted under cross-validation, which clones, wrap each in
    ``sklearn.frozen.FrozenEstimator``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from vargate.sklearn import AbstainingClassifier
    >>> X, X_new, y, y_new = train_test_split(*load_digits(return_X_y=True), random_state=0)
    >>> model = AbstainingClassifier(target_risk=0.05, random_state=0).fit(X, y)
    >>> model.selection_.met, model.score_selective(X_new, y_new)["risk"] < 0.05
    (True, True)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        k: float = 1.0,
        target_risk: float | None = None,
        confidence: float = 0.95,
        validation: float = 0.25,
        abstain_label: Any = None,
        preset: Preset = "paper",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.k = k
        self.target_risk = target_risk
        self.confidence = confidence
        self.validation = validation
        self.abstain_label = abstain_label
        self.preset = preset
        self.random_state = random_state

    # --- learning -----------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, **fit_params: Any) -> AbstainingClassifier:
        """Fits the ensemble, and with `target_risk` chooses k.

        Parameters
        ----------
        X : array_like (N, features)
        y : array_like (N,)
        **fit_params
            Passed to the ensemble's ``fit`` (each member's, for a list); arrays of N values are cut with the data.
        """
        if not (isinstance(self.k, (int, float)) and self.k > 0):
            raise ValueError(f"k is {self.k!r}, expected a number > 0")
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        given = ExtraTreesClassifier() if self.estimator is None else self.estimator
        prefit = isinstance(given, (list, tuple)) and all(_fitted(model) for model in given)
        if prefit:
            check_consistent_length(X, y)
            self.estimator_, held = list(given), (X, y)
        elif self.target_risk is None:
            self.estimator_, held = self._fit_members(given, X, y, fit_params), None
        else:
            X, y = _indexable(X), column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            check_classification_targets(y)
            train, rest = self._split(y)
            X_train, y_train = _safe_split(_representative(given), X, y, train)
            held = _safe_split(_representative(given), X, y, rest, train)
            cut = _check_method_params(X, params=fit_params, indices=train)
            self.estimator_ = self._fit_members(given, X_train, y_train, cut)
        self.classes_ = _classes(self.estimator_)
        first = self.estimator_[0] if isinstance(self.estimator_, list) else self.estimator_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
        self.abstain_label_ = self._label()
        self.selection_: Selection | None = None
        self.k_ = float(self.k)
        if self.target_risk is not None and held is not None and len(self.classes_) > 1:
            self._choose(*held)
        return self

    def _fit_members(self, given: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        if isinstance(given, (list, tuple)):
            return [model if _fitted(model) else self._seeded(model).fit(X, y, **fit_params) for model in given]
        model = self._seeded(given).fit(X, y, **fit_params)
        if isinstance(getattr(model, "classes_", None), list):
            raise ValueError("y has several outputs, expected one label a sample")
        return model

    def _seeded(self, model: Any) -> Any:
        """A clone whose free random states come from ours."""
        model = clone(model)
        if self.random_state is None:
            return model
        random = check_random_state(self.random_state)
        free = [name for name, value in sorted(model.get_params().items()) if value is None and name.split("__")[-1] == "random_state"]
        return model.set_params(**{name: int(random.randint(np.iinfo(np.int32).max)) for name in free})

    def _split(self, y: Any) -> tuple[Array, Array]:
        n = _num_samples(y)
        if not 0 < self.validation < 1:
            raise ValueError(f"validation is {self.validation!r}, expected a share between 0 and 1")
        numbers, counts = np.arange(n), np.unique(np.asarray(y), return_counts=True)[1]
        room = min(self.validation, 1 - self.validation) * n >= len(counts)
        stratify = np.asarray(y) if counts.min(initial=n) >= 2 and room else None
        parts = train_test_split(numbers, test_size=self.validation, random_state=self.random_state, stratify=stratify)
        return parts[0], parts[1]

    def _choose(self, X: Any, y: Any) -> None:
        s = score(self.predict_members(X), preset=self.preset, measures=["pred", "second", "mean", "std"])
        # A label no member knows is an error whatever is predicted: any other class than the predicted one stands for it.
        place = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        labels = np.where(self.classes_[place] == y, place, (s.pred + 1) % len(self.classes_))
        found = select_k(s, labels, target_risk=self.target_risk, confidence=self.confidence, must_meet=False)
        self.selection_, self.k_ = found, float(found.threshold)
        if not found.met:
            warnings.warn(
                f"a risk of {self.target_risk:g} cannot be promised from {found.samples + found.set_aside} held-out samples; the best "
                f"bound is {found.risk_bound:.3g}, at k = {self.k_:g}; {found.reason}",
                UserWarning,
                stacklevel=3,
            )

    def _label(self) -> Any:
        if self.abstain_label is not None:
            if bool(np.any(self.classes_ == self.abstain_label)):
                raise ValueError(f"abstain_label {self.abstain_label!r} is one of the classes")
            return self.abstain_label
        kind = self.classes_.dtype.kind
        if kind in "biuf":
            return min(-1, int(np.floor(self.classes_.min())) - 1)
        label = "uncertain"
        while bool(np.any(self.classes_ == label)):
            label = "_" + label
        return label

    # --- use ----------------------------------------------------------------------------------------------------------------

    def predict_members(self, X: Any) -> Float64:
        """Probabilities of every member (N, M, C), ready for `vargate.score`."""
        check_is_fitted(self)
        return member_probabilities(self.estimator_, X)

    def predict_scores(self, X: Any) -> Scores:
        """Everything `vargate.score` says of these samples, at the gate setting in use."""
        return score(self.predict_members(X), k=float(self.k_), preset=self.preset)

    def predict(self, X: Any) -> Array:
        """Labels; where the model abstains, ``abstain_label_``.

        Integer labels stay integers. Where the label does not fit the type of the classes (an ``"uncertain"`` among integers), the
        result is of type object.
        """
        check_is_fitted(self)
        p = self.predict_members(X)
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(p))
        decision = score(p, k=float(self.k_), preset=self.preset, measures="decision").decision[:, 0]
        if not bool(np.any(decision < 0)):
            return self.classes_[decision]
        out = self.classes_[np.maximum(decision, 0)].astype(self._dtype())
        out[decision < 0] = self.abstain_label_
        return out

    def _dtype(self) -> np.dtype[Any]:
        label = np.asarray(self.abstain_label_)
        both = self.classes_.dtype.kind + label.dtype.kind
        if all(kind in "iu" for kind in both):
            return np.dtype(np.promote_types(self.classes_.dtype, np.int8 if -128 <= int(label) < 128 else np.int64))
        if both in ("UU", "fi", "ff", "fu"):
            return np.dtype(np.promote_types(self.classes_.dtype, label.dtype))
        return np.dtype(object)

    def predict_proba(self, X: Any) -> Float64:
        """Mean over members of the class probabilities (N, C)."""
        p = self.predict_members(X)
        if len(self.classes_) == 1:
            return np.ones((len(p), 1))
        return score(p, measures="mean", preset=self.preset).mean

    def predict_uncertainty(self, X: Any, measure: str = "gmu") -> Float64:
        """One uncertainty a sample.

        Parameters
        ----------
        X : array_like (N, features)
        measure : str
            A measure of `vargate.score`: ``"gmu"`` (margin, 0 certain to 1 uncertain), ``"tu"``, ``"eu"``, ``"epkl"``, or gated by
            ``k_``: ``"gtu"``, ``"geu"``, ...

        Returns
        -------
        ndarray (N,) float64
        """
        p = self.predict_members(X)
        if len(self.classes_) == 1:
            return np.zeros(len(p))
        values: Float64 = score(p, k=float(self.k_), preset=self.preset, measures=measure)[measure]
        return values if values.ndim == 1 else values[:, 0]

    def score_selective(self, X: Any, y: Any) -> dict[str, float]:
        """Figures of abstention, also as ``cross_validate(..., scoring=AbstainingClassifier.score_selective)``.

        Returns
        -------
        dict
            ``coverage`` (share kept), ``accuracy`` and ``risk`` (on the kept; NaN when none), ``accuracy_all`` (without abstaining),
            ``errors_caught`` (share of errors abstained on; NaN when there are none), ``aurc`` and ``error_auroc`` (of ``gmu``).
        """
        y = np.asarray(y)
        p = self.predict_members(X)
        if len(self.classes_) == 1:
            wrong, kept, gmu = self.classes_[0] != y, np.ones(len(p), bool), np.zeros(len(p))
        else:
            s = score(p, k=float(self.k_), preset=self.preset, measures=["decision", "pred", "gmu"])
            wrong, kept, gmu = self.classes_[s.pred] != y, s.decision[:, 0] >= 0, s.gmu
        ranking = _parts.rank("gmu", gmu, wrong.astype(np.uint8))
        row = _parts.rule_counts(len(y), int((~wrong).sum()), int(kept.sum()), int((kept & wrong).sum()))
        return {
            "coverage": row["coverage"],
            "accuracy": row["accuracy"],
            "risk": 1 - row["accuracy"],
            "accuracy_all": float(np.mean(~wrong)) if len(y) else float("nan"),
            "errors_caught": row["abstained_errors"] / wrong.sum() if wrong.any() else float("nan"),
            "aurc": ranking["aurc"],
            "error_auroc": ranking["error_auroc"],
        }

    # --- what scikit-learn asks ----------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = _representative(self.estimator)
        inner = ExtraTreesClassifier() if inner is None else inner
        if hasattr(inner, "__sklearn_tags__"):
            theirs = get_tags(inner)
            tags.input_tags.sparse = theirs.input_tags.sparse
            tags.input_tags.allow_nan = theirs.input_tags.allow_nan
            tags.input_tags.pairwise = theirs.input_tags.pairwise
            if theirs.classifier_tags is not None:
                tags.classifier_tags.multi_class = theirs.classifier_tags.multi_class
        return tags


def expected_failed_checks(estimator: Any) -> dict[str, str]:
    """The one check of scikit-learn's ``check_estimator`` that abstaining contradicts, and why; for its ``expected_failed_checks``.

    Scikit-learn expects ``predict`` to be the class of largest ``predict_proba`` for every training sample. For one that is abstained on
    it is not. Models that abstain on none of the training samples pass this check too.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.utils.estimator_checks import check_estimator
    >>> model = AbstainingClassifier(RandomForestClassifier(9, random_state=0))
    >>> found = check_estimator(model, expected_failed_checks=expected_failed_checks(model), on_skip=None)
    >>> sorted({one["status"] for one in found} - {"skipped"}), sorted({one["check_name"] for one in found if one["status"] == "xfail"})
    (['passed', 'xfail'], ['check_classifiers_train'])
    """
    if not isinstance(estimator, AbstainingClassifier):
        return {}
    return {"check_classifiers_train": "predict gives the abstain label where the largest of predict_proba is not certain"}


def _indexable(X: Any) -> Any:
    """Rows can be taken from it."""
    if hasattr(X, "tocsr"):
        return X.tocsr()
    return X if hasattr(X, "iloc") or isinstance(X, list) else np.asarray(X)


def _representative(estimator: Any) -> Any:
    if isinstance(estimator, (list, tuple)):
        return estimator[0] if estimator else None
    return estimator


def _classes(estimator: Any) -> Array:
    return _union(estimator) if isinstance(estimator, list) else np.asarray(estimator.classes_)
