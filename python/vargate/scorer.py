"""`Scorer`: feed blocks, take blocks; memory bounded whatever the number of samples."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from ctypes import byref, c_void_p
from typing import Any

from . import _native
from ._arrays import as_labels, predictions
from ._options import Temperature, measure_names, resolve
from ._summary import Spread, Verdict, verdict
from .scores import Scores, allocate, collect

__all__ = ["Scorer"]


class Scorer:
    """Scores blocks of samples of the same members and classes.

    Results are those of `score` on the whole array, to the bit, however it is cut into blocks. Options are `score`'s.
    A scorer serves one thread at a time.

    Examples
    --------
    >>> import numpy as np, vargate
    >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=(100, 5))
    >>> with vargate.Scorer(k=1) as scorer:
    ...     tu = np.concatenate([scorer.feed(block).tu for block in np.array_split(p, 7)])
    ...     whole = scorer.diversity
    >>> s = vargate.score(p, k=1)
    >>> bool((tu == s.tu).all()), whole == s.diversity, scorer.samples
    (True, True, 100)
    """

    def __init__(
        self,
        *,
        k: float | Sequence[float] = (1.0, 2.0, 3.0),
        logits: bool = False,
        temperature: Temperature = None,
        preset: str = "paper",
        measures: str | Sequence[str] = "all",
        axes: str = "NMC",
        multilabel: bool = False,
        threads: int | None = None,
        multilabel_form: str = "continuous",
        pairs: str | None = None,
        sigma: str | None = None,
        log_base: str | float | None = None,
        normalise: bool | None = None,
        renormalise: bool = False,
        floor: float | None = None,
        eps: float | None = None,
    ) -> None:
        self._resolved = resolve(
            k=k,
            logits=logits,
            temperature=temperature,
            preset=preset,
            multilabel=multilabel,
            multilabel_form=multilabel_form,
            pairs=pairs,
            sigma=sigma,
            log_base=log_base,
            normalise=normalise,
            renormalise=renormalise,
            floor=floor,
            eps=eps,
            threads=threads,
            interruptible=True,
        )
        self._names = measure_names(measures)
        self._axes = axes
        self._handle: int | None = None
        self._closed = False
        self._shape = (0, 0)
        self._figures = _native.ScoreSummary(0, *[float("nan")] * 4, 0, 0, *[float("nan")] * 4)

    def feed(self, p: Any, *, labels: Any = None) -> Scores:
        """Scores the next block (N, M, C) of the first one's M and C. `diversity` of the result is that of all samples so far."""
        if self._closed:
            raise ValueError("the scorer is closed")
        view, owner = predictions(p, self._axes)
        shape = (view.n, view.m, view.c)
        packed = None if labels is None else as_labels(labels, shape[0], shape[2] if self._resolved.multilabel else 0)
        if self._handle is None:
            handle = c_void_p()
            _native.check(_native.lib.vg_scorer_new(byref(handle), shape[1], shape[2], self._resolved.address))
            self._handle = handle.value
            self._finalizer = weakref.finalize(self, _native.lib.vg_scorer_free, handle.value)
            self._shape = shape[1:]
        elif shape[1:] != self._shape:
            raise ValueError(f"p has {shape[1]} members and {shape[2]} classes, expected {self._shape[0]} and {self._shape[1]}")
        arrays, places = allocate(self._names, shape, len(self._resolved.k), self._resolved.multilabel)
        with _native.Interruptible():
            _native.check(_native.lib.vg_scorer_feed(self._handle, places, byref(view)))
        del owner
        _native.check(_native.lib.vg_scorer_summary(self._handle, byref(self._figures)))
        return collect(self._resolved, arrays, shape, self._figures, packed)

    @property
    def samples(self) -> int:
        """Samples fed so far."""
        return int(self._figures.samples)

    @property
    def diversity(self) -> float:
        """Mean variance over members of all samples so far; NaN before the first."""
        return float(self._figures.diversity)

    @property
    def k_sensitivity(self) -> float:
        """``1 - mean(gtu at the largest k) / mean(tu)`` of all samples so far; NaN unless both are computed."""
        return float(self._figures.k_sensitivity)

    def verdict(self, *, correct: int = 0, labelled: int = 0) -> Verdict:
        """`Scores.verdict` of all samples so far; `correct` of `labelled` predictions, where labels are known."""
        f = self._figures
        spread = Spread(f.member_variance, f.total_variance, f.disagreement, f.abstained)
        return verdict(f.samples, f.members, f.outcomes, f.diversity, spread, correct, labelled)

    @property
    def mean_tu(self) -> float:
        """Mean total uncertainty so far, in nats."""
        return float(self._figures.mean_tu)

    @property
    def mean_gtu(self) -> float:
        """Mean gated total uncertainty at the largest k so far, in nats."""
        return float(self._figures.mean_gtu)

    def close(self) -> None:
        """Frees the library's part. Figures stay readable."""
        self._closed = True
        if self._handle is not None:
            self._handle = None
            self._finalizer()

    def __enter__(self) -> Scorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
