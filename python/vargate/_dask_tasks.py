"""What runs on Dask's workers, and the figures that are made from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _lead, _native, _parts, _ranges, _resample
from ._arrays import Array
from ._measures import is_certainty
from ._samples import concatenate
from ._summary import ScoreSummary
from ._tally import number
from ._whole import Ranked, WholeSet, build, judged, unlabelled
from .decide import Selection, Target
from .scorer import Scorer
from .scores import Scores


@dataclass(frozen=True)
class _Block:
    """A scored block."""

    scores: Scores
    mean_tu: float
    mean_gtu: float


def score_block(p: Any, labels: Any, number_: int, first: int | None, options: dict[str, Any]) -> _Block:
    """One block's scores. An error names the block and where it begins in the whole set."""
    try:
        with Scorer(**options) as scorer:
            scores = scorer.feed(np.asarray(p), labels=labels)
            block = {name: np.array(scores[name]) for name in scores.keys()}
            return _Block(scores._but(arrays=block), scorer.mean_tu, scorer.mean_gtu)
    except (ValueError, TypeError) as error:
        where = f"block {number_}" + ("" if first is None else f", from sample {first} on")
        raise type(error)(f"{where}: {error}") from None


def field_of(block: _Block, name: str) -> Array:
    return block.scores[name]


def part_of(block: _Block, bins: int, full: bool = False, by: str | None = None) -> tuple[_parts.Sums, _parts.Rows]:
    return _parts.part(block.scores, block.mean_tu, block.mean_gtu, bins, full, by)


CONFIDENCE = "confidence of the mean"  # of the adaptive ECE; no measure has this name


def label_column(name: str, label: int) -> str:
    """The name of the rows of one label among the columns."""
    return f"{name} of label {label}"


def rank_rows(
    block: _Block, part: tuple[_parts.Sums, _parts.Rows], names: list[str], number_: int, resampled: bool
) -> dict[str, _ranges.Column]:
    """The columns of a block that the ranking needs; those of certainty negated."""
    s, errors = block.scores, part[1].errors
    width, out = s.c if s.multilabel else 1, dict[str, _ranges.Column]()
    samples = _resample.sample_numbers(number_, s.n, width) if resampled else np.empty(0, np.uint64)
    for name in names:
        values = np.ascontiguousarray(s[name], np.float64).reshape(-1)
        values = -values if is_certainty(name) else values
        out[name] = _ranges.Column(values, errors, samples)
        for label in range(width) if s.multilabel else ():
            out[label_column(name, label)] = _ranges.Column(values[label::width], errors[label::width])
    sure = np.maximum(s.mean, 1 - s.mean).reshape(-1) if s.multilabel else s.mean.max(axis=1, initial=0.0)
    return {**out, CONFIDENCE: _ranges.Column(sure, errors)}


def statistics_rows(block: _Block, names: list[str]) -> dict[str, _ranges.Column]:
    """One value per sample of each measure; for labels their mean, and under another name the largest."""
    s, none = block.scores, np.empty(0, np.uint8)
    if not s.multilabel:
        return {name: _ranges.Column(np.ascontiguousarray(s[name], np.float64), none) for name in names}
    means = {name: _ranges.Column(s[name].mean(axis=1), none) for name in names}
    return means | {f"{name} max": _ranges.Column(s[name].max(axis=1), none) for name in names}


def decision_counts(block: _Block) -> tuple[int, int, list[int], list[int]]:
    """Ties, gated out, and of each k the decisions kept and those of them that are right."""
    s = block.scores
    kept = [int(np.count_nonzero(s.decision[..., i] >= 0)) for i in range(len(s._k))]
    right = [0 if s.labels is None else int(np.count_nonzero(s.decision[..., i] == s.labels)) for i in range(len(s._k))]
    return int(np.count_nonzero(s.flags & 2)), int(np.count_nonzero(s.flags & 1)), kept, right


def measure_sums(block: _Block, names: list[str]) -> dict[str, float]:
    return {name: math.fsum(column.values) for name, column in statistics_rows(block, names).items()}


def decide(block: _Block, k: float | Selection) -> Array:
    return block.scores.decide(k)


def item(items: list[Any], i: int) -> Any:
    return items[i]


def of_list(function: Callable[..., Any], count: int, *values: Any) -> Any:
    """`function` of the list of the first `count` values, and of the others."""
    return function(list(values[:count]), *values[count:])


def sums_of(part: tuple[_parts.Sums, _parts.Rows]) -> _parts.Sums:
    return part[0]


def errors_of(part: tuple[_parts.Sums, _parts.Rows]) -> npt.NDArray[np.uint8]:
    return part[1].errors


def ratio_of(block: _Block) -> Array:
    return block.scores.margin_ratio().reshape(-1)


def add(parts: list[_parts.Sums]) -> _parts.Sums:
    return _parts.add(parts)


def join(pieces: list[Array]) -> Array:
    return np.concatenate(pieces) if pieces else np.empty(0)


def choose(
    ratio: Array, errors: Array, labelled: bool, target: Target, rows_per_sample: int, to_decide: Array | None
) -> Selection:
    marks = errors if labelled else np.zeros(len(ratio), np.uint8)
    return _parts.select(ratio, marks, target, labelled, rows_per_sample=rows_per_sample, to_decide=to_decide)


MOST_PARTS = 64  # of columns that are cut by value


