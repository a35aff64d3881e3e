"""A metric for training and validation loops: fed by batches, figures at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from .. import _parts
from .._arrays import whole
from .._options import Axes, Form, Gates, LogBase, Pairs, Preset, Sigma, Temperature, words
from ..scorer import Scorer

__all__ = ["UncertaintyMetric"]


class UncertaintyMetric:
    """Accuracy, calibration, diversity and error detection of an ensemble's predictions over an epoch.

    Parameters
    ----------
    k : float or sequence of float
        Gate settings.
    logits : bool, default True
        Whether `update` gets logits or probabilities.
    measures : sequence of str
        Whose means, and with labels AURC and error AUROC, are reported; 8 bytes a sample each.
    bins : int
        Of the calibration error.
    temperature, preset, axes, multilabel, threads, multilabel_form, pairs, sigma, log_base, normalise, renormalise,
    floor, eps
        As in `vargate.score`.

    Examples
    --------
    >>> import torch
    >>> metric = UncertaintyMetric()
    >>> _ = torch.manual_seed(0)
    >>> for _ in range(4):
    ...     z = torch.randn(32, 10, 5)                   # logits of a batch: samples, members, classes
    ...     metric.update(z, z.mean(1).argmax(1))
    >>> figures = metric.compute()
    >>> figures["n"], figures["accuracy"] > 0.7, sorted(figures)[:2]
    (128, True, ['accuracy', 'accuracy@1'])
    """

    def __init__(
        self,
        *,
        k: Gates = (1.0, 2.0, 3.0),
        logits: bool = True,
        measures: str | Sequence[str] = ("tu", "eu", "gmu"),
        bins: int = 15,
        temperature: Temperature = None,
        preset: Preset = "paper",
        axes: Axes | None = None,
        multilabel: bool = False,
        threads: int | None = None,
        multilabel_form: Form = "continuous",
        pairs: Pairs | None = None,
        sigma: Sigma | None = None,
        log_base: LogBase | None = None,
        normalise: bool | None = None,
        renormalise: bool = False,
        floor: float | None = None,
        eps: float | None = None,
    ) -> None:
        self._options: dict[str, Any] = {
            "k": k,
            "logits": logits,
            "temperature": temperature,
            "preset": preset,
            "axes": axes,
            "multilabel": multilabel,
            "threads": threads,
            "multilabel_form": multilabel_form,
            "pairs": pairs,
            "sigma": sigma,
            "log_base": log_base,
            "normalise": normalise,
            "renormalise": renormalise,
            "floor": floor,
            "eps": eps,
        }
        self._measures = tuple(words(measures))
        self._bins = whole(bins, "bins", 1, 10000)
        self.reset()

    def reset(self) -> None:
        """Forgets everything."""
        needed = {"tu", "gtu", "mean", "std", "pred", "second", *(name.partition("@")[0] for name in self._measures)}
        self._scorer = Scorer(measures=sorted(needed), **self._options)
        self._sums: list[_parts.Sums] = []
        self._errors: list[Any] = []
        self._columns: dict[str, list[Any]] = {name: [] for name in self._measures}
        self._labelled: bool | None = None

    def update(self, predictions: Tensor | Any, labels: Tensor | Any = None) -> None:
        """One batch: predictions (N, M, C), or (N, C) for one member, on any device; labels (N,) in all batches or in
        none."""
        p = predictions.detach().cpu() if isinstance(predictions, Tensor) else predictions
        y = labels.detach().cpu().numpy() if isinstance(labels, Tensor) else labels
        if self._labelled not in (None, y is not None):
            raise ValueError("labels were given for some batches and not for others")
        scores = self._scorer.feed(p, labels=y)
        self._labelled = y is not None
        sums, rows = _parts.part(scores, math.nan, math.nan, self._bins)
        self._sums.append(sums)
        self._errors.append(rows.errors)
        for name, values in self._columns.items():
            column = scores[name]
            values.append(
                column.reshape(len(column), -1)[:, 0]
                if column.ndim > 1 and not scores.multilabel
                else column.reshape(-1)
            )

    def compute(self) -> dict[str, float]:
        """Figures of all batches since `reset`.

        Returns
        -------
        dict
            ``n``, ``diversity``, ``k_sensitivity``, the mean of each measure under its name; with labels ``accuracy``,
            ``f1_macro``, ``ece``, ``mce``, ``nll``, ``brier``, ``coverage@K`` and ``accuracy@K`` of the decision rule,
            ``aurc/NAME`` and ``auroc/NAME``.
        """
        if not self._sums:
            raise ValueError("nothing was fed: call update first")
        total = _parts.overall(_parts.add(self._sums), bool(self._labelled))
        out: dict[str, float] = {
            "n": total["n"],
            "diversity": self._scorer.diversity,
            "k_sensitivity": self._scorer.k_sensitivity,
        }
        columns = {name: np.concatenate(values) for name, values in self._columns.items()}
        out |= {name: float(values.mean()) if len(values) else math.nan for name, values in columns.items()}
        if self._labelled:
            out |= {name: total[name] for name in ("accuracy", "f1_macro", "ece", "mce", "nll", "brier")}
            for k, row in total["rule"].items():
                out |= {f"coverage@{k}": row["coverage"], f"accuracy@{k}": row["accuracy"]}
            errors = np.concatenate(self._errors)
            for name, values in columns.items():
                ranking = _parts.rank(name, values, errors)
                out |= {f"aurc/{name}": ranking["aurc"], f"auroc/{name}": ranking["error_auroc"]}
        return out

    def __call__(self, predictions: Tensor | Any, labels: Tensor | Any = None) -> None:
        self.update(predictions, labels)
