"""Columns of a set that lies in blocks, cut by value: what needs the order of all rows, without one machine that holds
them.

Every block gives some of its order statistics (`cuts`), from which the values between parts are chosen (`splitters`).
Blocks send each part its rows (`split`, `gather`), so that equal values are in one part and a part holds about its
share of all rows. With the counts of the parts before it (`offsets`) each part is ranked in place (`walk`), and
what the parts found is put together (`merge`): the library's figures but for the order of their additions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from ctypes import POINTER, byref, c_double, cast
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _native

__all__ = [
    "Column",
    "Points",
    "Walk",
    "cuts",
    "gather",
    "merge",
    "offsets",
    "order_statistics",
    "place_of",
    "split",
    "splitters",
    "tied_groups",
    "walk",
    "walk_part",
]

Float64 = npt.NDArray[np.float64]
UInt64 = npt.NDArray[np.uint64]
_CUTS = 512  # order statistics that a block gives


_NONE = np.empty(0, np.uint64)


class Column(NamedTuple):
    """Values that rise with uncertainty, an error mark for each (none where only the order counts), and the numbers of
    their samples (none where nothing is resampled)."""

    values: Float64
    errors: npt.NDArray[np.uint8]
    samples: UInt64 = _NONE

    def rows(self, at: Any) -> Column:
        errors = self.errors[at] if len(self.errors) else self.errors
        return Column(self.values[at], errors, self.samples[at] if len(self.samples) else self.samples)


@dataclass(frozen=True)
class Points:
    """Options of a ranking: operating points, and of its intervals the level and the resamples."""

    coverages: tuple[float, ...] = (0.8, 0.9, 0.95)
    risks: tuple[float, ...] = (0.01, 0.05)
    resamples: int = 0
    seed: int = 1
    confidence: float = 0.95
    rows_per_sample: int = 1
    curve: int = 0

    def native(self) -> tuple[_native.EvaluateOptions, list[Any]]:
        """The library's options, and what must outlive them."""
        coverages, risks = _native.doubles(self.coverages), _native.doubles(self.risks)
        how = _native.EvaluateOptions(_native.size(_native.EvaluateOptions), seed=1, threads=1)
        how.resamples, how.confidence = self.resamples, self.confidence
        how.coverages, how.coverage_count = cast(coverages, POINTER(c_double)), len(coverages)
        how.risks, how.risk_count = cast(risks, POINTER(c_double)), len(risks)
        return how, [coverages, risks]


Columns = Mapping[str, Column]
Counts = dict[str, tuple[int, int]]  # rows and errors
Places = dict[str, tuple[int, int, int, int]]  # rows and errors before a part, and in all


def cuts(columns: Columns) -> dict[str, tuple[int, Float64]]:
    """The number of rows of each column, and values that cut them evenly."""
    out: dict[str, tuple[int, Float64]] = {}
    for name, (values, *_) in columns.items():
        at = np.unique(np.linspace(0, max(len(values) - 1, 0), min(len(values), _CUTS)).astype(np.int64))
        out[name] = len(values), np.partition(values, at)[at] if len(at) else np.empty(0)
    return out


def splitters(blocks: Sequence[dict[str, tuple[int, Float64]]], parts: int) -> dict[str, Float64]:
    """At most `parts` - 1 values that cut all rows about evenly; the last of a part is its splitter."""
    out: dict[str, Float64] = {}
    for name in blocks[0]:
        rows = [block[name] for block in blocks if block[name][0]]
        values = np.concatenate([cut for _, cut in rows]) if rows else np.empty(0)
        weights = np.concatenate([np.full(len(cut), n / len(cut)) for n, cut in rows]) if rows else np.empty(0)
        order = np.argsort(values, kind="stable")
        reached = np.cumsum(weights[order])
        wanted = np.searchsorted(reached, [sum(n for n, _ in rows) * i / parts for i in range(1, parts)])
        out[name] = np.unique(values[order][np.minimum(wanted, len(values) - 1)]) if len(values) else np.empty(0)
    return out


def split(columns: Columns, between: Mapping[str, Float64], parts: int) -> list[dict[str, Column]]:
    """Each part's rows."""
    out: list[dict[str, Column]] = [{} for _ in range(parts)]
    for name, column in columns.items():
        part = np.searchsorted(between[name], column.values, side="left")
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(parts + 1))
        for i in range(parts):
            out[i][name] = column.rows(order[ends[i] : ends[i + 1]])
    return out


def gather(pieces: Sequence[dict[str, Column]]) -> dict[str, Column]:
    """The rows of one part, from all blocks."""
    return {
        name: Column(*(np.concatenate(parts) for parts in zip(*(piece[name] for piece in pieces), strict=True)))
        for name in pieces[0]
    }


def counts(part: Columns) -> Counts:
    return {name: (len(values), int(np.count_nonzero(errors))) for name, (values, errors, _) in part.items()}


