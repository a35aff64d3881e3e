"""What evaluation and the choice of thresholds share: scores of any input, the library's tally of them, its list of
measures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref, c_void_p
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import as_labels, whole
from ._measures import is_certainty
from ._options import ScoringOptions, ThreadedOptions, words
from ._score import score
from .scores import Float64, Scores

__all__ = ["as_scores", "measure_list", "number", "tally"]


def as_scores(p: Any, labels: Any, options: ThreadedOptions | ScoringOptions, *, wanted: str = "all") -> Scores:
    """`p` itself when it is `Scores`, else its scores."""
    if not isinstance(p, Scores):
        named = words(options.get("measures", wanted))
        how: ThreadedOptions = {**options, "measures": [*named, "mean", "std", "pred", "second"]}
        return score(p, labels=labels, **how)
    if options:
        raise TypeError(f"scoring options ({', '.join(options)}) are for arrays; these scores are made already")
    if labels is None:
        return p
    packed = as_labels(labels, (p.n, p.m, p.c), p.multilabel, classes=p.classes)
    return p._but(labels=packed)


def measure_list(columns: dict[str, Float64]) -> Any:
    """The library's list of columns; values stay where they are. Arrays must outlive it."""
    listed = (_native.Measure * max(len(columns), 1))()
    for entry, (name, values) in zip(listed, columns.items(), strict=False):
        if len(name) >= _native.NAME_SIZE:
            raise ValueError(f"the name {name!r} has {len(name)} characters, at most {_native.NAME_SIZE - 1}")
        entry.name = name.encode()
        entry.values = values.ctypes.data
        entry.stride = values.strides[-1] // 8 if values.size else 1
        entry.certainty = is_certainty(name)
    return listed


_SLICE = 1 << 20  # values counted between two chances for Ctrl-C: some ten milliseconds


def _feed(handle: c_void_p, mean: Float64, std: Float64, labels: npt.NDArray[np.int64]) -> None:
    """All samples, in order; the library's sums do not depend on the cut."""
    n, step = len(mean), max(_SLICE // max(mean.shape[1], 1), 1)
    with _native.Interruptible():
        for first in range(0, max(n, 1), step):
            if _native.stopped():
                return  # the end of the block raises what was pressed
            m, d, y = mean[first : first + step], std[first : first + step], labels[first : first + step]
            _native.check(_native.lib.vg_tally_feed(handle, m.ctypes.data, d.ctypes.data, y.ctypes.data, len(m)))


@contextmanager
def tally(
    s: Scores, labels: npt.NDArray[np.int64], *, bins: int = 15, bootstrap: bool = False, confusion: int = -1
) -> Iterator[c_void_p]:
    """The library's tally of scores against labels, freed at the end."""
    options = _native.TallyOptions(
        _native.size(_native.TallyOptions),
        1 if s.multilabel else 0,
        whole(bins, "bins", 1, 10000),
        1e-12,
        confusion,
        bootstrap,
        s.n,
    )
    handle = c_void_p()
    mean, std = s.mean, s.std
    if s._sample_sigma and s.m > 1:
        std = std * math.sqrt(s.m / (s.m - 1))
    _native.check(_native.lib.vg_tally_new(byref(handle), s.c, byref(options)))
    try:
        _feed(handle, mean, std, labels)
        yield handle
    finally:
        _native.lib.vg_tally_free(handle)


def number(value: float) -> float | None:
    """As JSON has it: None for what is undefined or infinite."""
    return value if math.isfinite(value) else None
