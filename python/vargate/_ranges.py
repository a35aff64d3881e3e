"""Columns of a set that lies in blocks, cut by value: what needs the order of all rows, without one machine that holds
them.

Every block tells some of its order statistics (`cuts`), from which the values between parts are chosen (`splitters`).
Blocks send each part its rows (`split`, `gather`), so that equal values are in one part and a part holds about its
share of all rows. With the counts of the parts before it (`offsets`) each part is ranked where it lies (`walk`), and
what the parts found is put together (`merge`): the library's figures but for the order of their additions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from ctypes import POINTER, byref, c_double, cast
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _native

__all__ = ["Column", "cuts", "gather", "merge", "offsets", "order_statistics", "place_of", "split", "splitters", "walk"]

Float64 = npt.NDArray[np.float64]
COVERAGES = (0.8, 0.9, 0.95)
RISKS = (0.01, 0.05)
_CUTS = 512  # order statistics that a block tells


class Column(NamedTuple):
    """Values that rise with uncertainty, and an error mark for each (none where only the order counts)."""

    values: Float64
    errors: npt.NDArray[np.uint8]


Columns = Mapping[str, Column]
Counts = dict[str, tuple[int, int]]  # rows and errors
Places = dict[str, tuple[int, int, int, int]]  # rows and errors before a part, and in all


def cuts(columns: Columns) -> dict[str, tuple[int, Float64]]:
    """The number of rows of each column, and values that cut them evenly."""
    out: dict[str, tuple[int, Float64]] = {}
    for name, (values, _) in columns.items():
        at = np.unique(np.linspace(0, max(len(values) - 1, 0), min(len(values), _CUTS)).astype(np.int64))
        out[name] = len(values), np.partition(values, at)[at] if len(at) else np.empty(0)
    return out


def splitters(told: Sequence[dict[str, tuple[int, Float64]]], parts: int) -> dict[str, Float64]:
    """At most `parts` - 1 values that cut all rows about evenly; the last of a part is its splitter."""
    out: dict[str, Float64] = {}
    for name in told[0]:
        rows = [block[name] for block in told if block[name][0]]
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
    for name, (values, errors) in columns.items():
        part = np.searchsorted(between[name], values, side="left")
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(parts + 1))
        for i in range(parts):
            rows = order[ends[i] : ends[i + 1]]
            out[i][name] = Column(values[rows], errors[rows] if len(errors) else errors)
    return out


def gather(pieces: Sequence[dict[str, Column]]) -> dict[str, Column]:
    """The rows of one part, from all blocks."""
    return {
        name: Column(
            np.concatenate([piece[name].values for piece in pieces]),
            np.concatenate([piece[name].errors for piece in pieces]),
        )
        for name in pieces[0]
    }


def counts(part: Columns) -> Counts:
    return {name: (len(values), int(np.count_nonzero(errors))) for name, (values, errors) in part.items()}


def offsets(told: Sequence[Counts]) -> list[Places]:
    """For each part the rows and errors before it, and in all."""
    out: list[Places] = []
    before = dict.fromkeys(told[0], (0, 0))
    total = {name: (sum(c[name][0] for c in told), sum(c[name][1] for c in told)) for name in told[0]}
    for part in told:
        out.append({name: (*before[name], *total[name]) for name in part})
        before = {name: (before[name][0] + part[name][0], before[name][1] + part[name][1]) for name in part}
    return out


def _options() -> tuple[_native.EvaluateOptions, list[Any]]:
    coverages, risks = _native.doubles(COVERAGES), _native.doubles(RISKS)
    how = _native.EvaluateOptions(_native.size(_native.EvaluateOptions), seed=1, confidence=0.95, threads=1)
    how.coverages, how.coverage_count = cast(coverages, POINTER(c_double)), len(COVERAGES)
    how.risks, how.risk_count = cast(risks, POINTER(c_double)), len(RISKS)
    return how, [coverages, risks]


def walk(part: Columns, places: Sequence[Places], i: int, adaptive: str, bins: int) -> dict[str, Any]:
    """What part `i` adds: the bytes of a ``vg_rank_part`` for each measure; of the column `adaptive`, the confidence,
    what it adds to the bins of the adaptive ECE."""
    how, _keep = _options()
    out: dict[str, Any] = {}
    for name, (values, errors) in part.items():
        packed, marks = np.ascontiguousarray(values), np.ascontiguousarray(errors)
        found = _native.RankPart(_native.size(_native.RankPart), *places[i][name])
        gap = np.zeros(bins + 1)
        measure = _native.Measure(name.encode(), packed.ctypes.data, 1, 0)
        _native.check(
            _native.lib.vg_rank_part_walk(
                byref(found),
                gap.ctypes.data if name == adaptive else None,
                bins,
                byref(measure),
                marks.ctypes.data,
                len(packed),
                byref(how),
            )
        )
        out[name] = gap[:bins] if name == adaptive else bytes(found)
    return out


def merge(walks: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    """The ranking of all rows by one measure, keyed as in ``vargate evaluate --json``."""
    how, _keep = _options()
    parts = (_native.RankPart * len(walks))(*[_native.RankPart.from_buffer_copy(walk[name]) for walk in walks])
    found = _native.Ranking()
    _native.check(_native.lib.vg_rank_parts_merge(byref(found), parts, len(walks), byref(how)))
    names = ("aurc", "eaurc", "augrc", "error_auroc", "error_aupr")
    out: dict[str, Any] = {key: getattr(found, key).value for key in names}
    out["risk_at_coverage"] = {f"{c:g}": found.risk_at[i].value for i, c in enumerate(COVERAGES)}
    out["coverage_at_risk"] = {f"{r:g}": found.coverage_at[i].value for i, r in enumerate(RISKS)}
    return out


# --- order statistics -------------------------------------------------------------------------------------------------


def place_of(quantile: float, rows: int) -> tuple[int, int, float]:
    """NumPy's definition: between two neighbours in sorted order, and how far from the first."""
    position = quantile * (rows - 1)
    low = math.floor(position)
    return low, min(low + 1, rows - 1), position - low


def order_statistics(part: Columns, places: Sequence[Places], i: int, quantiles: Sequence[float]) -> dict[str, Any]:
    """Of the rows that the quantiles need, those that lie in part `i`: their places in sorted order and values."""
    out: dict[str, dict[int, float]] = {}
    for name, (values, _) in part.items():
        before, _, rows, _ = places[i][name]
        wanted = {at for q in quantiles for at in place_of(q, rows)[:2]} if rows else set()
        here = sorted(at - before for at in wanted if before <= at < before + len(values))
        ordered = np.partition(values, here) if here else values
        out[name] = {at + before: float(ordered[at]) for at in here}
    return out
