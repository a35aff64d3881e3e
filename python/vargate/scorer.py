"""`Scorer`: feed blocks, take blocks; memory bounded whatever the number of samples."""

from __future__ import annotations

import threading
import weakref
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any

from . import _native
from ._allocate import allocate
from ._arrays import as_labels, as_names, predictions, refuse_probabilities
from ._maps import take_map
from ._options import ThreadedOptions, measure_names, read_files, resolve, show_options
from ._score import collect, feed_sites, refuse, score
from ._sites import as_sites, flat_labels
from ._summary import NO_FIGURES, Figured, Verdict, judge
from .scores import Scores

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Scorer"]


class Scorer(Figured):
    """Scores blocks of samples of the same members and classes.

    Results are those of `score` on the whole array, to the bit, however it is cut into blocks. Options are `score`'s.
    Threads may share a scorer: their calls are served one after another. `copy.deepcopy` and `pickle` keep what was
    summed so far.

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

    def __init__(self, **options: Unpack[ThreadedOptions]) -> None:
        how: dict[str, Any] = dict(options)
        measures, self._axes, self._classes = (how.pop(name, None) for name in ("measures", "axes", "classes"))
        read_files(how)
        self._map, self._map_logits = take_map(how)
        self._resolved = resolve(**how, interruptible=True)
        self._options: dict[str, Any] = {**how, "k": self._resolved.k}
        self._names = measure_names("all" if measures is None else measures, self._resolved.k)
        self._handle: int | None = None
        self._closed = False
        self._shape = (0, 0)
        self._figures = NO_FIGURES
        self._lock = threading.Lock()

    def feed(self, p: Any, *, labels: Any = None) -> Scores:
        """Scores the next block (N, M, C) of the first one's M and C. `diversity` of the result is that of all samples
        so far."""
        with self._lock:
            return self._feed(p, labels)

    def _feed(self, p: Any, labels: Any) -> Scores:
        if self._closed:
            raise ValueError("the scorer is closed")
        axes = self._axes
        if self._map is not None:
            p, axes = (
                self._map.apply(p, logits=self._map_logits, axes=axes, threads=self._options.get("threads")),
                "NMC",
            )
        sites = as_sites(p, axes)
        if sites is None:
            view, owner = predictions(p, axes, settled=labels is not None or self._handle is not None)
        shape = (view.n, view.m, view.c) if sites is None else (sites.n, sites.m, sites.c)
        if self._resolved.options.logits and not self._resolved.multilabel and sites is None:
            refuse_probabilities(view, "p", "make the scorer with logits=False")
        names = None if self._classes is None else as_names(self._classes, shape[2])
        packed = None
        if labels is not None:
            labels = labels if sites is None else flat_labels(labels, sites)
            packed = as_labels(labels, shape, self._resolved.multilabel, axes=self._axes, classes=names)
        if self._handle is None:
            self._make(*shape[1:])
        elif shape[1:] != self._shape:
            raise ValueError(
                f"p has {shape[1]} members and {shape[2]} classes, expected {self._shape[0]} and {self._shape[1]}"
            )
        arrays, places = allocate(self._names, shape, len(self._resolved.k), self._resolved.multilabel)
        if sites is None:
            with _native.Interruptible():
                status = _native.lib.vg_scorer_feed(self._handle, places, byref(view), None)
            if status:
                refuse(status, view, self._resolved)
            del owner
        else:
            feed_sites(self._handle, sites, arrays, self._resolved)
        figures = _native.ScoreSummary()
        _native.check(_native.lib.vg_scorer_summary(self._handle, byref(figures)))
        self._figures = figures
        shaped = None if sites is None else sites.shape
        return collect(self._resolved, arrays, shape, figures, packed, names, sites=shaped)

    def _make(self, members: int, classes: int) -> None:
        handle = c_void_p()
        _native.check(_native.lib.vg_scorer_new(byref(handle), members, classes, self._resolved.address))
        self._handle = handle.value
        self._finalizer = weakref.finalize(self, _native.lib.vg_scorer_free, handle.value)
        self._shape = (members, classes)

    # --- copies -------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = _native.ScorerState(_native.size(_native.ScorerState))
            if self._handle is not None:
                _native.check(_native.lib.vg_scorer_save(self._handle, byref(state)))
            return {
                "options": self._options,
                "names": self._names,
                "axes": self._axes,
                "map": (self._map, self._map_logits),
                "classes": self._classes,
                "closed": self._closed,
                "shape": self._shape,
                "figures": bytes(self._figures),
                "sums": bytes(state) if self._handle is not None else None,
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._options = state["options"]
        self._resolved = resolve(**self._options, interruptible=True)
        self._names, self._axes, self._closed = state["names"], state["axes"], state["closed"]
        self._classes = state["classes"]
        self._map, self._map_logits = state["map"]
        self._handle, self._shape = None, state["shape"]
        self._figures = _native.ScoreSummary.from_buffer_copy(state["figures"])
        self._lock = threading.Lock()
        if state["sums"] is not None:
            self._make(*self._shape)
            sums = _native.ScorerState.from_buffer_copy(state["sums"])
            _native.check(_native.lib.vg_scorer_restore(self._handle, byref(sums)))

    # --- figures ------------------------------------------------------------------------------------------------------

    @property
    def samples(self) -> int:
        """Samples fed so far."""
        return int(self._figures.samples)

    def verdict(self, *, correct: int = 0, labelled: int = 0) -> Verdict:
        """`Scores.verdict` of all samples so far; `correct` of `labelled` predictions, where labels are known."""
        return judge(self._figures, correct, labelled)

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
        with self._lock:
            self._closed = True
            if self._handle is not None:
                self._handle = None
                self._finalizer()

    def __enter__(self) -> Scorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


show_options(Scorer, score)
