"""`ConformalClassifier`: a scikit-learn classifier whose `predict_set` promises a coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from .sets import By, Conformal, PredictionSets, Score
from .sklearn import AbstainingClassifier

__all__ = ["ConformalClassifier"]


class ConformalClassifier(AbstainingClassifier):
    """Predicts the most probable class, and sets of classes that hold the label with probability 1 - alpha or more.

    A part of the data given to `fit` is held out; the members are fitted on the rest, and thresholds are calibrated on
    the part held out.

    Parameters
    ----------
    estimator : classifier or list of classifiers, optional
        As of `AbstainingClassifier`.
    alpha : float or sequence of float
        Shares of samples whose label may be missed.
    nonconformity : {"lac", "aps", "raps", "saps", "margin", "topk", "snr"}
        `score` of `vargate.Conformal`.
    by, gated, never_empty
        Of `vargate.Conformal`; `by` is ``"class"``, ``"top"`` or None.
    validation : float, default 0.25
        Share of the data held out. All data calibrate when no member needs fitting: fitted models in a list, or
        ``FrozenEstimator``.
    random_state, n_jobs
        As of `AbstainingClassifier`; an integer also seeds the draws of randomised scores.

    Attributes
    ----------
    estimator_, classes_, n_features_in_
    conformal_ : vargate.Conformal or None
        The thresholds; None where there is one class alone.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from vargate.sklearn import ConformalClassifier
    >>> X, X_new, y, y_new = train_test_split(*load_digits(return_X_y=True), random_state=0)
    >>> model = ConformalClassifier(alpha=0.05, random_state=0).fit(X, y)
    >>> held = model.predict_set(X_new)[range(len(y_new)), y_new]
    >>> bool(held.mean() > 0.9)
    True
    """

    # What the base class reads; no parameters here. A target makes it hold samples out.
    k = 1.0
    target_risk = 1.0
    confidence = 0.95
    abstain_label = None
    preset = "paper"
    error_cost = 1.0
    referral_cost = 1.0

    def __init__(
        self,
        estimator: Any = None,
        *,
        alpha: Any = 0.1,
        nonconformity: Score = "lac",
        by: By | None = None,
        gated: float | None = None,
        never_empty: bool = False,
        validation: float = 0.25,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.nonconformity = nonconformity
        self.by = by
        self.gated = gated
        self.never_empty = never_empty
        self.validation = validation
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, **fit_params: object) -> ConformalClassifier:
        """Fits the ensemble on a part of the data, and calibrates on the rest."""
        self.conformal_: Conformal | None = None
        super().fit(X, y, **fit_params)
        return self

    def _choose(self, X: Any, y: Any) -> None:
        known = np.isin(y, self.classes_)
        place = np.searchsorted(self.classes_, np.asarray(y)[known])
        seed = self.random_state if isinstance(self.random_state, (int, np.integer)) else 1
        made = Conformal(
            alpha=self.alpha,
            score=self.nonconformity,
            by=self.by,
            gated=self.gated,
            never_empty=self.never_empty,
            seed=int(seed),
        )
        # A label that no member has seen cannot be in a set: the sample is left out, and its class is not promised.
        self.conformal_ = made.fit(self.predict_members(X)[known], place)

    def sets(self, X: Any, y: Any = None) -> PredictionSets:
        """The sets as `vargate.sets` gives them; with labels also their coverage."""
        check_is_fitted(self)
        if self.conformal_ is None:
            raise ValueError("there is one class alone, or nothing was held out: no sets")
        place = None if y is None else np.searchsorted(self.classes_, np.asarray(y))
        return self.conformal_.sets(self.predict_members(X), labels=place)

    def predict_set(self, X: Any, alpha: int = 0) -> npt.NDArray[np.bool_]:
        """Which classes each sample's set holds (N, C), at the alpha of that number."""
        check_is_fitted(self)
        if self.conformal_ is None:
            return np.ones((len(self.predict_members(X)), len(self.classes_)), bool)
        return self.sets(X).mask[:, alpha]

    def predict(self, X: Any, return_uncertainty: bool | str | Sequence[str] = False) -> Any:
        """The most probable class of each sample; with `return_uncertainty` as of `AbstainingClassifier`."""
        check_is_fitted(self)
        labels = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return (labels, super().predict(X, return_uncertainty)[1]) if return_uncertainty else labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of `predict`."""
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
