"""What evaluation and the choice of thresholds share: scores of any input, the library's tally of them, its list of
measures."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import POINTER, byref, c_double, c_void_p, cast
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import as_integers, as_labels, reals, whole
from ._measures import FILE_ORDER, GROUPS, MEASURES, is_certainty
from ._options import ScoringOptions, ThreadedOptions, words
from ._predictions import Predictions
from ._score import score
from .scores import Float64, Scores

__all__ = ["as_scores", "certain_names", "chosen_columns", "extra_columns", "measure_list", "number", "points"]
__all__ += ["rows_of", "tally", "without_ignored"]


def as_scores(p: Any, labels: Any, options: ThreadedOptions | ScoringOptions, *, wanted: str = "all") -> Scores:
    """`p` itself when it is `Scores`, else its scores."""
    if not isinstance(p, Scores):
        named = words(options.get("measures", wanted))
        how: ThreadedOptions = {**options, "measures": [*named, "mean", "std", "pred", "second"]}
        if not isinstance(p, Predictions):
            return score(p, labels=labels, **how)
        s = p.score(**how)
        return s if labels is None else as_scores(s, labels, {})
    if options:
        raise TypeError(f"scoring options ({', '.join(options)}) are for arrays; these scores are made already")
    if labels is None:
        return p
    packed = as_labels(labels, (p.n, p.m, p.c), p.multilabel, classes=p.classes)
    return p._but(labels=packed)


def without_ignored(s: Any, labels: Any, ignore: int) -> tuple[Scores, npt.NDArray[np.int64]]:
    """Scores of images and their label maps without the sites whose label is `ignore`."""
    if not isinstance(s, Scores) or s.sites is None:
        raise ValueError("ignore leaves out sites of images: name their axes, axes='NMCHW'")
    if labels is None:
        raise ValueError("labels are needed: label maps of the images, with ignore among the labels")
    flat = as_integers(np.asarray(labels), "labels").reshape(-1)
    if len(flat) != s.n:
        raise ValueError(f"labels has shape {np.shape(labels)}, but the predictions have sites {s.sites}")
    keep = flat != whole(ignore, "ignore", -(2**63))
    return s[keep], flat[keep]


def chosen_columns(columns: dict[str, Float64], measures: str | Sequence[str] | None) -> dict[str, Float64]:
    """The requested columns: ``"gtu@1"`` is one, ``"gtu"`` those of all gate settings, a group its members."""
    if measures is None:
        return columns
    wanted: set[str] = set()
    known = {*columns, *(name.partition("@")[0] for name in columns)}
    for word in words(measures):
        stem, at, gate = word.partition("@")
        name = f"{stem}@{_native.k_name(float(gate))}" if at and _is_number(gate) else word
        found = GROUPS.get(name, (name,))
        wanted.update(found)
        # Fields that are no measure (decision, mean) rank nothing and may be named.
        if not known.intersection(found) and (name not in FILE_ORDER or name in MEASURES):
            there = ", ".join(columns) or "none"
            raise ValueError(f"measures: {word!r} was not computed, expected some of {there}, or a group of them")
    return {name: values for name, values in columns.items() if {name, name.partition("@")[0]} & wanted}


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def certain_names(named: str | Collection[str], extra: Mapping[str, Any] | None) -> list[str]:
    """Those of the caller's columns whose larger values are more certain."""
    found = words(named) if isinstance(named, str) else list(named)
    for name in found:
        if name not in (extra or {}):
            raise ValueError(f"extra_certainty: {name!r} is not in extra, which has {', '.join(extra or {}) or 'none'}")
    return found


def extra_columns(extra: Mapping[str, Any] | None, shape: tuple[int, ...], taken: dict[str, Float64]) -> dict[str, Any]:
    """Arrays of the caller's as further columns of this shape, under names of their own."""
    out: dict[str, Any] = {}
    for name, values in (extra or {}).items():
        packed = np.ascontiguousarray(values, dtype=np.float64)
        if packed.shape != shape:
            raise ValueError(f"extra: {name!r} has shape {packed.shape}, expected {shape}")
        if name in taken:
            raise ValueError(f"extra: {name!r} is the name of a measure, expected another one")
        out[name] = packed
    return out


def measure_list(columns: dict[str, Float64], certain: Collection[str] = ()) -> Any:
    """The library's list of columns; values stay where they are. Arrays must outlive it. Larger values of those in
    `certain` are more certain, as of some measures."""
    listed = (_native.Measure * max(len(columns), 1))()
    for entry, (name, values) in zip(listed, columns.items(), strict=False):
        if len(name) >= _native.NAME_SIZE:
            raise ValueError(f"the name {name!r} has {len(name)} characters, at most {_native.NAME_SIZE - 1}")
        entry.name = name.encode()
        entry.values = values.ctypes.data
        entry.stride = values.strides[-1] // 8 if values.size else 1
        entry.certainty = name in certain or is_certainty(name)
    return listed


def points(values: float | Sequence[float], name: str) -> tuple[float, ...]:
    """Coverages or risks: at most as many as the library takes, each a share."""
    found = reals(values, name)
    if len(found) > _native.MAX_OPERATING_POINTS or not all(0 < v <= 1 for v in found):
        raise ValueError(f"{name} is {values!r}, expected at most {_native.MAX_OPERATING_POINTS} numbers in (0, 1]")
    return found


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
    class_k = _native.doubles(s._class_k or ())
    if s._class_k is not None:
        options.class_k = cast(class_k, POINTER(c_double))
    handle = c_void_p()
    mean, std = s.mean, s._rule_std
    _native.check(_native.lib.vg_tally_new(byref(handle), s.c, byref(options)))
    try:
        _feed(handle, mean, std, labels)
        yield handle
    finally:
        _native.lib.vg_tally_free(handle)


def rows_of(counted: c_void_p) -> _native.TallyInfo:
    """What a tally holds of its rows. Its pointers are valid as long as the tally."""
    info = _native.TallyInfo(_native.size(_native.TallyInfo))
    _native.check(_native.lib.vg_tally_describe(byref(info), counted))
    return info


def number(value: float) -> float | None:
    """As JSON has it: None for what is undefined or infinite."""
    return value if math.isfinite(value) else None
