"""Figures over a set that is scored by blocks: what each block contributes, and how contributions become one machine's
figures.

A block gives `Sums` (a few numbers: counts, sums of the means the library reports) and `Rows` (an error mark and a
margin ratio a row). Sums add up exactly (`math.fsum`); figures that need an order over all samples, AURC, AUROC and the
choice of k, are the library's on the rows put side by side. The library computes each block's part; here is only
bookkeeping.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_double, cast, sizeof, string_at
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import Array
from ._summary import Spread
from ._tally import rows_of, tally
from .decide import Selection, Target, options_of, selection
from .evaluate import ClassFigures, ReliabilityBin
from .scores import Scores

__all__ = ["COVERAGES", "RISKS", "Rows", "Sums", "add", "overall", "part", "rank", "rule_counts", "select", "tables"]

Float64 = npt.NDArray[np.float64]
COVERAGES = (0.8, 0.9, 0.95)
RISKS = (0.01, 0.05)


@dataclass(frozen=True)
class Sums:
    """What a block, or several, add to figures that are means. `rows` is samples, or (sample, label) pairs in
    multilabel mode."""

    n: int
    rows: int
    m: int
    c: int
    variance: float  # over members, mean over classes, summed over samples
    spread: Spread  # likewise summed over samples
    tu: float  # summed over rows, in nats; NaN where not computed
    gtu: float  # at the largest k
    correct: int
    nll: float
    brier: float
    # (B, 5): count, and sums of confidence, correctness, confidence^2, confidence where right, of each reliability bin
    bins: Float64
    classes: npt.NDArray[np.int64]  # (C, 3): support, predicted, true positive
    rule: npt.NDArray[np.int64]  # (K, 2): kept, errors among them
    k: tuple[float, ...]
    # What only a full part has: signed gaps by class and bin (classwise ECE), by label and bin (multilabel), true
    # against predicted classes, samples whose labels are all right.
    class_gap: Float64 | None = None
    label_gap: Float64 | None = None
    confusion: npt.NDArray[np.int64] | None = None
    subset: int = 0


@dataclass(frozen=True)
class Rows:
    """An error mark (uint8) and a margin ratio for each row; empty without labels."""

    errors: npt.NDArray[np.uint8]
    ratio: Float64


def _zeros(scores: Scores, bins: int) -> dict[str, Any]:
    return {
        "correct": 0,
        "nll": 0.0,
        "brier": 0.0,
        "bins": np.zeros((bins, 5)),
        "classes": np.zeros((scores.c, 3), np.int64),
        "rule": np.zeros((len(scores.k), 2), np.int64),
    }


def _gaps(held: Any, shape: tuple[int, int]) -> Float64 | None:
    return np.ctypeslib.as_array(held, shape).copy() if held else None


def _tally(scores: Scores, labels: npt.NDArray[np.int64], bins: int, full: bool) -> tuple[dict[str, Any], Rows]:
    lib, rows = _native.lib, scores.n * (scores.c if scores.multilabel else 1)
    k = _native.doubles(tuple(scores.k))
    how = _native.EvaluateOptions(struct_size=sizeof(_native.EvaluateOptions), seed=1, confidence=0.95, threads=1)
    how.k, how.k_count = cast(k, POINTER(c_double)), len(k)
    out = POINTER(_native.Evaluation)()
    more: dict[str, Any] = {}
    with tally(scores, labels, bins=bins, confusion=-1 if full else 0) as counted:
        held = rows_of(counted)
        errors = np.frombuffer(string_at(held.errors, rows), np.uint8)
        ratio = np.frombuffer(string_at(held.ratio, 8 * rows), np.float64)
        if full:
            shape = scores.c, bins
            more = {"class_gap": _gaps(held.class_gaps, shape), "label_gap": _gaps(held.label_gaps, shape)}
        _native.check(lib.vg_evaluate(byref(out), counted, None, 0, byref(how)))
    try:
        e = out.contents
        if full and e.confusion:
            more["confusion"] = np.ctypeslib.as_array(e.confusion, (scores.c, scores.c)).astype(np.int64)
        if full and scores.multilabel:
            more["subset"] = round(e.subset_accuracy.value * scores.n)
        found: dict[str, Any] = {
            "correct": rows - int(np.count_nonzero(errors)),
            "nll": e.nll.value * rows,
            "brier": e.brier.value * rows,
            "bins": np.array([_bin(e.reliability[b]) for b in range(bins)]),
            "classes": np.array([_class(e.per_class[c]) for c in range(scores.c)], np.int64),
            "rule": np.array([(e.rule[i].kept, e.rule[i].kept_errors) for i in range(len(k))], np.int64),
        }
    finally:
        lib.vg_evaluation_free(out)
    return found | more, Rows(errors, ratio)


def _bin(b: _native.ReliabilityBin) -> tuple[float, ...]:
    means = (b.confidence, b.accuracy, b.square, b.hit)
    return (float(b.count), *(mean * b.count for mean in means)) if b.count else (0.0,) * 5


def _check(bins: npt.NDArray[np.float64]) -> dict[str, float]:
    """What the ECE of the bins' sums says about calibration: the library's test, rows independent."""
    rows = (_native.ReliabilityBin * len(bins))()
    for row, (count, *sums) in zip(rows, bins, strict=True):
        row.count = int(count)
        row.confidence, row.accuracy, row.square, row.hit = (value / count if count else math.nan for value in sums)
    found = _native.CalibrationCheck()
    _native.check(_native.lib.vg_calibration_check_bins(byref(found), rows, len(bins)))
    return {"ece_expected": found.expected, "ece_p_value": found.p_value, "ece_debiased": found.debiased}


def _class(c: _native.ClassRow) -> tuple[int, int, int]:
    return c.support, c.predicted, c.true_positive


def part(scores: Scores, mean_tu: float, mean_gtu: float, bins: int = 15, full: bool = False) -> tuple[Sums, Rows]:
    """The part of one block. With labels the block must have `mean` and `std`."""
    found, rows = _zeros(scores, bins), Rows(np.empty(0, np.uint8), np.empty(0))
    count = scores.n * (scores.c if scores.multilabel else 1)
    if scores.labels is not None and scores.n:
        found, rows = _tally(scores, scores.labels, bins, full)
    weight = scores.n
    sums = Sums(
        n=scores.n,
        rows=count,
        m=scores.m,
        c=scores.c,
        variance=scores.diversity * weight if weight else 0.0,
        spread=Spread(*(x * weight for x in scores._spread)) if weight else Spread(0.0, 0.0, 0.0, 0.0),
        tu=mean_tu * weight if weight else 0.0,
        gtu=mean_gtu * weight if weight else 0.0,
        k=tuple(scores.k),
        **found,
    )
    return sums, rows


def add(parts: Sequence[Sums]) -> Sums:
    """Parts of several blocks as one."""
    first = parts[0]
    for other in parts:
        if (other.m, other.c) != (first.m, first.c):
            raise ValueError(f"a block has {other.m} members and {other.c} classes, expected {first.m} and {first.c}")

    def real(value: Callable[[Sums], float]) -> float:
        return math.fsum(value(p) for p in parts)

    stacked = np.stack([p.bins for p in parts])
    return Sums(
        n=sum(p.n for p in parts),
        rows=sum(p.rows for p in parts),
        m=first.m,
        c=first.c,
        variance=real(lambda p: p.variance),
        spread=Spread(*(math.fsum(column) for column in zip(*(p.spread for p in parts), strict=True))),
        tu=real(lambda p: p.tu),
        gtu=real(lambda p: p.gtu),
        correct=sum(p.correct for p in parts),
        nll=real(lambda p: p.nll),
        brier=real(lambda p: p.brier),
        bins=np.array(
            [[math.fsum(stacked[:, b, j]) for j in range(stacked.shape[2])] for b in range(stacked.shape[1])]
        ),
        classes=np.sum([p.classes for p in parts], axis=0),
        rule=np.sum([p.rule for p in parts], axis=0),
        k=first.k,
        subset=sum(p.subset for p in parts),
        **{name: _added([getattr(p, name) for p in parts if p.n]) for name in ("class_gap", "label_gap", "confusion")},
    )


def _added(tables: list[Any]) -> Any:
    """Tables of several blocks as one; None where a block has none."""
    return None if not tables or any(table is None for table in tables) else np.sum(tables, axis=0)


def _ratio(a: float, b: float) -> float:
    return a / b if b else math.nan


def overall(s: Sums, labelled: bool) -> dict[str, Any]:
    """Figures of the whole set from its sums, keyed as in ``vargate evaluate --json``; undefined ones are NaN."""
    out: dict[str, Any] = {
        "n": s.n,
        "diversity": _ratio(s.variance, s.n),
        "k_sensitivity": 1 - s.gtu / s.tu if s.tu else math.nan,
    }
    out["spread"] = Spread(*(_ratio(x, s.n) for x in s.spread))
    if not labelled:
        return out
    count, gap = s.bins[:, 0], np.abs(s.bins[:, 1] - s.bins[:, 2])
    support, predicted, hit = s.classes.T
    seen = support + predicted > 0
    if s.rows and len(support):
        everywhere = np.ones_like(seen) if s.rows != s.n else seen
        f1 = np.divide(2.0 * hit, support + predicted, out=np.zeros(len(hit)), where=seen)[everywhere]
        out["f1_macro"] = math.fsum(f1) / len(f1)
    else:
        out["f1_macro"] = math.nan
    out |= {
        "accuracy": _ratio(s.correct, s.rows),
        "ece": _ratio(math.fsum(gap), s.rows),
        "mce": float((gap[count > 0] / count[count > 0]).max()) if s.rows else math.nan,
        "nll": _ratio(s.nll, s.rows),
        "brier": _ratio(s.brier, s.rows),
        "ece_expected": math.nan,
        "ece_p_value": math.nan,
        "ece_debiased": math.nan,
        "rule": {
            _native.k_name(k): rule_counts(s.rows, s.correct, int(a), int(b))
            for k, (a, b) in zip(s.k, s.rule, strict=True)
        },
    }
    if s.rows and s.rows == s.n:  # rows of one sample are not independent, and sums of bins do not tell how
        out |= _check(s.bins)
    return out


def tables(s: Sums) -> dict[str, Any]:
    """Figures of a set of full parts by class and bin: those of `vargate.Evaluation` under their names."""
    multilabel, count = s.rows != s.n, s.bins[:, 0]
    edges = np.arange(len(count) + 1) / len(count)
    out: dict[str, Any] = {"errors": s.rows - s.correct, "confusion": s.confusion}
    out["per_class"] = [
        ClassFigures(a, b, hit, hit / b if b else 0.0, hit / a if a else 0.0, 2.0 * hit / (a + b) if a + b else 0.0)
        for a, b, hit in s.classes.tolist()
    ]
    out["reliability"] = [
        ReliabilityBin(edges[i], edges[i + 1], int(n), _ratio(sure, n), _ratio(right, n))
        for i, (n, sure, right, *_) in enumerate(s.bins.tolist())
    ]
    gap = np.abs(s.bins[:, 1] - s.bins[:, 2])
    out["mce_rows"] = int(count[np.argmax(np.divide(gap, count, out=np.zeros(len(count)), where=count > 0))])
    if s.class_gap is not None:
        out["ece_classwise"] = math.fsum(np.abs(s.class_gap).reshape(-1)) / (s.n * s.c)
    if multilabel:
        support, predicted, hit = (int(column.sum()) for column in s.classes.T)
        out["f1_micro"] = 2.0 * hit / (support + predicted) if support + predicted else 0.0
        out["subset_accuracy"] = s.subset / s.n
        if s.label_gap is not None:
            out["ece_macro"] = math.fsum(np.abs(s.label_gap).reshape(-1)) / (s.n * s.c)
    return out


def rule_counts(rows: int, correct: int, kept: int, kept_errors: int) -> dict[str, float]:
    """A row of the decision rule's table."""
    abstained, caught = rows - kept, rows - correct - kept_errors
    return {
        "coverage": _ratio(kept, rows),
        "accuracy": _ratio(kept - kept_errors, kept),
        "kept": kept,
        "kept_errors": kept_errors,
        "abstained": abstained,
        "abstained_errors": caught,
        "abstained_correct": abstained - caught,
    }