def offsets(blocks: Sequence[Counts]) -> list[Places]:
    """For each part the rows and errors before it, and in all."""
    out: list[Places] = []
    before = dict.fromkeys(blocks[0], (0, 0))
    total = {name: (sum(c[name][0] for c in blocks), sum(c[name][1] for c in blocks)) for name in blocks[0]}
    for part in blocks:
        out.append({name: (*before[name], *total[name]) for name in part})
        before = {name: (before[name][0] + part[name][0], before[name][1] + part[name][1]) for name in part}
    return out


class Walk(NamedTuple):
    """What a part adds: the bytes of a ``vg_rank_part`` and the points of the risk-coverage curve for each measure, and
    what its confidences add to the bins of the adaptive ECE."""

    parts: dict[str, bytes]
    curves: dict[str, Float64]
    gap: Float64


def walk(part: Columns, places: Sequence[Places], i: int, adaptive: str, bins: int, points: Points) -> Walk:
    """Of part `i`; the column `adaptive` is the confidence."""
    gap = np.zeros(bins + 1)
    walk_part(part[adaptive], places[i][adaptive], points, gap)
    measures = {name: column for name, column in part.items() if name != adaptive}
    found = {name: bytes(walk_part(column, places[i][name], points)) for name, column in measures.items()}
    curves = {name: _curve(column, places[i][name], points.curve) for name, column in measures.items() if points.curve}
    return Walk(found, curves, gap[:bins])


def tied_groups(column: Column) -> tuple[npt.NDArray[np.intp], Float64, Float64, Float64]:
    """Rows in rising order of uncertainty, and of each group of equal values: its first place in that order, how many
    rows it has and how many of them are errors."""
    order = np.argsort(column.values, kind="stable")
    values = column.values[order]
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]])[: len(values)])
    hits = np.add.reduceat(column.errors[order].astype(np.float64), starts) if len(starts) else np.empty(0)
    return order, starts.astype(np.float64), np.diff(np.append(starts, len(values))).astype(np.float64), hits


def _curve(column: Column, place: tuple[int, int, int, int], points: int) -> Float64:
    """The points of ``vg_risk_coverage`` that lie in this part, 0 elsewhere."""
    before, wrong_before, rows, _ = place
    at = np.ceil(rows * (np.arange(1, points + 1) / points) - 1e-6).clip(1, max(rows, 1))
    here = np.flatnonzero((at > before) & (at <= before + len(column.values)))
    _, starts, mass, hits = tied_groups(column)
    group = np.searchsorted(starts, at[here] - before, side="left") - 1
    share = np.minimum((at[here] - before - starts[group]) / mass[group], 1.0)
    risk = np.zeros(points)
    risk[here] = (wrong_before + (np.cumsum(hits) - hits)[group] + hits[group] * share) / at[here]
    return risk


def walk_part(
    column: Column, place: tuple[int, int, int, int], points: Points, gap: Float64 | None = None
) -> _native.RankPart:
    """The library's walk along the rows of one part; `gap`: see ``vg_rank_part_walk``."""
    how, _keep = points.native()
    packed, marks = np.ascontiguousarray(column.values), np.ascontiguousarray(column.errors)
    found = _native.RankPart(_native.size(_native.RankPart), *place, rows_per_sample=points.rows_per_sample)
    measure = _native.Measure(b"", packed.ctypes.data, 1, 0)
    room, bins = (None, 0) if gap is None else (gap.ctypes.data, len(gap) - 1)
    walked = _native.lib.vg_rank_part_walk(
        byref(found), room, bins, byref(measure), marks.ctypes.data, len(packed), byref(how)
    )
    _native.check(walked)
    return found


def merge(parts: Sequence[_native.RankPart], points: Points) -> _native.Ranking:
    """The ranking of all rows by one measure."""
    how, _keep = points.native()
    found, listed = _native.Ranking(), (_native.RankPart * len(parts))(*parts)
    _native.check(_native.lib.vg_rank_parts_merge(byref(found), listed, len(parts), byref(how)))
    return found


# --- order statistics -------------------------------------------------------------------------------------------------


def place_of(quantile: float, rows: int) -> tuple[int, int, float]:
    """NumPy's definition: between two neighbours in sorted order, and how far from the first."""
    position = quantile * (rows - 1)
    low = math.floor(position)
    return low, min(low + 1, rows - 1), position - low


def order_statistics(part: Columns, places: Sequence[Places], i: int, quantiles: Sequence[float]) -> dict[str, Any]:
    """Of the rows that the quantiles need, those that lie in part `i`: their places in sorted order and values."""
    out: dict[str, dict[int, float]] = {}
    for name, (values, *_) in part.items():
        before, _, rows, _ = places[i][name]
        wanted = {at for q in quantiles for at in place_of(q, rows)[:2]} if rows else set()
        here = sorted(at - before for at in wanted if before <= at < before + len(values))
        ordered = np.partition(values, here) if here else values
        out[name] = {at + before: float(ordered[at]) for at in here}
    return out
