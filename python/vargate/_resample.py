"""Resamples of a set that lies in blocks, for bootstrap intervals.

In the Poisson bootstrap a sample is drawn as often as a Poisson variable of mean 1 says, whatever the others are; with
many samples that is the bootstrap (Hanley and MacGibbon 2006). The variable is a hash of the seed, the number of the
resample and that of the sample, so that every worker computes the weights of its rows by itself.
A resample of a block, or of a part of a column, is that block or part with its rows repeated; the library counts and
ranks it as it does the whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from . import _native, _parts, _ranges
from .scores import Scores

__all__ = ["BLOCK_BITS", "add_walks", "counts", "figures", "offsets", "sample_numbers", "sums", "walk", "weights"]

Float64 = npt.NDArray[np.float64]
UInt64 = npt.NDArray[np.uint64]

# Chances of at most 0, 1, ... in a Poisson variable of mean 1, as 64-bit numbers; a twelfth is beyond their precision.
_CUMULATED = np.cumsum([math.exp(-1) / math.factorial(i) for i in range(12)])
_LIMITS = (_CUMULATED * 2.0**53).astype(np.uint64) << np.uint64(11)
BLOCK_BITS = 40  # of a sample's number, below that of its block
_MEASURED = 4 + 2 * _native.MAX_OPERATING_POINTS  # sums of a walk: aurc, augrc, pairs, precision, hits, covered
_FIRST_LARGEST = 4 + _native.MAX_OPERATING_POINTS  # of which those from here on are not added


def _mixed(x: UInt64) -> UInt64:
    """The output function of SplitMix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: UInt64 = x ^ (x >> np.uint64(31))
    return mixed


def sample_numbers(block: int, n: int, width: int) -> UInt64:
    """A number for each row, the same for the `width` rows of a sample, that no other sample of any block has."""
    return np.repeat(np.arange(n, dtype=np.uint64) + (np.uint64(block) << np.uint64(BLOCK_BITS)), width)


def weights(samples: UInt64, seed: int, resample: int) -> npt.NDArray[np.intp]:
    """How often each row is in a resample."""
    with np.errstate(over="ignore"):
        key = _mixed(_mixed(np.array([seed & (1 << 64) - 1], np.uint64)) + np.uint64(resample))
        drawn = _mixed(samples * np.uint64(0x9E3779B97F4A7C15) + key)
    return np.searchsorted(_LIMITS, drawn, side="right")


# --- figures that are means -------------------------------------------------------------------------------------------


def sums(scores: Scores, block: int, points: _ranges.Points) -> Float64:
    """What a block adds to each resample, a row of `_parts.counted` each."""
    needed = ("mean", "std", "pred", "second")
    plain = scores._but(arrays={name: scores[name] for name in needed}, ids=None)
    numbers = sample_numbers(block, scores.n, 1)
    rows = []
    for r in range(points.resamples):
        drawn = np.repeat(np.arange(scores.n), weights(numbers, points.seed, r))
        rows.append(_parts.counted(plain[drawn], 1))
    return np.array(rows)


# --- rankings ---------------------------------------------------------------------------------------------------------


def _resampled(column: _ranges.Column, points: _ranges.Points, r: int) -> _ranges.Column:
    return column.rows(np.repeat(np.arange(len(column.values)), weights(column.samples, points.seed, r)))


def counts(part: _ranges.Columns, points: _ranges.Points) -> dict[str, npt.NDArray[np.int64]]:
    """Rows and errors of each resample of a part, of the columns whose samples are known."""
    out: dict[str, npt.NDArray[np.int64]] = {}
    for name, column in part.items():
        found = np.zeros((points.resamples, 2), np.int64)
        for r in range(points.resamples) if len(column.samples) else ():
            often = weights(column.samples, points.seed, r)
            found[r] = often.sum(), often[column.errors != 0].sum()
        out[name] = found
    return out


def offsets(told: Sequence[Mapping[str, npt.NDArray[np.int64]]]) -> list[dict[str, npt.NDArray[np.int64]]]:
    """For each part and column, by resample: rows and errors before it, and in all."""
    out: list[dict[str, npt.NDArray[np.int64]]] = [{} for _ in told]
    for name in told[0]:
        ends = np.cumsum([part[name] for part in told], axis=0)
        for i, part in enumerate(told):
            out[i][name] = np.concatenate([ends[i] - part[name], ends[-1]], axis=1)
    return out


def walk(
    part: _ranges.Columns,
    places: Sequence[Mapping[str, npt.NDArray[np.int64]]],
    i: int,
    names: Sequence[str],
    points: _ranges.Points,
) -> dict[str, Float64]:
    """What part `i` adds to each resample's ranking: rows of the sums of ``vg_rank_part``."""
    out: dict[str, Float64] = {}
    alone = _ranges.Points(points.coverages, points.risks)
    for name in names:
        rows = np.zeros((points.resamples, _MEASURED))
        for r in range(points.resamples) if len(part[name].values) else ():
            place = tuple(int(v) for v in places[i][name][r])
            found = _ranges.walk_part(_resampled(part[name], points, r), place, alone)  # type: ignore[arg-type]
            rows[r] = (found.aurc, found.augrc, found.pairs, found.precision, *found.hits, *found.covered)
        out[name] = rows
    return out


def add_walks(walks: Sequence[Mapping[str, Float64]]) -> dict[str, Float64]:
    """Walks of several parts as one."""
    out: dict[str, Float64] = {}
    for name in walks[0]:
        rows = np.stack([walk[name] for walk in walks])
        added = rows.sum(axis=0)
        added[:, _FIRST_LARGEST:] = rows[:, :, _FIRST_LARGEST:].max(axis=0)
        out[name] = added
    return out


def _ranking(row: Float64, totals: npt.NDArray[np.int64], points: _ranges.Points) -> list[float]:
    rows, errors = (int(v) for v in totals)
    if not rows:
        return [math.nan] * (5 + len(points.coverages) + len(points.risks))
    part = _native.RankPart(_native.size(_native.RankPart), 0, 0, rows, errors, *(float(v) for v in row[:4]))
    part.hits[:], part.covered[:] = row[4:_FIRST_LARGEST].tolist(), row[_FIRST_LARGEST:].tolist()
    found = _ranges.merge([part], _ranges.Points(points.coverages, points.risks))
    fixed = (found.aurc, found.eaurc, found.augrc, found.error_auroc, found.error_aupr)
    at = [*found.risk_at[: len(points.coverages)], *found.coverage_at[: len(points.risks)]]
    return [estimate.value for estimate in (*fixed, *at)]


# --- all figures ------------------------------------------------------------------------------------------------------

_WHOLE = (
    "accuracy",
    "f1_macro",
    "",
    "",
    "",
    "",
    "nll",
    "brier",
    "f1_micro",
    "subset_accuracy",
    "",
)  # calibration: none


def figures(
    counted: Float64,
    walked: Mapping[str, Float64],
    places: Mapping[str, npt.NDArray[np.int64]],
    like: _parts.Sums,
    points: _ranges.Points,
) -> Float64:
    """The figures of every resample in the order of ``vg_evaluation_finish``; `places`: of any part."""
    rows = []
    for r in range(points.resamples):
        whole = _parts.from_counted(counted[r], like)
        found = {**_parts.overall(whole, True, check=False), **_parts.tables(whole)}
        row = [found.get(name, math.nan) for name in _WHOLE]
        for name, sums_of in walked.items():
            row += _ranking(sums_of[r], places[name][r, 2:], points)
        for rule in found["rule"].values():
            row += [rule["coverage"], rule["accuracy"]]
        rows.append(row)
    return np.array(rows, np.float64)
