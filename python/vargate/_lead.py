"""The paired test of the best measure's lead over a set that lies in blocks.

DeLong's test needs both measures of every row at one place, but only through the placements of the rows: the share of
correct rows that are more certain than an error, of errors that are less certain than a correct row. Columns of the two
measures are cut by value (`_ranges`), each part gives the placements of its rows, and these go back to the blocks that
the rows came from, where the two of a row are subtracted, squared and added up. No worker holds a column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from . import _ranges
from ._resample import BLOCK_BITS
from .evaluate import Evaluation

__all__ = ["Influences", "Pair", "block_sums", "influences", "pair_of", "variance"]

Float64 = npt.NDArray[np.float64]


class Pair(NamedTuple):
    """The best measure and the one that it is tested against, with their areas under the ROC curve of errors."""

    leader: str
    rival: str
    areas: tuple[float, float]


class Influences(NamedTuple):
    """What rows of one block add to the difference of two areas, beside the numbers of their samples in the block."""

    samples: npt.NDArray[np.int64]
    values: Float64


def pair_of(found: Evaluation) -> Pair | None:
    """The best measure of an evaluation and its rival; None where there is nothing to test."""
    lead = found.lead
    if lead is None or lead.rival is None or math.isnan(lead.difference):
        return None
    areas = found.measures[lead.leader].error_auroc, found.measures[lead.rival].error_auroc
    return Pair(lead.leader, lead.rival, areas)


def _of_column(column: _ranges.Column, place: tuple[int, int, int, int], area: float) -> Float64:
    """The influence of each row of a part on the area: (placement - area) / errors, or / correct rows."""
    before, wrong_before, rows, positives = place
    negatives = rows - positives
    order, starts, mass, hits = _ranges.tied_groups(column)
    seen = wrong_before + np.cumsum(hits) - hits
    below = before - wrong_before + np.cumsum(mass - hits) - (mass - hits)
    of_error = ((below + (mass - hits) / 2) / negatives - area) / positives
    of_correct = ((positives - seen - hits / 2) / positives - area) / negatives
    group = np.repeat(np.arange(len(starts)), mass.astype(np.intp))
    out = np.empty(len(order))
    out[order] = np.where(column.errors[order] != 0, of_error[group], of_correct[group])
    return out


def influences(
    part: _ranges.Columns, places: Sequence[_ranges.Places], i: int, pair: Pair | None, blocks: int
) -> list[Influences]:
    """Those of the rows of part `i`, for each block that they came from; the rival's are subtracted."""
    values, samples = [np.empty(0)], [np.empty(0, np.uint64)]
    for sign, name, at in ((1.0, "leader", 0), (-1.0, "rival", 1)) if pair is not None else ():
        column = part[name]
        if len(column.values) and pair is not None:
            values.append(sign * _of_column(column, places[i][name], pair.areas[at]))
            samples.append(column.samples)
    held, numbers = np.concatenate(values), np.concatenate(samples)
    block = (numbers >> np.uint64(BLOCK_BITS)).astype(np.int64)
    order = np.argsort(block, kind="stable")
    ends = np.searchsorted(block[order], np.arange(blocks + 1))
    within = (numbers & np.uint64((1 << BLOCK_BITS) - 1)).astype(np.int64)
    rows = [order[ends[b] : ends[b + 1]] for b in range(blocks)]
    return [Influences(within[at], held[at]) for at in rows]


def block_sums(pieces: Sequence[Influences], errors: npt.NDArray[np.uint8], width: int) -> Float64:
    """Squared influences of a block's samples, and how many samples these are: of correct rows, then of errors. Rows of
    one sample (`width` > 1) are added before they are squared, and all counted as the first."""
    n = len(errors) // width
    own = np.zeros(n)
    for samples, values in pieces:
        own += np.bincount(samples, weights=values, minlength=n)
    wrong = np.zeros(n, bool) if width > 1 else errors != 0
    return np.array([(own[~wrong] ** 2).sum(), n - wrong.sum(), (own[wrong] ** 2).sum(), wrong.sum()])


def variance(sums: Float64) -> float:
    """The variance of the difference from the sums over all blocks, as ``vg_auroc_compare`` has it."""
    sides = [(square, count) for square, count in ((sums[0], sums[1]), (sums[2], sums[3])) if count > 1]
    return float(sum(square * count / (count - 1) for square, count in sides))
