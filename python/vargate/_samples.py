"""`Scores` as a sequence of samples: one of them, some of them, several sets as one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import Array
from ._summary import NO_FIGURES, Spread, figures_of

if TYPE_CHECKING:
    from .scores import Scores

__all__ = ["Sample", "SampleIndex", "concatenate", "take"]

SampleIndex = slice | Sequence[int] | Sequence[bool] | npt.NDArray[np.bool_] | npt.NDArray[np.integer[Any]]


class Sample:
    """One sample of `Scores`: its values under the names of the arrays, ``sample.tu``, ``sample["gtu@1"]``.

    Attributes
    ----------
    index : int
        Its number among the scores.
    label : int, ndarray (C,) or None
        Its label, where labels were given.
    id : object
        Its id, or its number where no ids were given.
    """

    __slots__ = ("_scores", "index")

    def __init__(self, scores: Scores, index: int) -> None:
        self._scores = scores
        self.index = index

    @property
    def label(self) -> Any:
        labels = self._scores.labels
        return None if labels is None else _plain(labels[self.index])

    @property
    def id(self) -> Any:
        ids = self._scores.ids
        return self.index if ids is None else _plain(ids[self.index])

    @property
    def class_name(self) -> str | None:
        """The name of the predicted class, where names were given."""
        s = self._scores
        return None if s.classes is None or s.multilabel else s.classes[int(s.pred[self.index])]

    def __getitem__(self, name: str) -> Any:
        return _plain(self._scores[name][self.index])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _plain(getattr(self._scores, name)[self.index])

    def to_dict(self) -> dict[str, Any]:
        """Every value by the name of its array."""
        return {name: self[name] for name in self._scores.keys()}

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={self[name]!r}" for name in self._scores.keys() if np.ndim(self[name]) == 0)
        return f"<vargate.Sample {self.id}: {values}>"


def _plain(value: Any) -> Any:
    """Python's number for one of NumPy's; arrays as they are."""
    return value.item() if isinstance(value, np.generic) else value


def _sensitivity(s: Scores) -> float:
    """``1 - mean(gtu at the largest k) / mean(tu)``, a ratio that no unit changes; NaN unless both are there."""
    if not s.n or "tu" not in s or "gtu" not in s:
        return math.nan
    total = float(s.tu.mean())
    return 1.0 - float(s.gtu[..., int(np.argmax(s._k))].mean()) / total if total else math.nan


def _figures(s: Scores) -> _native.ScoreSummary:
    """Figures of some samples as far as they follow from their mean and spread. How often members disagree does not
    follow from these, so that the verdict on some samples is "unknown"."""
    if not s.n or "mean" not in s or "std" not in s:
        figures = figures_of(s.n, s.m, 2 if s.multilabel else s.c, math.nan, Spread(*[math.nan] * 4))
    else:
        variance, mean = np.square(s.std), s.mean
        units = s.n * (s.c if s.multilabel else 1)
        spread = Spread(float(variance.sum()) / units, float((mean * (1 - mean)).sum()) / units, math.nan, math.nan)
        figures = figures_of(s.n, s.m, 2 if s.multilabel else s.c, float(variance.mean()), spread)
    figures.k_sensitivity = _sensitivity(s)
    return figures


def take(s: Scores, index: SampleIndex) -> Scores:
    """Some samples: a slice, a mask of the samples, or their numbers."""
    if not isinstance(index, slice):
        index = np.asarray(index)
        if index.size == 0 and index.dtype.kind == "f":
            index = index.astype(np.int64)
        if index.ndim != 1 or index.dtype.kind not in "biu":
            raise TypeError("samples are chosen by a number, a slice, a mask of all of them, or a list of numbers")
        if index.dtype.kind == "b" and len(index) != s.n:
            raise IndexError(f"the mask has {len(index)} values, expected one for each of {s.n} samples")
    arrays = {name: np.ascontiguousarray(s._arrays[name][index]) for name in s.keys()}
    n = len(next(iter(arrays.values()), np.empty(s.n)[index]))
    some = s._but(
        arrays=arrays,
        shape=(n, s.m, s.c),
        labels=None if s.labels is None else np.ascontiguousarray(s.labels[index]),
        ids=None if s.ids is None else s.ids[index],
        sites=None,
        kept=None,
        figures=NO_FIGURES,
    )
    return some._but(figures=_figures(some))


def _stacked(shapes: Sequence[tuple[int, ...] | None]) -> tuple[int, ...] | None:
    """The sites of several sets of images as one: images of one size."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) != len(shapes) or len({shape[1:] for shape in known}) != 1:
        return None
    return (sum(shape[0] for shape in known), *known[0][1:])


def _marks(sets: Sequence[Scores]) -> Array | None:
    """Which sites of several sets of images are kept; None where all are."""
    if all(s._kept is None for s in sets):
        return None
    return np.concatenate([np.ones(s.n, bool) if s._kept is None else s._kept for s in sets])


def _together(parts: Sequence[Scores], whole: Scores) -> _native.ScoreSummary:
    """Figures of several sets as one: means weighted by the number of samples."""
    weights = [p.n for p in parts]

    def mean(values: Iterable[float]) -> float:
        used = [(v, w) for v, w in zip(values, weights, strict=True) if w]
        return math.fsum(v * w for v, w in used) / whole.n if whole.n else math.nan

    spread = Spread(*(mean(values) for values in zip(*(p._spread for p in parts), strict=True)))
    outcomes = 2 if whole.multilabel else whole.c
    figures = figures_of(whole.n, whole.m, outcomes, mean(p.diversity for p in parts), spread)
    figures.k_sensitivity = _sensitivity(whole)
    return figures


def concatenate(parts: Iterable[Scores]) -> Scores:
    """Scores of several sets of samples as those of one, in this order.

    The sets must be scored alike: the same measures, k, members, classes and conventions. Labels and ids are kept where
    all sets have them, and the verdict is that of all samples.

    Examples
    --------
    >>> import numpy as np, vargate
    >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=(10, 4))
    >>> both = vargate.concatenate([vargate.score(p[:6]), vargate.score(p[6:])])
    >>> both.n, bool((both.tu == vargate.score(p).tu).all())
    (10, True)
    """
    sets = list(parts)
    if not sets:
        raise ValueError("there is nothing to concatenate")
    first = sets[0]
    for i, other in enumerate(sets):
        for what in ("m", "c", "_k", "_class_k", "multilabel", "_sample_sigma", "classes"):
            if getattr(other, what) != getattr(first, what):
                raise ValueError(
                    f"set {i} has {what.strip('_')} {getattr(other, what)!r}, expected {getattr(first, what)!r}"
                )
        if other.keys() != first.keys():
            raise ValueError(f"set {i} has {', '.join(other.keys())}, expected {', '.join(first.keys())}")

    def joined(pieces: list[Array | None]) -> Array | None:
        there = [piece for piece in pieces if piece is not None]
        return np.concatenate(there) if len(there) == len(sets) else None

    whole = first._but(
        arrays={name: np.concatenate([s._arrays[name] for s in sets]) for name in first.keys()},
        shape=(sum(s.n for s in sets), first.m, first.c),
        labels=joined([s.labels for s in sets]),
        ids=joined([s.ids for s in sets]),
        sites=_stacked([s.sites for s in sets]),
        kept=_marks(sets),
    )
    return whole._but(figures=_together(sets, whole))
