"""Scoring options: from keyword arguments to the library's struct, kept for the next call with the same ones."""

from __future__ import annotations

import os
from collections.abc import Sequence
from ctypes import POINTER, byref, c_double, c_size_t, c_uint, cast
from functools import lru_cache
from typing import Any, Protocol, Union

from . import _native
from ._arrays import Array, reals

__all__ = ["FILE_ORDER", "GROUPS", "Resolved", "Temperature", "choice", "measure_names", "resolve", "temperatures"]


class _HasTemperatures(Protocol):
    @property
    def temperatures(self) -> Any: ...


Temperature = Union[float, Sequence[float], Array, "os.PathLike[str]", str, _HasTemperatures, None]

PRESETS = ("paper", "vge", "mljku")
# The order of the fields in files: eight measures, six gated ones, and the rest.
FILE_ORDER = ["tu", "au", "eu", "epce", "epkl", "epjs", "gmu", "snr"]
FILE_ORDER += ["gtu", "gau", "geu", "gepce", "gepkl", "gepjs"]
FILE_ORDER += ["pred", "second", "decision", "mean", "std", "flags"]
GROUPS: dict[str, tuple[str, ...]] = {
    "all": tuple(FILE_ORDER),
    "entropies": ("tu", "au", "eu"),
    "pairwise": ("epce", "epkl", "epjs"),
    "ungated": ("tu", "au", "eu", "epce", "epkl", "epjs"),
    "gated": ("gtu", "gau", "geu", "gepce", "gepkl", "gepjs"),
    "margin": ("gmu", "snr", "pred", "second", "decision"),
}


def choice(name: str, value: object, values: Sequence[str]) -> int:
    """The place of `value` among `values`."""
    if isinstance(value, str) and value in values:
        return values.index(value)
    raise ValueError(f"{name} is {value!r}, expected one of {', '.join(map(repr, values))}")


@lru_cache(maxsize=64)
def _measure_names(words: tuple[str, ...]) -> tuple[str, ...]:
    wanted: set[str] = set()
    for word in words:
        found = GROUPS.get(word) or ((word,) if word in FILE_ORDER else None)
        if found is None:
            raise ValueError(f"measures: unknown {word!r}, expected {', '.join(FILE_ORDER)}, or the groups {', '.join(GROUPS)}")
        wanted.update(found)
    return tuple(name for name in FILE_ORDER if name in wanted)


def measure_names(measures: str | Sequence[str]) -> tuple[str, ...]:
    """Names of fields, in the order of files, from names and groups.

    >>> measure_names("margin")
    ('gmu', 'snr', 'pred', 'second', 'decision')
    >>> measure_names(["tu", "gtu"])
    ('tu', 'gtu')
    """
    words = measures.replace(" ", "").split(",") if isinstance(measures, str) else measures
    return _measure_names(tuple(words))


def temperatures(temperature: Temperature) -> tuple[float, ...]:
    """Temperatures from a number, several, a result of calibrate, or the path of a temps.json. () for None."""
    if temperature is None:
        return ()
    if isinstance(temperature, (str, os.PathLike)):
        values, count = POINTER(c_double)(), c_size_t()
        _native.check(_native.lib.vg_temperatures_load(byref(values), byref(count), os.fsencode(temperature)))
        try:
            return tuple(values[: count.value])
        finally:
            _native.lib.vg_temperatures_free(values)
    held = getattr(temperature, "temperatures", None)
    return reals(temperature if held is None else held, "temperature")  # type: ignore[arg-type]


class Resolved:
    """The library's options, and the arrays they point into. Never changed once made: calls share it."""

    __slots__ = ("address", "k", "keep", "multilabel", "options", "sigma_margin")

    def __init__(self, options: _native.ScoreOptions, k: tuple[float, ...], keep: tuple[object, ...]) -> None:
        self.options = options
        self.address = byref(options)
        self.k = k
        self.keep = keep
        self.multilabel: bool = options.task != 0
        self.sigma_margin: int = options.sigma_margin


@lru_cache(maxsize=256)
def _resolve(
    k: tuple[float, ...],
    logits: bool,
    temperature: tuple[float, ...],
    preset: str,
    multilabel: bool,
    multilabel_form: str,
    pairs: str | None,
    sigma: str | None,
    log_base: str | float | None,
    normalise: bool | None,
    renormalise: bool,
    floor: float | None,
    eps: float | None,
    threads: int,
    interruptible: bool,
) -> Resolved:
    o = _native.ScoreOptions()
    o.struct_size = _native.size(_native.ScoreOptions)
    _native.check(_native.lib.vg_score_options_preset(byref(o), choice("preset", preset, PRESETS)))
    form = choice("multilabel_form", multilabel_form, ("continuous", "literal"))
    o.task = 1 + form if multilabel else 0
    o.logits = logits
    o.renormalise = renormalise
    if pairs is not None:
        o.pairs = choice("pairs", pairs, ("all", "distinct"))
    if sigma is not None:
        o.sigma_gate = o.sigma_margin = choice("sigma", sigma, ("population", "sample"))
    if log_base is not None:
        o.log_base = choice("log_base", str(log_base), ("e", "2"))
    if normalise is not None:
        o.normalise = normalise
    if floor is not None:
        o.floor = floor
    if eps is not None:
        o.eps = eps
    if len(set(k)) != len(k) or not k:
        raise ValueError(f"k is {k}, expected one or more different numbers > 0")
    ks, ts = _native.doubles(k), _native.doubles(temperature)
    o.k, o.k_count = cast(ks, POINTER(c_double)), len(k)
    if temperature:
        if not logits:
            raise ValueError("temperature is for logits: pass logits=True")
        o.temperature, o.temperature_count = cast(ts, POINTER(c_double)), len(temperature)
    o.threads = threads
    if interruptible:
        o.progress = _native.progress
    return Resolved(o, k, (ks, ts))


def thread_count(threads: int | None) -> int:
    """Threads as the library takes them: 0 for one per core."""
    if threads is None:
        return 0
    if not isinstance(threads, int) or not 0 <= threads <= 1024:
        raise ValueError(f"threads is {threads!r}, expected a number from 0 to 1024, or None for one per core")
    return c_uint(threads).value


def resolve(
    *,
    k: float | Sequence[float] = (1, 2, 3),
    logits: bool = False,
    temperature: Temperature = None,
    preset: str = "paper",
    multilabel: bool = False,
    multilabel_form: str = "continuous",
    pairs: str | None = None,
    sigma: str | None = None,
    log_base: str | float | None = None,
    normalise: bool | None = None,
    renormalise: bool = False,
    floor: float | None = None,
    eps: float | None = None,
    threads: int | None = None,
    interruptible: bool = False,
) -> Resolved:
    """The library's options for these keyword arguments (see `vargate.score`)."""
    return _resolve(
        k if type(k) is tuple else reals(k, "k"),
        bool(logits),
        () if temperature is None else temperatures(temperature),
        preset,
        bool(multilabel),
        multilabel_form,
        pairs,
        sigma,
        log_base,
        normalise,
        bool(renormalise),
        floor,
        eps,
        thread_count(threads),
        interruptible,
    )
