"""Curves thinned for drawing: what pictures of any number of samples need, as a few hundred points.

The figures are the library's (risk-coverage curves, margin ratios) or plain bookkeeping (means of groups, counts of
bins). Nothing here draws, so that pictures with and without matplotlib show the same points.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _native

if TYPE_CHECKING:
    from .scores import Scores

__all__ = [
    "error_marks",
    "group_means",
    "need",
    "only",
    "oracle",
    "plain_measures",
    "risk_curve",
    "roc",
    "training",
    "unit",
]
__all__ += ["wilson"]

Float64 = npt.NDArray[np.float64]
POINTS = 256


def need(source: Any, name: str, *kinds: type) -> None:
    """Refuses what a plot cannot draw, saying what makes it."""
    if not isinstance(source, kinds):
        how = {
            "Scores": "vargate.score(p, labels=y)",
            "Evaluation": "vargate.evaluate(p, y)",
            "Ood": "vargate.ood(p, q)",
        }
        words = " or ".join(f"{kind.__name__} ({how[kind.__name__]})" for kind in kinds)
        raise TypeError(f"{name} is a {type(source).__name__}, expected {words}")


def plain_measures(s: Scores, names: Iterable[str]) -> list[str]:
    """Those of `names` that were computed."""
    return [name for name in names if name.partition("@")[0] in s]


def only(s: Scores, names: Iterable[str]) -> Scores:
    """The same scores with no arrays but these, as far as they were computed. Nothing is copied."""
    return s._but(arrays={name: s[name] for name in names if name in s})


def unit(s: Scores) -> str:
    """The unit of `tu`, found from one sample: ``"nats"``, ``"bits"``, ``"share of log C"``, or ``""`` where it cannot
    be determined."""
    if "tu" not in s or "mean" not in s or s.multilabel or s.c < 2 or not s.n:
        return ""
    tu = s.tu
    most = int(np.argmax(tu[:4096]))
    p = s.mean[most][s.mean[most] > 0]
    nats = -float((p * np.log(p)).sum())
    if not nats > 1e-6:
        return ""
    units = {"nats": 1.0, "bits": 1 / math.log(2), "share of log C": 1 / math.log(s.c)}
    return next((name for name, size in units.items() if abs(tu[most] / nats - size) < 1e-3 * size), "")


def group_means(columns: Mapping[str, Float64], by: Float64, groups: int) -> tuple[Float64, dict[str, Float64]]:
    """Samples sorted by falling `by` and cut into at most `groups` groups of ten neighbours or more (fewer where there
    are less than 200): the middle of each group as a share of all samples, and the mean of each column in it."""
    order = np.argsort(-by, kind="stable")
    count = min(groups, len(order), max(len(order) // 10, 20))
    if not count:
        return np.empty(0), {name: np.empty(0) for name in columns}
    edges = np.arange(count + 1) * len(order) // count
    sizes = np.diff(edges)
    middle = (edges[:-1] + edges[1:]) / 2 / len(order)
    return middle, {name: np.add.reduceat(values[order], edges[:-1]) / sizes for name, values in columns.items()}


def error_marks(s: Scores) -> npt.NDArray[np.uint8]:
    """1 for each row whose prediction is wrong."""
    if s.labels is None:
        raise ValueError("labels are needed: score(p, labels=y)")
    return np.ascontiguousarray(s.pred != s.labels).reshape(-1).view(np.uint8)


def risk_curve(values: Float64, errors: npt.NDArray[np.uint8], certainty: bool, points: int = POINTS) -> Float64:
    """Risk among the most certain i / points of the rows, for i = 1 .. points: the library's curve."""
    flat = np.ascontiguousarray(values, np.float64).reshape(-1)
    risk = np.empty(points)
    measure = _native.Measure(b"values", flat.ctypes.data, 1, certainty)
    _native.check(_native.lib.vg_risk_coverage(risk.ctypes.data, points, measure, errors.ctypes.data, len(flat)))
    return risk


def oracle(coverage: Float64, error_rate: float) -> Float64:
    """The risk of a measure that puts every error last."""
    return np.maximum(0.0, 1 - (1 - error_rate) / coverage)


def roc(inside: Float64, outside: Float64, certainty: bool, points: int = POINTS) -> tuple[Float64, Float64]:
    """False and true positive rates of ``value >= threshold``, outside the positive class, at thresholds spread over
    the quantiles of both sides."""
    sign = -1.0 if certainty else 1.0
    a, b = np.sort(sign * inside), np.sort(sign * outside)
    picks = np.linspace(0, 1, points // 2)
    thresholds = np.unique(
        np.concatenate([side[np.round(picks * (len(side) - 1)).astype(np.intp)] for side in (a, b) if len(side)])
    )[::-1]
    false = 1 - np.searchsorted(a, thresholds, "left") / max(len(a), 1)
    true = 1 - np.searchsorted(b, thresholds, "left") / max(len(b), 1)
    return np.concatenate([[0.0], false, [1.0]]), np.concatenate([[0.0], true, [1.0]])


def wilson(right: Float64, count: Float64, confidence: float) -> tuple[Float64, Float64]:
    """Wilson's interval of a share: `right` of `count`."""
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    n = np.maximum(count, 1.0)
    share = right / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)


def training(source: str | os.PathLike[str] | Sequence[Mapping[str, Any]]) -> dict[str, Float64]:
    """Columns of a run's ``metrics.jsonl`` (the run's folder, the file, or its rows): one value per epoch, NaN where an
    epoch has none."""
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        path = path / "metrics.jsonl" if path.is_dir() else path
        rows: list[Mapping[str, Any]] = []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.strip():
                try:
                    row = json.loads(line)
                except ValueError as problem:
                    raise ValueError(f"{path}, line {number}: {problem}") from None
                if not isinstance(row, dict):
                    raise ValueError(f"{path}, line {number}: expected an object, one per epoch")
                rows.append(row)
    else:
        rows = list(source)
    names = ("epoch", "diversity", "train_loss", "val_loss", "val_accuracy", "val_ece", "k_sensitivity", "collapsed")
    out = {name: np.array([_finite(row.get(name)) for row in rows]) for name in names}
    if not len(rows) or np.isnan(out["diversity"]).all():
        raise ValueError("there is no epoch with a diversity, expected the metrics.jsonl of a run")
    if np.isnan(out["epoch"]).any():
        out["epoch"] = np.arange(1.0, len(rows) + 1)
    return out


def _finite(value: Any) -> float:
    return float(value) if isinstance(value, (bool, int, float)) else math.nan
