"""The evaluation of a set that lies in blocks: figures that were added up, as the library's own evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from ctypes import POINTER, byref, c_double, c_size_t, c_uint64, cast, pointer
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native, _parts, _ranges
from ._summary import Verdict, figures_of, judge
from ._tally import number
from .evaluate import Evaluation, evaluation_of

__all__ = ["Ranked", "WholeSet", "build", "judged", "unlabelled"]

Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class WholeSet(Evaluation):
    """Figures over every block: a `vargate.Evaluation` with the diversity, the k-sensitivity and the verdict of all
    samples.

    Undefined figures, and without labels those that need them, are NaN.
    """

    diversity: float
    k_sensitivity: float
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """Keyed as `vargate.Evaluation.to_dict`, with ``diversity``, ``k_sensitivity`` and the verdict besides."""
        return super().to_dict() | {
            "diversity": number(self.diversity),
            "k_sensitivity": number(self.k_sensitivity),
            "verdict": self.verdict.name,
            "verdict_text": self.verdict.text,
            "verdict_figures": self.verdict.figures(),
        }


def judged(sums: _parts.Sums, labelled: bool) -> tuple[_native.ScoreSummary, Verdict]:
    """The library's figures over all samples, and its verdict on them."""
    found = _parts.overall(sums, False)
    outcomes = 2 if sums.rows != sums.n else sums.c
    means = figures_of(sums.n, sums.m, outcomes, found["diversity"], found["spread"])
    means.k_sensitivity = found["k_sensitivity"]
    return means, judge(means, sums.correct if labelled else 0, sums.rows if labelled else 0)


def _value(value: float) -> _native.Estimate:
    return _native.Estimate(value, math.nan, math.nan)


def _class(counts: Any) -> _native.ClassRow:
    support, predicted, hit = (int(v) for v in counts)
    f1 = 2.0 * hit / (support + predicted) if support + predicted else 0.0
    precision, recall = hit / predicted if predicted else 0.0, hit / support if support else 0.0
    return _native.ClassRow(support, predicted, hit, precision, recall, f1)


def _pointer(values: npt.NDArray[Any], kind: Any) -> Any:
    return cast(values.ctypes.data, POINTER(kind))


class _Memory:
    """The library's evaluation of sums and rankings, and all that it points to."""

    def __init__(self, sums: _parts.Sums, points: _ranges.Points) -> None:
        multilabel = sums.rows != sums.n
        e = self.e = _native.Evaluation(_native.size(_native.Evaluation), int(multilabel))
        e.n, e.classes, e.rows, e.bins = sums.n, sums.c, sums.rows, len(sums.bins)
        e.errors, e.resamples, e.seed, e.confidence = (
            sums.rows - sums.correct,
            points.resamples,
            points.seed,
            points.confidence,
        )
        e.coverage_count, e.risk_count = len(points.coverages), len(points.risks)
        e.coverages[: e.coverage_count], e.risks[: e.risk_count] = points.coverages, points.risks
        self.kept: list[object] = []
        self.sums = sums
        found = {**_parts.overall(sums, True), **_parts.tables(sums)}
        names = ("accuracy", "f1_macro", "ece", "ece_adaptive", "ece_classwise", "mce", "nll", "brier")
        for name in (*names, "f1_micro", "subset_accuracy", "ece_macro", "miou"):
            setattr(e, name, _value(found.get(name, math.nan)))
        e.reliability = self._array(_parts.bin_rows(sums.bins))
        if sums.products is not None:
            e.bin_products = _pointer(self._array(np.ascontiguousarray(sums.products)), c_double)
        self._classes()
        self._rule(found["rule"])

    def _array(self, rows: Any) -> Any:
        self.kept.append(rows)
        return rows

    def _classes(self) -> None:
        e, sums = self.e, self.sums
        e.per_class = self._array((_native.ClassRow * sums.c)(*(_class(row) for row in sums.classes)))
        rows = self._array((_native.ClassFigures * sums.c)())
        for i, row in enumerate(rows):
            count = sums.n if e.task else int(sums.classes[i, 0])
            row.uncertainty = math.nan if sums.uncertainty is None or not count else sums.uncertainty[i] / count
        e.class_figures = rows
        if sums.confusion is not None:
            e.confusion = _pointer(self._array(np.ascontiguousarray(sums.confusion, np.uint64)), c_uint64)

    def _rule(self, found: Mapping[str, Mapping[str, float]]) -> None:
        e, sums = self.e, self.sums
        rows = self._array((_native.RuleRow * max(len(sums.k), 1))())
        by = self._array(None if sums.rule_by is None else np.ascontiguousarray(sums.rule_by, np.uint64))
        for i, (row, k) in enumerate(zip(rows, sums.k, strict=False)):
            row.k, row.name, row.rows = k, _native.k_name(k).encode(), sums.rows
            counts = found[_native.k_name(k)]
            for name in ("kept", "kept_errors", "abstained", "abstained_errors", "abstained_correct"):
                setattr(row, name, int(counts[name]))
            row.coverage, row.accuracy = _value(counts["coverage"]), _value(counts["accuracy"])
            if by is not None:
                row.abstained_by_label = _pointer(by[i, 0], c_size_t)
                row.abstained_by_prediction = _pointer(by[i, 1], c_size_t)
        e.rule, e.rule_count = rows, len(sums.k)

    def rank(self, rankings: Mapping[str, _native.Ranking], curves: Mapping[str, Float64] | None = None) -> Any:
        """Rankings under their names."""
        rows = self._array((_native.Ranking * max(len(rankings), 1))(*rankings.values()))
        for row, name in zip(rows, rankings, strict=False):
            row.name = name.encode()
            if curves:
                row.curve = _pointer(self._array(np.ascontiguousarray(curves[name])), c_double)
        return rows

    def label(self, rankings: list[Mapping[str, _native.Ranking]]) -> None:
        """Figures of the labels of a multilabel set, one by one."""
        e, sums = self.e, self.sums
        if sums.labels is None or sums.label_gap is None:
            return
        rows = self._array((_native.LabelRow * sums.c)())
        for i, row in enumerate(rows):
            row.positive = e.per_class[i]
            row.accuracy, row.nll, row.brier = (float(v) / sums.n for v in sums.labels[i])
            row.f1, row.ece = e.per_class[i].f1, math.fsum(np.abs(sums.label_gap[i])) / sums.n
            row.measures = self.rank(rankings[i])
        e.labels, e.label_count = rows, sums.c


