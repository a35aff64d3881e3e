"""`MultilabelAbstainingClassifier`: an ensemble for each label, which abstains label by label."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples, check_is_fitted

from ._arrays import is_real, reals
from ._options import Preset
from ._score import score
from ._sklearn_members import check_members, member_probabilities
from .decide import Selection, select_threshold
from .evaluate import Evaluation, evaluate
from .scores import Scores

__all__ = ["MultilabelAbstainingClassifier"]

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]


def _fit_label(model: Any, X: Any, y: Int64) -> Any:
    return model.fit(X, y)


def _rows(X: Any, at: npt.NDArray[np.intp]) -> Any:
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, at)


class MultilabelAbstainingClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """An ensemble for each label of a multilabel problem; where its members do not separate yes from no, it abstains.

    Parameters
    ----------
    estimator : classifier, optional
        Cloned and fitted for each label: a forest, bagging, voting or calibrated classifier, or a pipeline that ends in
        one. None: 100 extremely randomised trees.
    k : float or sequence of float, default 1.0
        Of the decision rule, one for all labels or one each: larger abstains more. Not read with `target_risk`.
    target_risk : float or sequence of float, optional
        Errors allowed among the answers to a label; a threshold for each label is then chosen on samples held out, so
        that each promise holds by itself with `confidence`.
    by : str, default "k"
        What is chosen with `target_risk`: ``"k"`` of the rule, or a threshold of a measure (``"gmu"``, ``"tu"``,
        ``"gtu@1"``).
    confidence, validation, random_state, preset
        As of `AbstainingClassifier`.
    n_jobs : int, optional
        Labels fitted at once.

    Attributes
    ----------
    estimators_ : list of fitted classifiers, one per label
    thresholds_ : ndarray (C,)
        The k of each label, or the threshold of the measure `by`.
    selections_ : list of vargate.Selection, or None without a target
    n_labels_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from vargate.sklearn import MultilabelAbstainingClassifier
    >>> X, digit = load_digits(return_X_y=True)
    >>> Y = np.stack([digit % 2, digit > 4, np.isin(digit, (0, 6, 8, 9))], axis=1).astype(int)  # odd, large, has a loop
    >>> model = MultilabelAbstainingClassifier(random_state=0, target_risk=0.05).fit(X[:1200], Y[:1200])
    >>> answers = model.predict(X[1200:])
    >>> answers.shape, sorted(set(answers.ravel().tolist()))
    ((597, 3), [-1, 0, 1])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        k: float | Sequence[float] = 1.0,
        target_risk: float | Sequence[float] | None = None,
        by: str = "k",
        confidence: float = 0.95,
        validation: float = 0.25,
        preset: Preset = "paper",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.k = k
        self.target_risk = target_risk
        self.by = by
        self.confidence = confidence
        self.validation = validation
        self.preset = preset
        self.random_state = random_state
        self.n_jobs = n_jobs

    # --- learning -----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, Y: Any) -> MultilabelAbstainingClassifier:
        """Fits an ensemble for each label, and chooses thresholds where a target risk is given.

        Parameters
        ----------
        X : array_like (N, features)
        Y : array_like (N, C) of 0 and 1
        """
        labels = self._labels(Y, _num_samples(X))
        given = ExtraTreesClassifier(100) if self.estimator is None else self.estimator
        check_members(given)
        count, rows = labels.shape[1], np.arange(len(labels))
        risks = None if self.target_risk is None else self._each(self.target_risk, "target_risk", count)
        ks = self._each(self.k, "k", count)
        held = rows[:0]
        if risks is not None:
            if not is_real(self.validation) or not 0 < self.validation < 1:
                raise ValueError(f"validation is {self.validation!r}, expected a share between 0 and 1")
            rows, held = train_test_split(rows, test_size=self.validation, random_state=self.random_state)
        random = check_random_state(self.random_state)
        models = [self._seeded(given, random) for _ in range(count)]
        inputs = X if risks is None else _rows(X, rows)
        work = Parallel(n_jobs=self.n_jobs)
        self.estimators_ = work(delayed(_fit_label)(m, inputs, labels[rows, c]) for c, m in enumerate(models))
        self.n_labels_ = count
        if hasattr(self.estimators_[0], "n_features_in_"):
            self.n_features_in_ = self.estimators_[0].n_features_in_
        self.selections_: list[Selection] | None = None
        self.thresholds_ = np.array(ks)
        if risks is not None:
            self._choose(_rows(X, held), labels[held], risks)
        return self

    @staticmethod
    def _labels(Y: Any, n: int) -> Int64:
        labels = np.asarray(Y)
        if labels.ndim != 2 or len(labels) != n:
            raise ValueError(f"Y has shape {labels.shape}, expected ({n}, labels) of 0 and 1")
        if labels.dtype.kind not in "biuf" or not bool(np.isin(labels, (0, 1)).all()):
            raise ValueError("Y has values other than 0 and 1, expected one column per label")
        return labels.astype(np.int64)

    @staticmethod
    def _each(value: Any, name: str, count: int) -> tuple[float, ...]:
        """One number for each label."""
        found = reals(value, name)
        if len(found) not in (1, count) or not all(v > 0 for v in found):
            raise ValueError(f"{name} is {value!r}, expected one number above 0, or one for each of {count} labels")
        return found * count if len(found) == 1 else found

    @staticmethod
    def _seeded(given: Any, random: np.random.RandomState) -> Any:
        model = clone(given)
        free = [n for n, v in model.get_params().items() if v is None and n.split("__")[-1] == "random_state"]
        return model.set_params(**{name: int(random.randint(np.iinfo(np.int32).max)) for name in sorted(free)})

    def _choose(self, X: Any, labels: Int64, risks: Sequence[float]) -> None:
        members, chosen = self.predict_members(X), []
        for c, risk in enumerate(risks):
            s = self._label_scores(members, c)
            chosen.append(
                select_threshold(
                    s, labels[:, [c]], by=self.by, target_risk=risk, confidence=self.confidence, must_meet=False
                )
            )
        self.selections_ = chosen
        self.thresholds_ = np.array([found.threshold for found in chosen])
        missed = [c for c, found in enumerate(chosen) if not found.met]
        if missed:
            named = ", ".join(f"{c} (best bound {chosen[c].risk_bound:.3g})" for c in missed)
            warnings.warn(
                f"the risk cannot be promised from {len(labels)} held-out samples for labels {named}", stacklevel=3
            )

    # --- use ----------------------------------------------------------------------------------------------------------

    def predict_members(self, X: Any) -> Float64:
        """The prediction of every member for every label (N, M, C), ready for ``vargate.score(...,
        multilabel=True)``."""
        check_is_fitted(self, "estimators_")
        columns = []
        for model in self.estimators_:
            p, known = member_probabilities(model, X), list(model.classes_)
            columns.append(p[:, :, known.index(1)] if 1 in known else np.zeros(p.shape[:2]))
        return np.stack(columns, axis=2)

    def _label_scores(self, members: Float64, c: int) -> Scores:
        k = 1.0 if self.selections_ is None and self.by == "k" else (1.0, 2.0, 3.0)
        return score(np.ascontiguousarray(members[:, :, [c]]), multilabel=True, preset=self.preset, k=k, axes="NMC")

    def predict(self, X: Any) -> Int64:
        """1, 0, or -1 where the label is left open, for every sample and label (N, C)."""
        members = self.predict_members(X)
        rules: Sequence[Any] = list(self.thresholds_) if self.selections_ is None else self.selections_
        decided = [
            self._label_scores(members, c).decide(rule if isinstance(rule, Selection) else float(rule))
            for c, rule in enumerate(rules)
        ]
        return np.concatenate(decided, axis=1).astype(np.int64)

    def predict_proba(self, X: Any) -> Float64:
        """Mean over members of the probability of each label (N, C)."""
        mean: Float64 = self.predict_members(X).mean(axis=1)
        return mean

    def predict_scores(self, X: Any) -> Scores:
        """`vargate.score` of these samples and labels, at the usual gate settings."""
        return score(self.predict_members(X), multilabel=True, preset=self.preset, axes="NMC")

    def predict_uncertainty(self, X: Any, measure: str = "gmu") -> Float64:
        """A measure for every sample and label (N, C)."""
        found: Float64 = self.predict_scores(X)[measure]
        return found

    def evaluate(self, X: Any, Y: Any) -> Evaluation:
        """`vargate.evaluate` of the members on these samples, without the thresholds."""
        return evaluate(self.predict_scores(X), self._labels(Y, _num_samples(X)))

    def score(self, X: Any, Y: Any) -> float:
        """Share of answers that are right, over all samples and labels that are answered; NaN without any."""
        answers = self.predict(X)
        kept = answers >= 0
        right = answers == self._labels(Y, len(answers))
        return float(right[kept].mean()) if kept.any() else float("nan")

    def score_selective(self, X: Any, Y: Any) -> dict[str, Float64]:
        """For each label (C,): ``coverage`` (share answered), ``accuracy`` of the answers (NaN without any) and
        ``accuracy_all`` without abstaining."""
        answers, truth = self.predict(X), self._labels(Y, _num_samples(X))
        kept, right = answers >= 0, answers == truth
        counts = kept.sum(axis=0)
        accuracy = np.divide((right & kept).sum(axis=0), counts, out=np.full(len(counts), np.nan), where=counts > 0)
        plain = (self.predict_proba(X) > 0.5) == truth
        return {"coverage": kept.mean(axis=0), "accuracy": accuracy, "accuracy_all": plain.mean(axis=0)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags
