"""`ood`: how well each measure separates out-of-distribution samples from in-distribution ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from ctypes import byref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._arrays import real, whole
from ._figures import Interval, intervals_of
from ._measures import is_certainty
from ._options import ScoringOptions, ThreadedOptions, compared, show_options, thread_count
from ._predictions import Predictions
from ._score import score
from ._tally import certain_names, chosen_columns, extra_columns, measure_list, number
from .evaluate import _ends, best_of
from .scores import Float64, Scores

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Unpack

__all__ = ["Ood", "OodFigures", "OodSet", "detect", "ood"]

_FIGURES = ("auroc", "aupr_out", "aupr_in", "fpr95", "detection_error")


@dataclass(frozen=True)
class OodFigures:
    """One measure's detection figures, OOD the positive class. NaN when either side is empty."""

    auroc: float
    aupr_out: float
    aupr_in: float
    fpr95: float
    detection_error: float
    intervals: dict[str, Interval] | None = None

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {name: number(getattr(self, name)) for name in _FIGURES}
        if self.intervals is not None:
            out["intervals"] = intervals_of(self.intervals)
        return out


@dataclass(frozen=True)
class OodSet:
    """One out-of-distribution set: its size, every measure's figures, the best measure at each figure."""

    n: int
    measures: dict[str, OodFigures]
    best: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        measures = {name: figures.to_dict() for name, figures in self.measures.items()}
        return {"n": self.n, "measures": measures, "best": dict(self.best)}


@dataclass(frozen=True)
class Ood:
    """Result of `ood`: the size of the in-distribution side, and one `OodSet` for each other set by name.

    With a single set its `measures` and `best` are also the result's own.
    """

    n: int
    sets: dict[str, OodSet]

    @property
    def only(self) -> OodSet:
        """The one set there is."""
        if len(self.sets) != 1:
            raise ValueError(f"there are {len(self.sets)} sets: {', '.join(self.sets)}; choose one from .sets")
        return next(iter(self.sets.values()))

    @property
    def measures(self) -> dict[str, OodFigures]:
        return self.only.measures

    @property
    def best(self) -> dict[str, str]:
        return self.only.best

    def to_dict(self) -> dict[str, Any]:
        """The keys of ``vargate ood --json`` but for ``schema``, ``command`` and ``file``."""
        out: dict[str, Any] = {"positive": "ood", "id": {"n": self.n}}
        return out | {"ood": {name: one.to_dict() for name, one in self.sets.items()}}

    def to_pandas(self) -> pd.DataFrame:
        """One row per measure; for several sets one row per set and measure."""
        from ._tables import ood_table

        return ood_table(self)

    def plot(self, *, ax: Any = None) -> Any:
        """Draws the AUROC of each measure with matplotlib; `vargate.plots` has histograms and ROC curves."""
        from .plots import ood_auroc

        return ood_auroc(self, ax=ax)

    def _repr_html_(self) -> str:
        from ._show import ood_html

        return ood_html(self)

    def __str__(self) -> str:
        lines = [f"in distribution: {self.n} samples"]
        for name, one in self.sets.items():
            lines.append(f"{name}: {one.n} samples")
            lines.append(f"{'measure':<14}" + "".join(f"{figure:>17}" for figure in _FIGURES))
            for measure, row in one.measures.items():
                marks = [(getattr(row, figure), "*" if one.best.get(figure) == measure else " ") for figure in _FIGURES]
                lines.append(f"{measure:<14}" + "".join(f"{value:>16.4g}{mark}" for value, mark in marks))
        return "\n".join(lines)


def _by_sample(columns: dict[str, Float64], s: Scores) -> dict[str, Float64]:
    """One value per sample: multilabel samples by the mean over labels, and by the most uncertain of them."""
    if not s.multilabel:
        return columns
    means: dict[str, Float64] = {}
    extremes: dict[str, Float64] = {}
    for name, values in columns.items():
        total = np.array(values[:, 0])
        for label in range(1, s.c):  # in the order of the labels, as the command adds them
            total += values[:, label]
        means[name] = total / s.c
        stem, at, gate = name.partition("@")
        certainty = is_certainty(stem)
        extremes[f"{stem}_{'min' if certainty else 'max'}{at}{gate}"] = (
            values.min(axis=1) if certainty else values.max(axis=1)
        )
    return means | extremes


def ood(
    id: Any,
    ood: Any,
    *,
    bootstrap: int = 0,
    seed: int = 1,
    confidence: float = 0.95,
    threads: int | None = None,
    name: str = "ood",
    extra: Mapping[str, tuple[Any, Any]] | None = None,
    extra_certainty: str | Collection[str] = (),
    **scoring: Unpack[ScoringOptions],
) -> Ood:
    """Detection of out-of-distribution samples by every measure.

    Parameters
    ----------
    id : Scores or array_like (N, M, C)
        In-distribution predictions as `score` takes them, with its options as further keyword arguments, or their
        scores.
    ood : Scores, array_like, or mapping of names to them
        Out-of-distribution predictions of the same model: the positive class.
    bootstrap, seed, confidence
        As in `evaluate`; both sides are resampled.
    name : str
        Name of `ood` when it is not a mapping.
    extra : mapping of names to pairs of array_like, optional
        Values of your own beside the measures, one per sample: ``(inside, outside)``, where `outside` is a mapping as
        `ood` is one; larger where more likely outside, the other way round for those named in `extra_certainty`.
    **scoring
        Options of `score`. ``measures`` says what is compared, also of scores: ``"gtu@1"`` that one alone.

    Returns
    -------
    Ood

    Examples
    --------
    >>> import numpy as np, vargate
    >>> rng = np.random.default_rng(0)
    >>> sure, unsure = rng.dirichlet([9, 1, 1], size=(300, 5)), rng.dirichlet([1, 1, 1], size=(200, 5))
    >>> result = vargate.ood(sure, unsure)
    >>> result.measures["tu"].auroc > 0.95
    True
    """
    sets = ood if isinstance(ood, Mapping) else {name: ood}
    if not sets:
        raise ValueError("ood is empty, expected at least one set")
    how: ThreadedOptions = {"threads": threads, **scoring}
    if not any(isinstance(side, Scores) for side in (id, *sets.values())):  # else the measures are those of the scores
        how.setdefault("measures", compared(bool(scoring.get("logits", getattr(id, "logits", False)))))
    asked = how.get("measures")

    def scored(p: Any) -> Scores:
        if isinstance(p, Predictions):
            return p.score(**how)
        return p if isinstance(p, Scores) else score(p, **how)

    def columns_of(of: Scores, more: dict[str, Any]) -> dict[str, Float64]:
        chosen = _by_sample(chosen_columns(of.columns(), asked), of)
        return chosen | extra_columns(more, (of.n,), chosen)

    s = scored(id)
    inside = columns_of(s, {key: pair[0] for key, pair in (extra or {}).items()})
    resamples, start = whole(bootstrap, "bootstrap", 0), whole(seed, "seed", 0)
    options = _native.OodOptions(
        _native.size(_native.OodOptions),
        resamples,
        start,
        real(confidence, "confidence"),
        thread_count(threads),
        _native.progress,
        None,
    )
    certain = certain_names(extra_certainty, extra)
    results: dict[str, OodSet] = {}
    for key, p in sets.items():
        other = scored(p)
        if resamples and (s.sites or other.sites):
            raise ValueError("bootstrap draws samples, and the sites of an image are not independent: pass bootstrap=0")
        if other.c != s.c:
            raise ValueError(f"{key} has {other.c} classes, the in-distribution side {s.c}")
        outside = columns_of(
            other, {k: v[1][key] if isinstance(v[1], Mapping) else v[1] for k, v in (extra or {}).items()}
        )
        if outside.keys() != inside.keys():
            raise ValueError(f"{key} has other measures than the in-distribution side")
        results[key] = _compare(inside, s.n, outside, other.n, options, certain)
    return Ood(s.n, results)


def detect(inside: Any, outside: Any, *, certainty: bool = False) -> OodFigures:
    """How well any score separates `outside`, the positive class, from `inside`: AUROC, AUPR, FPR95, detection error.

    Parameters
    ----------
    inside, outside : array_like (N,), (N',)
        Scores; larger means more likely outside, the other way round with `certainty`.

    Examples
    --------
    >>> import vargate
    >>> vargate.detect([0.1, 0.2, 0.3], [0.25, 0.8]).auroc.__round__(3)
    0.833
    """
    sides = [np.ascontiguousarray(side, dtype=np.float64) for side in (inside, outside)]
    if any(side.ndim != 1 for side in sides):
        raise ValueError(
            f"inside and outside have shapes {sides[0].shape} and {sides[1].shape}, expected one axis each"
        )
    measures = [_native.Measure(b"score", side.ctypes.data, 1, certainty) for side in sides]
    options = _native.OodOptions(_native.size(_native.OodOptions), 0, 1, 0.95)
    row = _native.OodRow()
    a, b = byref(measures[0]), byref(measures[1])
    _native.check(_native.lib.vg_ood_evaluate(byref(row), a, len(sides[0]), b, len(sides[1]), 1, byref(options)))
    return OodFigures(**{figure: getattr(row, figure).value for figure in _FIGURES})


def _compare(
    inside: dict[str, Float64],
    id_rows: int,
    outside: dict[str, Float64],
    ood_rows: int,
    options: Any,
    certain: Collection[str],
) -> OodSet:
    rows = (_native.OodRow * max(len(inside), 1))()
    id_list, ood_list = measure_list(inside, certain), measure_list(outside, certain)
    with _native.Interruptible():
        _native.check(
            _native.lib.vg_ood_evaluate(rows, id_list, id_rows, ood_list, ood_rows, len(inside), byref(options))
        )
    return set_of(ood_rows, rows[: len(inside)], bool(options.resamples))


def set_of(n: int, rows: Any, intervals: bool) -> OodSet:
    """The library's rows of one set as an object."""
    measures = {
        row.name.decode(): OodFigures(
            **{figure: getattr(row, figure).value for figure in _FIGURES},
            intervals=_ends(row, _FIGURES) if intervals else None,
        )
        for row in rows
    }
    return OodSet(n, measures, best_of(measures, _FIGURES, _FIGURES[:3]))


show_options(ood, score)
