"""Figures over a set that is scored by blocks: what each block contributes, and how contributions become one machine's
figures.

A block gives `Sums` (a few numbers: counts, sums of the means the library reports) and `Rows` (an error mark and a
margin ratio for each row). Sums add up exactly (`math.fsum`); figures that need an order over all samples, AURC, AUROC
and the choice of k, are the library's on the rows put side by side. The library computes each block's part; here is
only bookkeeping.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_double, cast, sizeof, string_at
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import Array
from ._summary import Spread
from ._tally import measure_list, rows_of, tally
from .decide import Selection, Target, options_of, selection
from .scores import Scores

__all__ = [
    "COVERAGES",
    "RISKS",
    "Rows",
    "Sums",
    "add",
    "bin_rows",
    "counted",
    "from_counted",
    "overall",
    "part",
    "rank",
    "rule_counts",
    "select",
    "tables",
]

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
    # against predicted classes, samples whose labels are all right, and what follows.
    class_gap: Float64 | None = None
    label_gap: Float64 | None = None
    confusion: npt.NDArray[np.int64] | None = None
    subset: int = 0
    rule_by: npt.NDArray[np.int64] | None = None  # (K, 2, C): abstained by label, by prediction
    uncertainty: Float64 | None = None  # (C,): of one measure, summed over the rows of each class
    labels: Float64 | None = None  # (C, 3): rows right, NLL and Brier score of each label, summed
    products: Float64 | None = None  # vg_evaluation.bin_products (multilabel)


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


def _full(e: Any, scores: Scores) -> dict[str, Any]:
    """What only a full part has, of the library's evaluation of a block."""
    c, more = scores.c, dict[str, Any]()
    if e.confusion:
        more["confusion"] = np.ctypeslib.as_array(e.confusion, (c, c)).astype(np.int64)
    by = [(e.rule[i].abstained_by_label[:c], e.rule[i].abstained_by_prediction[:c]) for i in range(e.rule_count)]
    more["rule_by"] = np.array(by, np.int64).reshape(e.rule_count, 2, c)
    if e.class_measure < e.measure_count:
        rows = [scores.n if scores.multilabel else e.per_class[i].support for i in range(c)]
        more["uncertainty"] = np.array([n * e.class_figures[i].uncertainty if n else 0.0 for i, n in enumerate(rows)])
    if scores.multilabel:
        rows_of = [e.labels[i] for i in range(e.label_count)]
        more["labels"] = scores.n * np.array([(row.accuracy, row.nll, row.brier) for row in rows_of])
    return more


_JOINT_BINS = 128  # more than these the library does not test together


def _products(scores: Scores, errors: npt.NDArray[np.uint8], bins: int) -> Float64:
    """``vg_evaluation.bin_products``: by sample and bin the gaps summed and the rows counted, then their products."""
    sure = np.maximum(scores.mean, 1 - scores.mean).reshape(-1)
    place = np.minimum(np.searchsorted(np.arange(1, bins + 1) / bins, sure, side="left"), bins - 1)
    place += bins * np.repeat(np.arange(scores.n), scores.c)
    gaps = np.bincount(place, weights=sure - (errors == 0), minlength=scores.n * bins).reshape(-1, bins)
    rows = np.bincount(place, minlength=scores.n * bins).reshape(-1, bins).astype(np.float64)
    tables = (gaps.T @ gaps, gaps.T @ rows, rows.T @ rows, np.count_nonzero(rows, axis=0))
    return np.concatenate([np.asarray(table, np.float64).reshape(-1) for table in tables])


def _tally(
    scores: Scores, labels: npt.NDArray[np.int64], bins: int, full: bool, by: str | None = None
) -> tuple[dict[str, Any], Rows]:
    """`by`: the measure whose mean by class a full part has."""
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
            if scores.multilabel and bins <= _JOINT_BINS:
                more["products"] = _products(scores, errors, bins)
        columns = {by: np.ascontiguousarray(scores[by], np.float64)} if by else {}
        listed = measure_list(columns)
        _native.check(lib.vg_evaluate(byref(out), counted, listed, len(columns), byref(how)))
    try:
        e = out.contents
        more |= _full(e, scores) if full else {}
        if scores.multilabel:
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
    whole = _native.Evaluation(_native.size(_native.Evaluation), bins=len(bins), reliability=bin_rows(bins))
    _native.check(_native.lib.vg_evaluation_finish(byref(whole), None))
    found = whole.calibration
    return {"ece_expected": found.expected, "ece_p_value": found.p_value, "ece_debiased": found.debiased}