@dataclass(frozen=True)
class Ranked:
    """What all parts found: rankings of all rows and of each label's, points of curves, and the adaptive ECE."""

    measures: Mapping[str, _native.Ranking]
    by_label: list[Mapping[str, _native.Ranking]]
    curves: Mapping[str, Float64]
    adaptive: float


def build(
    sums: _parts.Sums,
    ranked: Ranked,
    points: _ranges.Points,
    resampled: Float64 | None,
    lead_variance: float | None,
    classes: tuple[str, ...] | None,
) -> WholeSet:
    """The evaluation of all blocks."""
    memory = _Memory(sums, points)
    e = memory.e
    e.ece_adaptive = _value(ranked.adaptive)
    e.curve_points = points.curve
    e.measures, e.measure_count = memory.rank(ranked.measures, ranked.curves), len(ranked.measures)
    memory.label(ranked.by_label)
    tested = None if lead_variance is None else c_double(lead_variance)
    if tested is not None:
        e.lead_variance = pointer(tested)
    values = None if resampled is None else np.ascontiguousarray(resampled)
    finished = _native.lib.vg_evaluation_finish(
        byref(e), None if values is None else cast(values.ctypes.data, POINTER(c_double))
    )
    _native.check(finished)
    means, verdict = judged(sums, True)
    found = evaluation_of(e, sums.m, classes, means)
    held = {field.name: getattr(found, field.name) for field in fields(found)}
    return WholeSet(**held, diversity=float(means.diversity), k_sensitivity=float(means.k_sensitivity), verdict=verdict)


def unlabelled(sums: _parts.Sums, classes: tuple[str, ...] | None) -> WholeSet:
    """Of a set without labels, or without samples."""
    means, verdict = judged(sums, False)
    names = ("accuracy", "f1_macro", "f1_micro", "subset_accuracy", "ece", "ece_macro", "ece_adaptive")
    undefined: dict[str, Any] = dict.fromkeys((*names, "ece_classwise", "mce", "nll", "brier"), math.nan)
    return WholeSet(
        n=sums.n,
        m=sums.m,
        c=sums.c,
        multilabel=sums.rows != sums.n,
        bins=len(sums.bins),
        **undefined,
        measures={},
        best={},
        rule={},
        per_class=[],
        confusion=None,
        reliability=[],
        classes=classes,
        diversity=float(means.diversity),
        k_sensitivity=float(means.k_sensitivity),
        verdict=verdict,
    )