# --- what needs every row ---------------------------------------------------------------------------------------------


def rank(name: str, values: Array, errors: npt.NDArray[np.uint8]) -> dict[str, Any]:
    """Ranking figures of one measure over all rows: ``aurc``, ``error_auroc``, ..., keyed as in ``vargate evaluate
    --json``."""
    flat = np.ascontiguousarray(values, np.float64).reshape(-1)
    marks = np.ascontiguousarray(errors, np.uint8).reshape(-1)
    if len(flat) != len(marks):
        raise ValueError(f"{name} has {len(flat)} values for {len(marks)} error marks")
    measure = _native.Measure(name.encode(), flat.ctypes.data, 1, int(name == "snr"))
    coverages, risks = _native.doubles(COVERAGES), _native.doubles(RISKS)
    how = _native.EvaluateOptions(struct_size=sizeof(_native.EvaluateOptions), seed=1, confidence=0.95, threads=1)
    how.coverages, how.coverage_count = cast(coverages, POINTER(c_double)), len(COVERAGES)
    how.risks, how.risk_count = cast(risks, POINTER(c_double)), len(RISKS)
    ranking = _native.Ranking()
    _native.check(_native.lib.vg_rank(byref(ranking), byref(measure), marks.ctypes.data, len(marks), byref(how)))
    out: dict[str, Any] = {
        key: getattr(ranking, key).value for key in ("aurc", "eaurc", "augrc", "error_auroc", "error_aupr")
    }
    out["risk_at_coverage"] = {f"{c:g}": ranking.risk_at[i].value for i, c in enumerate(COVERAGES)}
    out["coverage_at_risk"] = {f"{r:g}": ranking.coverage_at[i].value for i, r in enumerate(RISKS)}
    return out


def select(
    ratio: Array,
    errors: npt.NDArray[np.uint8],
    target: Target,
    labelled: bool,
    *,
    rows_per_sample: int = 1,
    to_decide: Array | None = None,
) -> Selection:
    """`vargate.select_k` from margin ratios and error marks; a target out of reach is told by ``met``."""
    flat = np.ascontiguousarray(ratio, np.float64).reshape(-1)
    marks = np.ascontiguousarray(errors, np.uint8).reshape(-1)
    options, _points = options_of(target, rows_per_sample)
    if to_decide is not None:
        others = np.ascontiguousarray(to_decide, np.float64).reshape(-1)
        options.unlabelled, options.unlabelled_rows = others.ctypes.data, len(others)
    found = _native.Selection(struct_size=sizeof(_native.Selection))
    _native.check(_native.lib.vg_select_k(byref(found), flat.ctypes.data, marks.ctypes.data, len(flat), byref(options)))
    return selection(found, "k", target.risk, target.coverage, target.confidence, labelled)