def bin_rows(bins: npt.NDArray[np.float64]) -> Any:
    """The library's reliability bins from their sums."""
    rows = (_native.ReliabilityBin * len(bins))()
    for i, (row, (count, *sums)) in enumerate(zip(rows, bins, strict=True)):
        row.low, row.high, row.count = i / len(bins), (i + 1) / len(bins), int(count)
        row.confidence, row.accuracy, row.square, row.hit = (value / count if count else math.nan for value in sums)
    return rows


def _class(c: _native.ClassRow) -> tuple[int, int, int]:
    return c.support, c.predicted, c.true_positive


def part(
    scores: Scores, mean_tu: float, mean_gtu: float, bins: int = 15, full: bool = False, by: str | None = None
) -> tuple[Sums, Rows]:
    """The part of one block. With labels the block must have `mean` and `std`."""
    found, rows = _zeros(scores, bins), Rows(np.empty(0, np.uint8), np.empty(0))
    count = scores.n * (scores.c if scores.multilabel else 1)
    if scores.labels is not None and scores.n:
        found, rows = _tally(scores, scores.labels, bins, full, by)
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


def counted(scores: Scores, bins: int) -> Float64:
    """Of a block's sums those that the resamples need, as one vector; `from_counted` reads it."""
    if not scores.n or scores.labels is None:
        return np.zeros(6 + 3 * scores.c + 2 * len(scores.k))
    found, rows = _tally(scores, scores.labels, bins, False)
    whole = (scores.n, len(rows.errors), found["correct"], found["nll"], found["brier"], found.get("subset", 0))
    return np.concatenate([whole, found["classes"].reshape(-1), found["rule"].reshape(-1)])


def from_counted(vector: Float64, like: Sums) -> Sums:
    """What `counted` vectors add up to, with the shape of `like`."""
    n, rows, correct, subset = (int(vector[i]) for i in (0, 1, 2, 5))
    classes, rule = np.split(vector[6:].astype(np.int64), [3 * like.c])
    return replace(
        like,
        n=n,
        rows=rows,
        correct=correct,
        nll=float(vector[3]),
        brier=float(vector[4]),
        subset=subset,
        classes=classes.reshape(like.c, 3),
        rule=rule.reshape(-1, 2),
        bins=np.zeros((1, 5)),
        **_NO_TABLES,
    )


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
        **{name: _added([getattr(p, name) for p in parts if p.n]) for name in _TABLES},
    )


_TABLES = ("class_gap", "label_gap", "confusion", "rule_by", "uncertainty", "labels", "products")
_NO_TABLES: dict[str, Any] = dict.fromkeys(_TABLES)


def _added(tables: list[Any]) -> Any:
    """Tables of several blocks as one; None where a block has none."""
    return None if not tables or any(table is None for table in tables) else np.sum(tables, axis=0)


def _ratio(a: float, b: float) -> float:
    return a / b if b else math.nan


def overall(s: Sums, labelled: bool, *, check: bool = True) -> dict[str, Any]:
    """Figures of the whole set from its sums, keyed as in ``vargate evaluate --json``; undefined ones are NaN. `check`:
    with the test of calibration."""
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
        "mce": float((gap[count > 0] / count[count > 0]).max()) if count.any() else math.nan,
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
    if check and s.rows and s.rows == s.n:  # rows of one sample are not independent, and sums of bins do not show how
        out |= _check(s.bins)
    return out


def tables(s: Sums) -> dict[str, float]:
    """Figures of a set that come from tables by class and bin, where its parts have them; keyed as in `overall`."""
    out: dict[str, float] = {}
    if s.class_gap is not None:
        out["ece_classwise"] = _ratio(math.fsum(np.abs(s.class_gap).reshape(-1)), s.n * s.c)
    if s.rows != s.n:
        support, predicted, hit = (int(column.sum()) for column in s.classes.T)
        out["f1_micro"] = 2.0 * hit / (support + predicted) if support + predicted else 0.0
        out["subset_accuracy"] = _ratio(s.subset, s.n)
        if s.label_gap is not None:
            out["ece_macro"] = _ratio(math.fsum(np.abs(s.label_gap).reshape(-1)), s.n * s.c)
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
    """`vargate.select_k` from margin ratios and error marks; ``met`` is False for a target out of reach."""
    flat = np.ascontiguousarray(ratio, np.float64).reshape(-1)
    marks = np.ascontiguousarray(errors, np.uint8).reshape(-1)
    options, _points = options_of(target, rows_per_sample)
    if to_decide is not None:
        others = np.ascontiguousarray(to_decide, np.float64).reshape(-1)
        options.unlabelled, options.unlabelled_rows = others.ctypes.data, len(others)
    found = _native.Selection(struct_size=sizeof(_native.Selection))
    _native.check(_native.lib.vg_select_k(byref(found), flat.ctypes.data, marks.ctypes.data, len(flat), byref(options)))
    return selection(found, "k", target.risk, target.coverage, target.confidence, labelled)
