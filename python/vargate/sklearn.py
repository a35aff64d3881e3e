"""scikit-learn estimators: a classifier that abstains where its members do not separate the classes.

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

import math
import warnings
from collections.abc import Callable, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.ensemble._forest import ForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import check_consistent_length, check_random_state, get_tags
from sklearn.utils._metadata_requests import _routing_enabled
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _num_samples, check_is_fitted, column_or_1d

from . import _parts
from ._arrays import Array, is_real
from ._forest import Forest, scores_by_blocks
from ._options import Preset, words
from ._score import score
from ._sklearn_members import check_members, innermost, is_fitted, member_probabilities, union
from .decide import Selection, select_k
from .scores import Scores

if TYPE_CHECKING:
    from ._sklearn_multilabel import MultilabelAbstainingClassifier
    from ._sklearn_sets import ConformalClassifier

__all__ = [
    "AbstainingClassifier",
    "CollapseWarning",
    "ConformalClassifier",
    "MultilabelAbstainingClassifier",
    "expected_failed_checks",
    "member_probabilities",
    "selective_scoring",
]

Float64 = npt.NDArray[np.float64]
_COLLAPSE_ROWS = 30  # on fewer samples members may well agree to the last bit


class CollapseWarning(UserWarning):
    """The members of an ensemble do not differ, so their spread is no measure of uncertainty."""


def _fit_one(model: Any, X: Any, y: Any, params: dict[str, Any], fitted: bool) -> Any:
    return model if fitted else model.fit(X, y, **params)


def _uncertainties(s: Scores, measure: str | Sequence[str]) -> Float64:
    """One column of each measure named: (N,) of one, (N, several) of several."""
    columns = [s[name] if s[name].ndim == 1 else s[name][:, 0] for name in words(measure)]
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)


# --- scoring ----------------------------------------------------------------------------------------------------------


def selective_scoring(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    """`AbstainingClassifier.score_selective` as scikit-learn's ``scoring``, where greater is better.

    ``risk``, ``cost`` and ``aurc`` are negative for that. Takes an `AbstainingClassifier`, or a pipeline or search that
    ends in one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AbstainingClassifier(RandomForestClassifier(20, random_state=0), k=0.5).fit(X[::2], y[::2])
    >>> selective_scoring(model, X[1::2], y[1::2])["risk"] == -model.score_selective(X[1::2], y[1::2])["risk"]
    True
    """
    model, inputs = innermost(estimator, X)
    figures: dict[str, float] = model.score_selective(inputs, y)
    return {name: -value if name in ("risk", "cost", "aurc") else value for name, value in figures.items()}


class _ScorerOrMethod:
    """``model.score_selective(X, y)`` gives figures; ``AbstainingClassifier.score_selective`` is the scorer made of
    them."""

    def __get__(self, model: Any, owner: Any = None) -> Callable[..., dict[str, float]]:
        return selective_scoring if model is None else MethodType(AbstainingClassifier._selective, model)


# --- the classifier ---------------------------------------------------------------------------------------------------


class AbstainingClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts where the members of an ensemble separate the two likeliest classes, and abstains elsewhere.

    A sample is kept when ``mu_i - k sigma_i > mu_j + k sigma_j``: i and j are the classes of largest mean probability
    over members, mu and sigma its mean and spread. `k` is given, or chosen on held-out data so that the risk among kept
    samples meets a target.

    Parameters
    ----------
    estimator : classifier or list of classifiers, optional
        Anything with members: a forest, bagging, voting or calibrated classifier, a pipeline or search that ends in
        one; or a list of classifiers, each a member. Those of a list that are fitted already are used as they are, the
        others are fitted. None: a forest of extremely randomised trees.
    k : float, default 1.0
        Larger abstains more. Not used with `target_risk`.
    target_risk : float, optional
        The largest share of errors allowed among kept samples, for instance 0.01. A part of the data given to `fit` is
        held out and the smallest k is taken for which the risk is below the target with probability `confidence`.
    confidence : float, default 0.95
        Of that promise.
    validation : float, default 0.25
        Share of the data held out for it, stratified where possible. All data are used when no member needs fitting:
        fitted models in a list, or ``FrozenEstimator``.
    error_cost, referral_cost : float, default 1.0 and 0.1
        What a wrong prediction and an abstention cost in `score`, the default of cross-validation and of tuning.
    abstain_label : label, optional
        What `predict` gives where it abstains. None: -1 for numbers (or one less than the smallest class below 0),
        ``"uncertain"`` for strings.
    preset : {"paper", "vge", "mljku"}
        Conventions of the measures; see `vargate.score`.
    random_state : int or RandomState, optional
        Of the split, and of members that have no ``random_state`` of their own.
    n_jobs : int, optional
        Members of a list fitted at once, members that predict at once, and threads that read a forest; None: one, or
        the forest's own ``n_jobs``.

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
    Passes scikit-learn's ``check_estimator``, but for the one check that `expected_failed_checks` names when it
    abstains on a training sample.

    `score` is 1 - cost / `error_cost` with an abstention counted as `referral_cost`, accuracy where none is: a search
    with default scoring finds the k that pays. `score_selective` counts errors and abstentions separately;
    ``AbstainingClassifier.score_selective`` is a ``scoring`` callable, greater is better for each of its figures
    (``risk``, ``cost`` and ``aurc`` are negative), so that ``refit="risk"`` takes the lowest. A forest's members are
    read by blocks, in no more memory than its ``predict_proba`` takes. Inside a pipeline, ``pipeline.predict(X,
    return_uncertainty=True)`` gives the uncertainties too. To keep fitted models of a list fitted under
    cross-validation, which clones, wrap each in ``sklearn.frozen.FrozenEstimator``.

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
        error_cost: float = 1.0,
        referral_cost: float = 0.1,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.k = k
        self.target_risk = target_risk
        self.confidence = confidence
        self.validation = validation
        self.abstain_label = abstain_label
        self.preset = preset
        self.random_state = random_state
        self.error_cost = error_cost
        self.referral_cost = referral_cost
        self.n_jobs = n_jobs

    # Weights may be asked for by set_fit_request here, or by the ensemble's own.
    __metadata_request__fit = {"sample_weight": None}  # noqa: RUF012 - scikit-learn's form

    # --- learning -----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, **fit_params: object) -> AbstainingClassifier:
        """Fits the ensemble, and with `target_risk` chooses k.

        Parameters
        ----------
        X : array_like (N, features)
        y : array_like (N,)
        **fit_params
            Passed to the ensemble's ``fit`` (each member's, for a list); arrays of N values are cut with the data.
        """
        self._check_parameters()
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        given = ExtraTreesClassifier() if self.estimator is None else self.estimator
        check_members(given)
        several = isinstance(given, (list, tuple))
        params = self._routed(given, fit_params)
        prefit = (
            all(is_fitted(model) for model in given)
            if several
            else isinstance(given, FrozenEstimator) and is_fitted(given)
        )
        if prefit:
            check_consistent_length(X, y)
            self.estimator_, held = list(given) if several else given, (X, y)
        elif self.target_risk is None:
            self.estimator_, held = self._fit_members(given, X, y, params), None
        else:
            X, y = _indexable(X), column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            check_classification_targets(y)
            train, rest = self._split(y)
            X_train, y_train = _safe_split(_representative(given), X, y, train)
            held = _safe_split(_representative(given), X, y, rest, train)
            cut = [_check_method_params(X, params=each, indices=train) for each in params]
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

    def _check_parameters(self) -> None:
        if not (is_real(self.k) and float(self.k) > 0 and math.isfinite(self.k)):
            raise ValueError(f"k is {self.k!r}, expected a number > 0")
        costs = self.error_cost, self.referral_cost
        if (
            not all(is_real(cost) and math.isfinite(cost) for cost in costs)
            or not 0 <= costs[1] <= costs[0]
            or not costs[0] > 0
        ):
            raise ValueError(
                f"error_cost is {costs[0]!r} and referral_cost {costs[1]!r}, "
                "expected 0 <= referral_cost <= error_cost > 0"
            )

    def get_metadata_routing(self) -> Any:
        """What scikit-learn routes where: ``fit``'s weights to the ensemble, asked for here or by the ensemble
        itself."""
        router = MetadataRouter(owner=type(self).__name__)
        if self._own_request() is not None:
            return router.add_self_request(self)
        given = ExtraTreesClassifier() if self.estimator is None else self.estimator
        parts = (
            {f"member_{i}": m for i, m in enumerate(given)}
            if isinstance(given, (list, tuple))
            else {"estimator": given}
        )
        for name, part in parts.items():
            router.add(method_mapping=MethodMapping().add(caller="fit", callee="fit"), **{name: part})
        # `score` and `predict` take their parameters themselves, and nothing is passed on from there.
        own = self._get_metadata_request()
        del own.fit.requests["sample_weight"]
        return router.add_self_request(own)

    def _own_request(self) -> bool | str | None:
        asked: bool | str | None = self._get_metadata_request().fit.requests.get("sample_weight")
        return asked

    def _routed(self, given: Any, fit_params: dict[str, Any]) -> list[dict[str, Any]]:
        """Parameters of ``fit`` for the ensemble, or for each member of a list."""
        several = isinstance(given, (list, tuple))
        count, asked = len(given) if several else 1, self._own_request()
        if not _routing_enabled() or not fit_params:
            return [fit_params] * count
        routed = process_routing(self, "fit", **fit_params)
        if asked is not None:
            return [fit_params if asked else {}] * count
        return [routed[part].fit for part in ([f"member_{i}" for i in range(count)] if several else ["estimator"])]

    def _fit_members(self, given: Any, X: Any, y: Any, params: list[dict[str, Any]]) -> Any:
        if isinstance(given, (list, tuple)):
            seeded = [model if is_fitted(model) else self._seeded(model) for model in given]
            work = Parallel(n_jobs=self.n_jobs)
            return work(
                delayed(_fit_one)(m, X, y, p, is_fitted(g)) for m, g, p in zip(seeded, given, params, strict=True)
            )
        model = self._seeded(given).fit(X, y, **params[0])
        if isinstance(getattr(model, "classes_", None), list):
            raise ValueError(
                "y has several outputs, expected one label per sample; "
                "MultilabelAbstainingClassifier takes yes/no labels"
            )
        return model

    def _seeded(self, model: Any) -> Any:
        """A clone whose free random states come from ours."""
        model = clone(model)
        if self.random_state is None:
            return model
        random = check_random_state(self.random_state)
        free = [
            name
            for name, value in sorted(model.get_params().items())
            if value is None and name.split("__")[-1] == "random_state"
        ]
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
        s = self._scores(X, ["pred", "second", "mean", "std"])
        # A label no member knows is an error whatever is predicted: any other class than the predicted one stands for
        # it.
        place = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        labels = np.where(self.classes_[place] == y, place, (s.pred + 1) % len(self.classes_))
        found = select_k(s, labels, target_risk=self.target_risk, confidence=self.confidence, must_meet=False)
        self.selection_, self.k_ = found, float(found.threshold)
        if not found.met:
            warnings.warn(
                f"a risk of {self.target_risk:g} cannot be promised from {found.samples + found.set_aside} held-out "
                f"samples; the best bound is {found.risk_bound:.3g}, at k = {self.k_:g}; {found.reason}",
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

    # --- use ----------------------------------------------------------------------------------------------------------

    def predict_members(self, X: Any) -> Float64:
        """Probabilities of every member (N, M, C), ready for `vargate.score`."""
        check_is_fitted(self)
        return member_probabilities(self.estimator_, X, n_jobs=self.n_jobs)

    def _scores(self, X: Any, measures: str | Sequence[str]) -> Scores:
        """Scores at the gate setting in use; a forest's without holding the predictions of its members."""
        check_is_fitted(self)
        asked = words(measures)
        inner, inputs = (None, X) if isinstance(self.estimator_, list) else innermost(self.estimator_, X)
        if isinstance(inner, ForestClassifier) and not isinstance(inner.classes_, list):
            inputs = inner._validate_X_predict(inputs)
            if not hasattr(inputs, "tocsr") and Forest.reads(inner):
                jobs = effective_n_jobs(inner.n_jobs if self.n_jobs is None else self.n_jobs)
                return self._judged(scores_by_blocks(Forest(inner), inputs, float(self.k_), self.preset, asked, jobs))
        p = self.predict_members(X)
        return self._judged(score(p, k=float(self.k_), preset=self.preset, measures=asked, axes="NMC"))

    def _judged(self, s: Scores) -> Scores:
        if s.n >= _COLLAPSE_ROWS and (s.m == 1 or s.diversity == 0):
            said = "the ensemble has one member" if s.m == 1 else f"the {s.m} members give identical probabilities"
            warnings.warn(
                f"{said} for all {s.n} samples: without spread no sample is abstained on "
                "(members that are copies of one model, or samples they were all trained on)",
                CollapseWarning,
                stacklevel=4,
            )
        return s

    def predict_scores(self, X: Any) -> Scores:
        """`vargate.score` of these samples, at the gate setting in use."""
        return self._scores(X, "all")

    def predict(self, X: Any, return_uncertainty: bool | str | Sequence[str] = False) -> Any:
        """Labels; where the model abstains, ``abstain_label_``.

        Integer labels stay integers, and bools become 0 and 1 where one is abstained on. Where the label does not fit
        the type of the classes (an ``"uncertain"`` among integers), the result is of type object.

        Parameters
        ----------
        X : array_like (N, features)
        return_uncertainty : bool, str or sequence of str
            Give (labels, uncertainties) as `predict_uncertainty` has them, by these measures, or by ``gmu`` for True.
            Reaches through a pipeline: ``pipeline.predict(X, return_uncertainty=True)``.
        """
        measure = "gmu" if return_uncertainty is True else return_uncertainty or None
        check_is_fitted(self)
        if len(self.classes_) == 1:
            count = len(self.predict_members(X))
            labels = np.repeat(self.classes_, count)
            return labels if measure is None else (labels, np.zeros(count))
        s = self._scores(X, ["decision", *words(measure or [])])
        labels = self._labels(s.decision[:, 0])
        return labels if measure is None else (labels, _uncertainties(s, measure))

    def _labels(self, decision: Array) -> Array:
        if not bool(np.any(decision < 0)):
            return self.classes_[decision]
        out = self.classes_[np.maximum(decision, 0)].astype(self._dtype())
        out[decision < 0] = self.abstain_label_
        return out

    def _dtype(self) -> np.dtype[Any]:
        label = np.asarray(self.abstain_label_)
        both = self.classes_.dtype.kind + label.dtype.kind
        if both[0] == "b" and both[1] in "iu":
            return np.dtype(np.int64)
        if all(kind in "iu" for kind in both):
            return np.dtype(np.promote_types(self.classes_.dtype, np.int8 if -128 <= int(label) < 128 else np.int64))
        if both in ("UU", "fi", "ff", "fu"):
            return np.dtype(np.promote_types(self.classes_.dtype, label.dtype))
        return np.dtype(object)

    def predict_proba(self, X: Any) -> Float64:
        """Mean over members of the class probabilities (N, C)."""
        check_is_fitted(self)
        if len(self.classes_) == 1:
            return np.ones((len(self.predict_members(X)), 1))
        return self._scores(X, "mean").mean

    def predict_uncertainty(self, X: Any, measure: str | Sequence[str] = "gmu") -> Float64:
        """One uncertainty per sample, or one for each of several measures.

        Parameters
        ----------
        X : array_like (N, features)
        measure : str or sequence of str
            A measure of `vargate.score`: ``"gmu"`` (margin, 0 certain to 1 uncertain), ``"tu"``, ``"eu"``, ``"epkl"``,
            or gated by ``k_``: ``"gtu"``, ``"geu"``, ... (``"gtu@1"`` where ``k_`` is 1).
            Several are a list, or text with commas: ``"tu,eu"``.

        Returns
        -------
        ndarray (N,) float64, or (N, several)
        """
        check_is_fitted(self)
        if len(self.classes_) == 1:
            return np.zeros(len(self.predict_members(X)))
        return _uncertainties(self._scores(X, measure), measure)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """1 - cost / `error_cost`: a wrong prediction costs `error_cost`, an abstention `referral_cost`. Accuracy where
        none is abstained.

        The default of ``cross_val_score`` and of searches, which thus find settings that abstain where it pays.
        """
        wrong, kept = self._outcomes(X, y)[:2]
        cost = np.where(kept, np.where(wrong, float(self.error_cost), 0.0), float(self.referral_cost))
        return 1 - float(np.average(cost, weights=sample_weight)) / float(self.error_cost)

    def _outcomes(self, X: Any, y: Any) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], Float64]:
        """Which samples are predicted wrongly, which are kept, and their gmu."""
        check_is_fitted(self)
        truth = np.asarray(y)
        if len(self.classes_) == 1:
            count = len(self.predict_members(X))
            return self.classes_[0] != truth, np.ones(count, bool), np.zeros(count)
        s = self._scores(X, ["decision", "pred", "gmu"])
        check_consistent_length(truth, s.pred)
        return self.classes_[s.pred] != truth, s.decision[:, 0] >= 0, s.gmu

    def _selective(self, X: Any, y: Any) -> dict[str, float]:
        """Figures of abstention, also as ``cross_validate(..., scoring=AbstainingClassifier.score_selective)``.

        Returns
        -------
        dict
            ``coverage`` (share kept), ``accuracy`` and ``risk`` (on the kept; NaN when none), ``accuracy_all`` (without
            abstaining), ``errors_caught`` (share of errors abstained on; NaN when there are none), ``cost`` (mean, see
            `score`), ``aurc`` and ``error_auroc`` (of ``gmu``).
        """
        wrong, kept, gmu = self._outcomes(X, y)
        n = len(wrong)
        ranking = _parts.rank("gmu", gmu, wrong.astype(np.uint8))
        row = _parts.rule_counts(n, int((~wrong).sum()), int(kept.sum()), int((kept & wrong).sum()))
        cost = float(self.error_cost) * row["kept_errors"] + float(self.referral_cost) * row["abstained"]
        return {
            "coverage": row["coverage"],
            "accuracy": row["accuracy"],
            "risk": 1 - row["accuracy"],
            "accuracy_all": float(np.mean(~wrong)) if n else float("nan"),
            "errors_caught": row["abstained_errors"] / wrong.sum() if wrong.any() else float("nan"),
            "cost": cost / n if n else float("nan"),
            "aurc": ranking["aurc"],
            "error_auroc": ranking["error_auroc"],
        }

    score_selective = _ScorerOrMethod()

    # --- scikit-learn's interface -------------------------------------------------------------------------------------

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
    """The one check of scikit-learn's ``check_estimator`` that abstaining contradicts, and why; for its
    ``expected_failed_checks``.

    Scikit-learn expects ``predict`` to be the class of largest ``predict_proba`` for every training sample. For one
    that is abstained on it is not. Models that abstain on none of the training samples pass this check too.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.utils.estimator_checks import check_estimator
    >>> model = AbstainingClassifier(RandomForestClassifier(9, random_state=0))
    >>> found = check_estimator(model, expected_failed_checks=expected_failed_checks(model), on_skip=None)
    >>> failed = {one["check_name"] for one in found if one["status"] == "xfail"}
    >>> sorted({one["status"] for one in found} - {"skipped"}), sorted(failed)
    (['passed', 'xfail'], ['check_classifiers_train'])
    """
    if not isinstance(estimator, AbstainingClassifier):
        return {}
    return {
        "check_classifiers_train": "predict gives the abstain label where the largest of predict_proba is not certain"
    }


def _indexable(X: Any) -> Any:
    """Rows can be taken from it."""
    if hasattr(X, "tocsr"):
        return X.tocsr()
    tables = hasattr(X, "iloc") or hasattr(X, "columns")  # pandas; polars and others
    return X if tables or isinstance(X, list) else np.asarray(X)


def _representative(estimator: Any) -> Any:
    if isinstance(estimator, (list, tuple)):
        return estimator[0] if estimator else None
    return estimator


def _classes(estimator: Any) -> Array:
    return union(estimator) if isinstance(estimator, list) else np.asarray(estimator.classes_)


def __getattr__(name: str) -> Any:
    """`ConformalClassifier` derives from the class above: its module is loaded at first use, so that either of the two
    can be imported first (unpickling a classifier imports the module of its class)."""
    if name in ("ConformalClassifier", "MultilabelAbstainingClassifier"):
        from . import _sklearn_multilabel, _sklearn_sets

        return getattr(_sklearn_sets if name[0] == "C" else _sklearn_multilabel, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