def whole_set(
    sums: _parts.Sums,
    names: list[str],
    walks: list[_ranges.Walk],
    points: _ranges.Points,
    resampled: npt.NDArray[np.float64] | None,
    lead_sums: npt.NDArray[np.float64] | None,
    classes: tuple[str, ...] | None,
) -> WholeSet:
    """Of a labelled set; without labels there are no walks."""
    if not walks or not sums.n:
        return unlabelled(sums, classes)

    def ranking(name: str) -> _native.Ranking:
        return _ranges.merge([_native.RankPart.from_buffer_copy(walk.parts[name]) for walk in walks], points)

    by_label: list[Mapping[str, _native.Ranking]] = [
        {name: ranking(label_column(name, c)) for name in names}
        for c in (range(sums.c) if sums.labels is not None else ())
    ]
    gap = math.fsum(np.abs(np.sum([walk.gap for walk in walks], axis=0)))
    curves = {name: np.sum([walk.curves[name] for walk in walks], axis=0) for name in names if points.curve}
    ranked = Ranked({name: ranking(name) for name in names}, by_label, curves, gap / sums.rows)
    variance = None if lead_sums is None or not lead_sums.any() else _lead.variance(lead_sums)
    return build(sums, ranked, points, resampled, variance, classes)


def lead_of(sums: _parts.Sums, names: list[str], walks: list[_ranges.Walk], points: _ranges.Points) -> Any:
    """The two measures whose difference is tested."""
    return _lead.pair_of(whole_set(sums, names, walks, points, None, None, None))


def lead_rows(
    block: _Block, part: tuple[_parts.Sums, _parts.Rows], pair: _lead.Pair | None, number_: int
) -> dict[str, _ranges.Column]:
    """The columns of a block that the test of the lead needs."""
    if pair is None:
        none = _ranges.Column(np.empty(0), np.empty(0, np.uint8), np.empty(0, np.uint64))
        return {"leader": none, "rival": none}
    held = rank_rows(block, part, [pair.leader, pair.rival], number_, True)
    return {"leader": held[pair.leader], "rival": held[pair.rival]}


def lead_sums(
    pieces: list[_lead.Influences], part: tuple[_parts.Sums, _parts.Rows], width: int
) -> npt.NDArray[np.float64]:
    return _lead.block_sums(pieces, part[1].errors, width)


def resampled_sums(block: _Block, number_: int, points: _ranges.Points) -> npt.NDArray[np.float64]:
    return _resample.sums(block.scores, number_, points)


def resampled_figures(
    counted: npt.NDArray[np.float64],
    walked: dict[str, npt.NDArray[np.float64]],
    places: list[dict[str, npt.NDArray[np.int64]]],
    sums: _parts.Sums,
    points: _ranges.Points,
) -> npt.NDArray[np.float64]:
    return _resample.figures(counted, walked, places[0], sums, points)


def add_arrays(parts: list[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    added: npt.NDArray[np.float64] = np.sum(parts, axis=0)
    return added


def summarise_set(
    sums: _parts.Sums,
    labelled: bool,
    names: list[str],
    means: list[dict[str, float]],
    statistics: list[dict[str, dict[int, float]]],
    counted: list[tuple[int, int, list[int], list[int]]] | None,
) -> ScoreSummary:
    """`vargate.ScoreSummary` of the whole set."""
    figures = _parts.overall(sums, labelled)
    _, verdict = judged(sums, labelled)
    held = {name: {at: v for part in statistics for at, v in part[name].items()} for name in statistics[0]}

    def row(name: str) -> dict[str, Any]:
        def quantile(q: float) -> float | None:
            if not sums.n:
                return None
            low, high, share = _ranges.place_of(q, sums.n)
            return number(held[name][low] + share * (held[name][high] - held[name][low]))

        mean = number(math.fsum(m[name] for m in means) / sums.n) if sums.n else None
        return {"mean": mean, "median": quantile(0.5), "p95": quantile(0.95)}

    multilabel = sums.rows != sums.n
    rule = None
    if counted is not None:
        rule = {}
        for i, k in enumerate(sums.k):
            kept, right = sum(c[2][i] for c in counted), sum(c[3][i] for c in counted)
            rule[_native.k_name(k)] = {
                "coverage": kept / sums.rows if sums.rows else None,
                "kept": kept,
                "abstained": sums.rows - kept,
                **({"accuracy": right / kept if kept else None} if labelled else {}),
            }
    return ScoreSummary(
        n=sums.n,
        m=sums.m,
        c=sums.c,
        logits=False,
        multilabel=multilabel,
        k=sums.k,
        measures={name: row(name) | ({"max": row(f"{name} max")} if multilabel else {}) for name in names},
        rule=rule,
        accuracy=number(figures["accuracy"]) if labelled else None,
        diversity=number(figures["diversity"]),
        k_sensitivity=number(figures["k_sensitivity"]),
        verdict=verdict.name,
        verdict_text=verdict.text,
        verdict_figures=verdict.figures(),
        ties=None if counted is None else sum(c[0] for c in counted),
        gated_out=None if counted is None else sum(c[1] for c in counted),
        _labelled=labelled,
    )


def shard(block: _Block, names: tuple[str, ...], path: str) -> str:
    block.scores._but(arrays={name: block.scores[name] for name in names}).save(path, force=True)
    return path


def gather_scores(blocks: list[_Block], names: tuple[str, ...], sums: _parts.Sums) -> Scores:
    parts = [block.scores._but(arrays={name: block.scores[name] for name in names}) for block in blocks]
    return concatenate(parts)._but(figures=judged(sums, False)[0])
