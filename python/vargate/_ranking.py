"""Figures of any values against any marks: calibration error, ranking, AUROC. No scores of ours are needed."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import POINTER, byref, c_double, cast
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import as_labels, as_marks, whole
from ._tally import points
from .evaluate import Interval, Ranking, _ends

__all__ = ["AurocComparison", "auroc", "compare_auroc", "ece", "rank"]

_RANKING = ("aurc", "eaurc", "augrc", "error_auroc", "error_aupr")


def ece(p: Any, labels: Any, *, bins: int = 15) -> float:
    """Expected calibration error of probabilities, alone: what `evaluate` gives as ``ece``, without the rest.

    Parameters
    ----------
    p : array_like (N, C)
        Probabilities, of a network or of an ensemble's mean. float32 and float64 in C order are taken without a copy.
    labels : array_like (N,) of int
    bins
        Equal-width bins.

    Examples
    --------
    >>> import vargate
    >>> vargate.ece([[0.75, 0.25], [0.5, 0.5]], [0, 0])
    0.375
    """
    values = np.asarray(p)
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    values = np.ascontiguousarray(values)
    if values.ndim != 2:
        raise ValueError(f"p has shape {values.shape}, expected (N, C): the mean over members of an ensemble")
    truth = as_labels(labels, (len(values), 1, values.shape[1]))
    bins = whole(bins, "bins", 1, 10000)
    found, dtype = c_double(), 0 if values.dtype == np.float32 else 1
    data, n, c = values.ctypes.data, values.shape[0], values.shape[1]
    _native.check(_native.lib.vg_calibration_error(byref(found), None, data, dtype, truth.ctypes.data, n, c, bins))
    return found.value


def rank(
    uncertainty: Any,
    errors: Any,
    *,
    certainty: bool = False,
    coverages: Sequence[float] = (0.8, 0.9, 0.95),
    risks: Sequence[float] = (0.01, 0.05),
) -> Ranking:
    """How well any uncertainties separate errors from correct predictions: AURC, AUROC and the rest of `Ranking`.

    Parameters
    ----------
    uncertainty : array_like (N,)
        Larger means less certain; the other way round with `certainty`.
    errors : array_like (N,) of bool
        Which predictions were wrong.
    coverages, risks
        As in `evaluate`.

    Examples
    --------
    >>> import vargate
    >>> vargate.rank([0.1, 0.2, 0.9], [False, False, True]).error_auroc
    1.0
    """
    values = np.ascontiguousarray(uncertainty, dtype=np.float64)
    marks = as_marks(errors, "errors")
    if values.ndim != 1 or values.shape != marks.shape:
        raise ValueError(f"uncertainty has shape {values.shape} and errors {marks.shape}, expected the same (N,)")
    c_coverages, c_risks = _native.doubles(points(coverages, "coverages")), _native.doubles(points(risks, "risks"))
    o = _native.EvaluateOptions(_native.size(_native.EvaluateOptions))
    o.coverages, o.coverage_count = cast(c_coverages, POINTER(c_double)), len(c_coverages)
    o.risks, o.risk_count = cast(c_risks, POINTER(c_double)), len(c_risks)
    measure = _native.Measure(b"uncertainty", values.ctypes.data, 1, certainty)
    found = _native.Ranking()
    _native.check(_native.lib.vg_rank(byref(found), byref(measure), marks.ctypes.data, len(values), byref(o)))
    return Ranking(
        **{name: getattr(found, name).value for name in _RANKING},
        risk_at_coverage={_native.k_name(v): found.risk_at[i].value for i, v in enumerate(c_coverages)},
        coverage_at_risk={_native.k_name(v): found.coverage_at[i].value for i, v in enumerate(c_risks)},
    )


@dataclass(frozen=True)
class AurocComparison:
    """Two measures on the same rows: their areas under the ROC curve, the difference first - second, each with its
    interval."""

    first: float
    second: float
    difference: float
    p_value: float
    intervals: dict[str, Interval]


def _marked(values: Any, positive: Any, name: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    scores, marks = np.ascontiguousarray(values, dtype=np.float64), as_marks(positive, "positive")
    if scores.ndim not in (1, 2) or scores.shape != marks.shape:
        raise ValueError(
            f"{name} has shape {scores.shape} and positive {marks.shape}, expected the same (N,) or (N, C)"
        )
    return scores, marks


def auroc(
    values: Any, positive: Any, *, certainty: bool = False, confidence: float = 0.95
) -> tuple[float, float, float]:
    """Area under the ROC curve with its DeLong interval: ``(value, low, high)``.

    Parameters
    ----------
    values : array_like (N,) or (N, C)
        Scores that should be large where `positive` (small with `certainty`). With two axes the C values of a row
        belong to one sample, which is the unit of the interval (multilabel).
    positive : array_like of bool
        Errors, or out-of-distribution samples.

    Examples
    --------
    >>> import vargate
    >>> vargate.auroc([0.1, 0.4, 0.35, 0.8], [False, False, True, True])[0]
    0.75
    """
    scores, marks = _marked(values, positive, "values")
    measure = _native.Measure(b"values", scores.ctypes.data, 1, certainty)
    options = _native.AurocOptions(
        _native.size(_native.AurocOptions), confidence, scores.shape[1] if scores.ndim == 2 else 1
    )
    found = _native.Estimate()
    _native.check(_native.lib.vg_auroc(byref(found), byref(measure), marks.ctypes.data, scores.size, byref(options)))
    return found.value, found.low, found.high


def compare_auroc(
    first: Any, second: Any, positive: Any, *, certainty: bool = False, confidence: float = 0.95
) -> AurocComparison:
    """Whether two scores of the same rows differ in AUROC: DeLong's paired test; arguments as in `auroc`.

    Examples
    --------
    >>> import vargate
    >>> vargate.compare_auroc([1, 2, 3, 4], [1, 3, 2, 4], [False, False, True, True]).difference
    0.25
    """
    sides = [_marked(first, positive, "first"), _marked(second, positive, "second")]
    measures = [_native.Measure(b"values", scores.ctypes.data, 1, certainty) for scores, _ in sides]
    scores, marks = sides[0]
    options = _native.AurocOptions(
        _native.size(_native.AurocOptions), confidence, scores.shape[1] if scores.ndim == 2 else 1
    )
    found = _native.AurocComparison()
    a, b = byref(measures[0]), byref(measures[1])
    _native.check(_native.lib.vg_auroc_compare(byref(found), a, b, marks.ctypes.data, scores.size, byref(options)))
    names = ("first", "second", "difference")
    return AurocComparison(
        **{n: getattr(found, n).value for n in names}, p_value=found.p_value, intervals=_ends(found, names)
    )
