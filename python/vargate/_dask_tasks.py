"""What runs on Dask's workers, and the figures that are made of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native, _parts, _ranges
from ._arrays import Array
from ._measures import is_certainty
from ._samples import concatenate
from ._summary import ScoreSummary, Verdict, figures_of, judge
from ._tally import number
from .decide import Selection, Target
from .evaluate import RANKING, ClassFigures, Ranking, ReliabilityBin, best_of
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


def part_of(block: _Block, bins: int, full: bool = False) -> tuple[_parts.Sums, _parts.Rows]:
    return _parts.part(block.scores, block.mean_tu, block.mean_gtu, bins, full)


CONFIDENCE = "confidence of the mean"  # of the adaptive ECE; no measure has this name


def rank_rows(block: _Block, part: tuple[_parts.Sums, _parts.Rows], names: list[str]) -> dict[str, _ranges.Column]:
    """The columns of a block that the ranking needs; those of certainty turned round."""
    s, errors = block.scores, part[1].errors
    out = {
        name: _ranges.Column(-values if is_certainty(name) else values, errors)
        for name, values in ((name, np.ascontiguousarray(s[name], np.float64).reshape(-1)) for name in names)
    }
    sure = np.maximum(s.mean, 1 - s.mean).reshape(-1) if s.multilabel else s.mean.max(axis=1, initial=0.0)
    return {**out, CONFIDENCE: _ranges.Column(sure, errors)}


def statistics_rows(block: _Block, names: list[str]) -> dict[str, _ranges.Column]:
    """One value a sample of each measure; of labels their mean, and under another name the largest."""
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


_FIGURES = ("accuracy", "f1_macro", "ece", "mce", "nll", "brier")
_CHECK = ("ece_expected", "ece_p_value", "ece_debiased")
_TABLES = ("f1_micro", "subset_accuracy", "ece_macro", "ece_adaptive", "ece_classwise")
MOST_PARTS = 64  # of columns that are cut by value


def _judge(sums: _parts.Sums, figures: dict[str, Any], labelled: bool) -> Verdict:
    outcomes, rows = 2 if sums.rows != sums.n else sums.c, sums.rows if labelled else 0
    means = figures_of(sums.n, sums.m, outcomes, figures["diversity"], figures["spread"])
    return judge(means, sums.correct if labelled else 0, rows)


def whole_set(
    sums: _parts.Sums, labelled: bool, names: list[str], walks: list[dict[str, Any]], classes: tuple[str, ...] | None
) -> WholeSet:
    figures = _parts.overall(sums, labelled)
    nan = math.nan
    measures = {name: Ranking(**_ranges.merge(walks, name)) for name in names}
    more: dict[str, Any] = {}
    if labelled and sums.n:
        gap = math.fsum(np.abs(np.sum([walk[CONFIDENCE] for walk in walks], axis=0)))
        more = {"ece_adaptive": gap / sums.rows, **_parts.tables(sums)}
    return WholeSet(
        n=sums.n,
        m=sums.m,
        c=sums.c,
        diversity=figures["diversity"],
        k_sensitivity=figures["k_sensitivity"],
        verdict=_judge(sums, figures, labelled),
        **{name: figures.get(name, nan) for name in (*_FIGURES, *_CHECK)},
        rule=figures.get("rule", {}),
        measures=measures,
        best=best_of(measures, RANKING, RANKING[3:]),
        classes=classes,
        **more,
    )


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
    judged = _judge(sums, figures, labelled)
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
        verdict=judged.name,
        verdict_text=judged.text,
        verdict_figures=judged.figures(),
        ties=None if counted is None else sum(c[0] for c in counted),
        gated_out=None if counted is None else sum(c[1] for c in counted),
        _labelled=labelled,
    )


def shard(block: _Block, names: tuple[str, ...], path: str) -> str:
    block.scores._but(arrays={name: block.scores[name] for name in names}).save(path, force=True)
    return path


def gather_scores(blocks: list[_Block], names: tuple[str, ...], sums: _parts.Sums) -> Scores:
    parts = [block.scores._but(arrays={name: block.scores[name] for name in names}) for block in blocks]
    found = _parts.overall(sums, False)
    outcomes = 2 if sums.rows != sums.n else sums.c
    figures = figures_of(sums.n, sums.m, outcomes, found["diversity"], found["spread"])
    figures.k_sensitivity = found["k_sensitivity"]
    return concatenate(parts)._but(figures=figures)


# --- results ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WholeSet:
    """Figures over every block, defined as in `vargate.Evaluation`. Undefined ones, and those that need labels without
    any, are NaN; so are the expected and debiased ECE and its p-value in multilabel mode, which need the rows of a
    sample together.
    """

    n: int
    m: int
    c: int
    diversity: float
    k_sensitivity: float
    verdict: Verdict
    accuracy: float
    f1_macro: float
    ece: float
    mce: float
    nll: float
    brier: float
    ece_expected: float
    ece_p_value: float
    ece_debiased: float
    rule: dict[str, dict[str, float]]
    measures: dict[str, Ranking]
    best: dict[str, str]
    classes: tuple[str, ...] | None = None
    f1_micro: float = math.nan
    subset_accuracy: float = math.nan
    ece_macro: float = math.nan
    ece_adaptive: float = math.nan
    ece_classwise: float = math.nan
    per_class: list[ClassFigures] = field(default_factory=list)
    confusion: npt.NDArray[np.int64] | None = None
    reliability: list[ReliabilityBin] = field(default_factory=list)
    errors: int = 0
    mce_rows: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Keyed as `vargate.Evaluation.to_dict`, with ``diversity``, ``k_sensitivity`` and the verdict besides."""
        out: dict[str, Any] = {name: getattr(self, name) for name in ("n", "m", "c")}
        for name in ("diversity", "k_sensitivity", *_FIGURES):
            out[name] = number(getattr(self, name))
        for name in _CHECK:  # not known of labels that belong to one sample
            if not math.isnan(getattr(self, name)):
                out[name] = getattr(self, name)
        out |= {
            "verdict": self.verdict.name,
            "verdict_text": self.verdict.text,
            "verdict_figures": self.verdict.figures(),
        }
        for name in _TABLES:
            if not math.isnan(getattr(self, name)):
                out[name] = number(getattr(self, name))
        out["measures"] = {name: ranking.to_dict() for name, ranking in self.measures.items()}
        out["best"] = dict(self.best)
        out["rule"] = {k: {name: number(value) for name, value in row.items()} for k, row in self.rule.items()}
        if self.per_class:
            out |= {"errors": self.errors, "mce_rows": self.mce_rows}
            out["per_class"] = [row.to_dict() for row in self.per_class]
            out["reliability"] = [row.to_dict() for row in self.reliability]
        if self.confusion is not None:
            out["confusion"] = self.confusion.tolist()
        return out
