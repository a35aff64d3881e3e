"""What an evaluation consists of: figures of measures, of the rule, of classes, labels and images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ._tally import number

__all__ = ["RANKING", "ClassFigures", "Finding", "ImageFigures", "Interval", "LabelFigures", "Lead", "Points"]
__all__ += ["Ranking", "ReliabilityBin", "RuleFigures", "intervals_of"]

Interval = tuple[float, float]
Points = dict[str, Interval]

RANKING = ("aurc", "eaurc", "augrc", "error_auroc", "error_aupr")


def intervals_of(intervals: Mapping[str, Interval]) -> dict[str, list[float | None]]:
    return {name: [number(low), number(high)] for name, (low, high) in intervals.items()}


@dataclass(frozen=True)
class Ranking:
    """How well one measure separates errors from correct predictions. NaN: undefined."""

    aurc: float
    eaurc: float
    augrc: float
    error_auroc: float
    error_aupr: float
    risk_at_coverage: dict[str, float]
    coverage_at_risk: dict[str, float]
    curve: list[float] | None = None
    intervals: dict[str, Interval] | None = None
    risk_intervals: Points | None = None
    coverage_intervals: Points | None = None

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {name: number(getattr(self, name)) for name in RANKING}
        out["risk_at_coverage"] = {name: number(value) for name, value in self.risk_at_coverage.items()}
        out["coverage_at_risk"] = {name: number(value) for name, value in self.coverage_at_risk.items()}
        if self.curve is not None:
            out["curve"] = [number(value) for value in self.curve]
        if self.intervals is not None:
            out["intervals"] = dict(intervals_of(self.intervals))
            out["intervals"]["risk_at_coverage"] = intervals_of(self.risk_intervals or {})
            out["intervals"]["coverage_at_risk"] = intervals_of(self.coverage_intervals or {})
        return out


@dataclass(frozen=True)
class RuleFigures:
    """The decision rule at one k."""

    coverage: float
    accuracy: float
    kept: int
    kept_errors: int
    abstained: int
    abstained_errors: int
    abstained_correct: int
    abstained_by_label: list[int] | None
    abstained_by_prediction: list[int] | None
    intervals: dict[str, Interval] | None = None

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"coverage": number(self.coverage), "accuracy": number(self.accuracy)}
        for name in ("kept", "kept_errors", "abstained", "abstained_errors", "abstained_correct"):
            out[name] = getattr(self, name)
        for name in ("abstained_by_label", "abstained_by_prediction"):
            if getattr(self, name) is not None:
                out[name] = getattr(self, name)
        if self.intervals is not None:
            out["intervals"] = intervals_of(self.intervals)
        return out


@dataclass(frozen=True)
class ClassFigures:
    """One class against the rest, or one label's positive outcome."""

    support: int
    predicted: int
    true_positive: int
    precision: float
    recall: float
    f1: float
    mean_uncertainty: float | None = None  # of a class: the mean of Evaluation.class_measure
    abstained: int | None = None  # of a class: at the first k of the rule
    intervals: dict[str, Interval] | None = None
    iou: float | None = None  # of a class of label maps: intersection over union

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {name: getattr(self, name) for name in ("support", "predicted", "true_positive")}
        out |= {name: number(getattr(self, name)) for name in ("precision", "recall", "f1")}
        if self.iou is not None:
            out["iou"] = number(self.iou)
        if self.mean_uncertainty is not None:
            out["mean_uncertainty"] = number(self.mean_uncertainty)
        if self.abstained is not None:
            out["abstained"] = self.abstained
        if self.intervals is not None:
            out["intervals"] = intervals_of(self.intervals)
        return out


@dataclass(frozen=True)
class Finding:
    """What the figures say about one question, in plain words (docs/evaluation.md lists the verdicts)."""

    about: Literal["diversity", "calibration", "measure", "k", "abstaining", "calibrator"]
    verdict: str
    choice: str | None
    text: str

    def to_dict(self) -> dict[str, Any]:
        out = {"about": self.about, "verdict": self.verdict, "choice": self.choice, "text": self.text}
        return {name: value for name, value in out.items() if value is not None}


@dataclass(frozen=True)
class Lead:
    """The measure of largest error AUROC against TU, or the second best where TU leads: DeLong's paired test, or the
    paired bootstrap under ``bootstrap=``, and its p-value corrected for the pick of the leader."""

    leader: str
    rival: str | None = None
    difference: float = np.nan
    interval: Interval = (np.nan, np.nan)
    p_value: float = np.nan
    p_corrected: float = np.nan

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"leader": self.leader}
        if self.rival is not None:
            out |= {"rival": self.rival, "difference": number(self.difference)}
            out |= {"interval": [number(end) for end in self.interval]}
            out |= {"p_value": number(self.p_value), "p_corrected": number(self.p_corrected)}
        return out


@dataclass(frozen=True)
class ReliabilityBin:
    """One bar of the reliability diagram; means are NaN in an empty bin."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "low": number(self.low),
            "high": number(self.high),
            "count": self.count,
            "confidence": number(self.confidence),
            "accuracy": number(self.accuracy),
        }


@dataclass(frozen=True)
class LabelFigures:
    """One label of a multilabel evaluation."""

    positive: ClassFigures
    accuracy: float
    ece: float
    nll: float
    brier: float
    measures: dict[str, Ranking]

    def to_dict(self) -> dict[str, Any]:
        out = self.positive.to_dict()
        out |= {name: number(getattr(self, name)) for name in ("accuracy", "ece", "nll", "brier")}
        out["measures"] = {name: ranking.to_dict() for name, ranking in self.measures.items()}
        return out


@dataclass(frozen=True)
class ImageFigures:
    """One image or volume: its sites that are not left out, the share of them that is right, the share that the rule
    abstains on at the first k, and over them the mean, median, 95th percentile and largest value of
    `Evaluation.class_measure`. NaN without sites."""

    sites: int
    accuracy: float
    abstained: float
    mean: float
    median: float
    p95: float
    max: float

    def to_dict(self) -> dict[str, Any]:
        names = ("accuracy", "abstained", "mean", "median", "p95", "max")
        return {"sites": self.sites, **{name: number(getattr(self, name)) for name in names}}
