"""Figures over all samples of `Scores`, which the library computes: the summary and the verdict on the ensemble."""

from __future__ import annotations

import json
import math
from ctypes import byref, c_char_p, c_void_p, cast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native

if TYPE_CHECKING:
    from .scores import Scores

__all__ = [
    "NO_FIGURES",
    "ScoreSummary",
    "Spread",
    "Verdict",
    "figures_of",
    "finite",
    "judge",
    "summarise",
    "verdict_of",
]


class Spread(NamedTuple):
    """What a verdict looks at beside diversity: the fields of ``vg_score_summary`` of these names."""

    member_variance: float
    total_variance: float
    disagreement: float
    abstained: float


class Figured:
    """What has figures over its samples, as the library's summary of them."""

    _figures: _native.ScoreSummary

    @property
    def diversity(self) -> float:
        """Mean variance over members of all samples so far; NaN before the first."""
        return float(self._figures.diversity)

    @property
    def k_sensitivity(self) -> float:
        """``1 - mean(gtu at the largest k) / mean(tu)`` of all samples so far; NaN unless both are computed."""
        return float(self._figures.k_sensitivity)


NO_FIGURES = _native.ScoreSummary(0, *[math.nan] * 4, 0, 0, *[math.nan] * 4)


@dataclass(frozen=True)
class Verdict:
    """Whether an ensemble's members disagree and whether it decides, as the C library judges (``vg_verdict_judge``).

    Attributes
    ----------
    name : str
        ``"one-member"``, ``"identical"``, ``"collapsed"``, ``"low"``, ``"diverse"``, ``"undecided"``, ``"no-skill"`` or
        ``"unknown"``. It depends on the predictions and labels alone, not on `k`, `measures` or a preset.
    text : str
        A sentence with the figures.
    share : float
        Part of the predictive variance that lies between members.
    disagreement : float
        Share of pairs of members that name different classes.
    abstained : float
        Share of samples on which the decision rule abstains at k = 1.
    diversity, class_variance : float
        D and its sum over classes, both times M / (M - 1).
    accuracy, chance : float
        Of the mean distribution (NaN without labels); of guessing.
    """

    name: str
    text: str
    share: float
    disagreement: float
    abstained: float
    diversity: float
    class_variance: float
    accuracy: float
    chance: float

    def figures(self) -> dict[str, float | None]:
        """``verdict_figures`` of ``vargate score --json``."""
        names = ("share", "disagreement", "abstained", "diversity", "class_variance", "accuracy", "chance")
        return {name: finite(getattr(self, name)) for name in names}

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class ScoreSummary:
    """Figures over all samples, as ``vargate score --json`` prints them.

    `measures` maps a name (``"tu"``, ``"gtu@1"``) to its mean, median and 95th percentile; `rule` a gate setting to
    coverage, the counts kept and abstained and, with labels, accuracy on the kept.
    """

    n: int
    m: int
    c: int
    logits: bool
    multilabel: bool
    k: tuple[float, ...]
    measures: dict[str, dict[str, Any]]
    rule: dict[str, dict[str, float | None]] | None
    accuracy: float | None
    diversity: float | None
    k_sensitivity: float | None
    verdict: str
    verdict_text: str
    verdict_figures: dict[str, float | None]
    ties: int | None
    gated_out: int | None
    _labelled: bool = field(default=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The keys of ``vargate score --json`` but for ``schema``, ``command`` and ``file``."""
        out: dict[str, Any] = {
            "n": self.n,
            "m": self.m,
            "c": self.c,
            "logits": self.logits,
            "multilabel": self.multilabel,
        }
        out["k"] = list(self.k)
        out["measures"] = self.measures
        if self.rule is not None:
            out["rule"] = self.rule
        if self._labelled:
            out["accuracy"] = self.accuracy
        out |= {"diversity": self.diversity, "k_sensitivity": self.k_sensitivity, "verdict": self.verdict}
        out |= {"verdict_text": self.verdict_text, "verdict_figures": self.verdict_figures}
        if self.ties is not None:
            out |= {"ties": self.ties, "gated_out": self.gated_out}
        return out

    def __str__(self) -> str:
        kind = "logits" if self.logits else "probabilities"
        lines = [f"{self.n} samples, {self.m} member{'s' * (self.m != 1)}, {self.c} classes ({kind})"]
        lines.append(f"{'measure':<10}{'mean':>12}{'median':>12}{'95th pct':>12}")
        for name, row in self.measures.items():
            lines.append(f"{name:<10}" + "".join(_cell(row[key]) for key in ("mean", "median", "p95")))
        for name, rule in (self.rule or {}).items():
            kept = "" if rule.get("accuracy") is None else f", accuracy on the kept {rule['accuracy']:.4g}"
            if rule["coverage"] is not None:
                lines.append(f"k = {name}: abstained {1 - rule['coverage']:.2%}{kept}")
        if self.accuracy is not None:
            lines.append(f"accuracy {self.accuracy:.4g}")
        lines.append(f"diversity {_text(self.diversity)}, k-sensitivity {_text(self.k_sensitivity)}")
        lines.append(f"verdict {self.verdict_text}")
        return "\n".join(lines)


def _cell(value: float | None) -> str:
    return f"{'-' if value is None else format(value, '.5g'):>12}"


def _text(value: float | None) -> str:
    return "-" if value is None else format(value, ".4g")


def finite(value: float) -> float | None:
    """None for what is not finite, as in JSON."""
    return float(value) if math.isfinite(value) else None


def figures_of(n: int, m: int, outcomes: int, diversity: float, spread: Spread) -> _native.ScoreSummary:
    """The library's figures over `n` samples, from means that were taken elsewhere; k-sensitivity and the means in it
    are not known."""
    figures = _native.ScoreSummary(n, diversity, math.nan, math.nan, math.nan, m, outcomes)
    figures.member_variance, figures.total_variance, figures.disagreement, figures.abstained = spread
    return figures


def judge(figures: _native.ScoreSummary, correct: int = 0, labelled: int = 0) -> Verdict:
    """The library's verdict; `correct` of `labelled` predictions are right."""
    found = _native.Verdict(struct_size=_native.size(_native.Verdict))
    _native.check(_native.lib.vg_verdict_judge(byref(found), byref(figures), correct, labelled))
    return verdict_of(found)


def verdict_of(found: _native.Verdict) -> Verdict:
    """The library's verdict as an object."""
    names = ("share", "disagreement", "abstained", "diversity", "class_variance", "accuracy", "chance")
    name = (found.name or b"unknown").decode()  # of a run that was finished already it is not kept
    return Verdict(name, found.text.decode(), **{name: float(getattr(found, name)) for name in names})


def summarise(s: Scores) -> ScoreSummary:
    """The library's figures of all scores together."""
    from ._files import score_set

    options = _native.ScoreFileOptions(_native.size(_native.ScoreFileOptions), None, 0, 1)
    result, text = c_void_p(), c_void_p()
    given, _keep = score_set(s)
    _native.check(_native.lib.vg_score_set_finish(byref(result), byref(given), byref(options)))
    try:
        _native.check(_native.lib.vg_score_result_json(byref(text), result))
    finally:
        _native.lib.vg_score_result_free(result)
    try:
        d = json.loads((cast(text, c_char_p).value or b"{}").decode())
    finally:
        _native.lib.vg_free(text)
    names = ("n", "m", "c", "logits", "multilabel", "measures", "diversity", "k_sensitivity", "verdict", "verdict_text")
    return ScoreSummary(
        **{name: d[name] for name in names},
        k=tuple(map(float, d["k"])),
        verdict_figures=d["verdict_figures"],
        rule=d.get("rule"),
        accuracy=d.get("accuracy"),
        ties=d.get("ties"),
        gated_out=d.get("gated_out"),
        _labelled="accuracy" in d,
    )
