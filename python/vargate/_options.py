"""Scoring options: from keyword arguments to the library's struct, kept for the next call with the same ones."""

from __future__ import annotations

import inspect
import json
import os
import typing
from collections.abc import Callable, Collection, Sequence
from ctypes import POINTER, byref, c_double, c_size_t, cast, sizeof
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsFloat, TypedDict, Union

from . import _native
from ._arrays import Array, reals, whole
from ._maps import CalibrationMap, find_map
from ._measures import FILE_ORDER, GATED, GROUPS, OF_LOGITS, ScorePlaces

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "DEFAULTS",
    "Axes",
    "ClassGates",
    "DecisionOptions",
    "EvaluatorOptions",
    "FigureOptions",
    "Form",
    "Gates",
    "LogBase",
    "Pairs",
    "Preset",
    "Resolved",
    "ScoringOptions",
    "Sigma",
    "Temperature",
    "choice",
    "class_gates",
    "compared",
    "measure_names",
    "read_files",
    "rename_map",
    "resolve",
    "resolve_all",
    "show_options",
    "split_gates",
    "temperatures",
    "words",
]

Preset = Literal["paper", "vge", "mljku"]
Axes = str  # any permutation of letters of NMCHWD, checked when it is used
Form = Literal["continuous", "literal"]
Pairs = Literal["all", "distinct"]
Sigma = Literal["population", "sample"]
LogBase = Literal["e", "2", 2]


class _HasTemperatures(Protocol):
    @property
    def temperatures(self) -> Any: ...


Temperature = Union[float, Sequence[float], Array, "os.PathLike[str]", str, _HasTemperatures, CalibrationMap, None]


class _HasGates(Protocol):
    @property
    def k(self) -> Any: ...


ClassGates = Union[Sequence[float], Array, "os.PathLike[str]", str, _HasGates, None]
Gates = Union[SupportsFloat, Sequence[SupportsFloat], Array, "os.PathLike[str]", str, _HasGates]


class DecisionOptions(TypedDict, total=False):
    """The options of `vargate.score` that say what the predictions are and how they are measured."""

    logits: bool
    temperature: Temperature
    calibration_map: Temperature
    class_k: ClassGates
    preset: Preset
    axes: Axes | None
    multilabel: bool
    multilabel_form: Form
    pairs: Pairs | None
    sigma: Sigma | None
    log_base: LogBase | None
    normalise: bool | None
    renormalise: bool
    floor: float | None
    eps: float | None


class ScoringOptions(DecisionOptions, total=False):
    """The same with the gate settings and the measures: what other functions pass on to `vargate.score`."""

    k: Gates
    measures: str | Sequence[str]
    classes: Sequence[str] | None


class ThreadedOptions(ScoringOptions, total=False):
    """The same with the thread count, where a function has none of its own."""

    threads: int | None


class FigureOptions(TypedDict, total=False):
    """The options of `vargate.evaluate` that say which figures there are, without those of the calibration error."""

    coverages: Sequence[float]
    risks: Sequence[float]
    curve: int
    bootstrap: int
    seed: int
    confidence: float


class EvaluatorOptions(ThreadedOptions, FigureOptions, total=False):
    """All options of `vargate.evaluate` but for what belongs to one call."""

    bins: int


class ReadingOptions(TypedDict, total=False):
    """How a file of predictions is read: the command's options of these names."""

    key: str | None
    axes: str | None
    logits: bool | None
    label: str | None
    labels_from: int
    multilabel: bool | None
    classes: str | None
    id: str | None
    member: str | None
    separator: str | None
    decimal: Literal["point", "comma"] | None


PRESETS = ("paper", "vge", "mljku")


def choice(name: str, value: object, values: Sequence[str]) -> int:
    """The index of `value` in `values`."""
    if isinstance(value, str) and value in values:
        return values.index(value)
    raise ValueError(f"{name} is {value!r}, expected one of {', '.join(map(repr, values))}")


@lru_cache(maxsize=64)
def _measure_names(named: tuple[str, ...], k: tuple[float, ...]) -> tuple[str, ...]:
    wanted: set[str] = set()
    for word in named:
        stem, at, gate = word.partition("@")
        found = GROUPS.get(word) or ((stem,) if stem in FILE_ORDER and (not at or stem in GATED) else None)
        if found is None:
            raise ValueError(
                f"measures: unknown {word!r}, expected {', '.join(FILE_ORDER)}, or the groups {', '.join(GROUPS)}"
            )
        if at and gate_of(gate, k) is None:
            raise ValueError(
                f"measures: {word!r} is not at one of the settings k = {', '.join(map(_native.k_name, k))}"
            )
        wanted.update(found)
    return tuple(name for name in FILE_ORDER if name in wanted)


def gate_of(text: str, k: Sequence[float]) -> int | None:
    """The index in `k` of the number after the @ of ``"gtu@1"``; None where `k` does not hold it."""
    try:
        return list(k).index(float(text))
    except ValueError:
        return None


def words(measures: str | Sequence[str]) -> list[str]:
    """Names from a list of them, or from text with commas.

    >>> words("tu, gtu@1")
    ['tu', 'gtu@1']
    """
    return measures.replace(" ", "").split(",") if isinstance(measures, str) else list(measures)


def measure_names(measures: str | Sequence[str], k: tuple[float, ...] = (1.0, 2.0, 3.0)) -> tuple[str, ...]:
    """Names of fields, in the order of files, from names and groups; ``"gtu@1"`` asks for the field that holds it.

    >>> measure_names("margin")
    ('gmu', 'snr', 'pred', 'second', 'decision')
    >>> measure_names(["tu", "gtu@2"])
    ('tu', 'gtu')
    """
    return _measure_names(tuple(words(measures)), k)


def compared(logits: bool) -> list[str]:
    """What `evaluate` and `ood` compute where no measures are named: ours and the literature's baselines."""
    return ["all", "baselines", *(OF_LOGITS if logits else ())]


def temperatures(temperature: Temperature) -> tuple[float, ...]:
    """Temperatures from a number, several, a result of calibrate, or the path of a temps.json. () for None."""
    if temperature is None:
        return ()
    found = find_map(temperature)
    if found is not None:
        raise ValueError(
            f"a {found.method} map is not taken here: pass what it makes of the predictions, "
            "vargate.CalibrationMap(...).apply(p)"
        )
    if isinstance(temperature, CalibrationMap):
        return tuple(float(t) for t in json.loads(temperature._text)["temperatures"])
    if isinstance(temperature, (str, os.PathLike)):
        values, count = POINTER(c_double)(), c_size_t()
        _native.check(_native.lib.vg_temperatures_load(byref(values), byref(count), os.fsencode(temperature)))
        try:
            return tuple(values[: count.value])
        finally:
            _native.lib.vg_free(values)
    held = getattr(temperature, "temperatures", None)
    return reals(temperature if held is None else held, "temperature")  # type: ignore[arg-type]


def class_gates(class_k: ClassGates) -> tuple[float, ...]:
    """A k for every class from several numbers, a result of fit_k, or the path of a k.json. () for None."""
    if class_k is None:
        return ()
    if isinstance(class_k, (str, os.PathLike)):
        text = json.loads(Path(class_k).read_text(encoding="utf-8"))
        if not isinstance(text, dict) or not isinstance(text.get("k"), list):
            raise ValueError(f"{os.fspath(class_k)}: no list \"k\" in it; 'vargate fit-k' writes such a file")
        return reals(text["k"], "class_k")
    held = getattr(class_k, "k", None)
    return reals(class_k if held is None else held, "class_k")  # type: ignore[arg-type]


def split_gates(k: Any, class_k: ClassGates, name: str = "k") -> tuple[Any, ClassGates]:
    """`k` and `class_k`. A .json file of fit_k, or its result, in the place of `k` is a k for every class at the
    setting 1, as ``-k k.json`` is on the command line.

    >>> split_gates("k.json", None), split_gates(2, None)
    ((1.0, 'k.json'), (2, None))
    """
    named = isinstance(k, os.PathLike) or (isinstance(k, str) and k.endswith(".json")) or hasattr(k, "k_one")
    if named and class_k is not None:
        raise TypeError(f"{name} and class_k both give a k for every class: give one of them")
    return (1.0, k) if named else (k, class_k)


def read_files(options: dict[str, Any]) -> None:
    """Replaces files among the options by what they hold: they may have been removed, or changed, by the next use."""
    rename_map(options)
    if "k" in options:
        options["k"], options["class_k"] = split_gates(options["k"], options.get("class_k"))
    found = find_map(options.get("temperature"))
    if found is not None:
        options["temperature"] = found
    for name, read in (("temperature", temperatures), ("class_k", class_gates)):
        if options.get(name) is not None and options[name] is not found:
            options[name] = read(options[name]) or None


def rename_map(options: dict[str, Any]) -> None:
    """`calibration_map`, or `temperature`, which is another name of it."""
    if options.get("calibration_map") is not None:
        if options.get("temperature") is not None:
            raise TypeError("calibration_map and temperature are the same option: give one of them")
        options["temperature"] = options["calibration_map"]
    options.pop("calibration_map", None)


class Resolved:
    """The library's options, and the arrays they point into. Never changed once made: calls share it."""

    __slots__ = ("address", "class_k", "k", "keep", "logits", "multilabel", "options", "sigma_margin")

    def __init__(self, options: _native.ScoreOptions, k: tuple[float, ...], keep: tuple[object, ...]) -> None:
        self.options = options
        self.address = byref(options)
        self.k = k
        self.class_k: tuple[float, ...] | None = tuple(options.class_k[: options.class_k_count]) or None
        self.keep = keep
        self.logits: bool = options.logits != 0
        self.multilabel: bool = options.task != 0
        self.sigma_margin: int = options.sigma_margin


@lru_cache(maxsize=256)
def _resolve(
    k: tuple[float, ...],
    logits: bool,
    temperature: tuple[float, ...],
    class_k: tuple[float, ...],
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
    o.scores_size = sizeof(ScorePlaces)
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
    cs = _native.doubles(class_k)
    if class_k:
        o.class_k, o.class_k_count = cast(cs, POINTER(c_double)), len(class_k)
    o.threads = threads
    if interruptible:
        o.progress = _native.progress
    return Resolved(o, k, (ks, ts, cs))


def thread_count(threads: int | None) -> int:
    """Threads as the library takes them: 0 for one per core."""
    return 0 if threads is None else whole(threads, "threads", 0, 1024)


# What `resolve` takes, and `vargate.score` without saying so.
DEFAULTS: dict[str, Any] = {
    "k": (1.0, 2.0, 3.0),
    "logits": False,
    "temperature": None,
    "class_k": None,
    "preset": "paper",
    "multilabel": False,
    "multilabel_form": "continuous",
    "threads": None,
    "renormalise": False,
    **dict.fromkeys(("pairs", "sigma", "log_base", "normalise", "floor", "eps")),
}


def resolve(*, interruptible: bool = False, **options: Unpack[ThreadedOptions]) -> Resolved:
    """The library's options for these keyword arguments (see `vargate.score`)."""
    o: dict[str, Any] = {**DEFAULTS, **options}
    rename_map(o)
    if len(o) > len(DEFAULTS):
        unknown = ", ".join(repr(name) for name in o if name not in DEFAULTS)
        raise TypeError(f"unexpected keyword argument {unknown}, expected some of {', '.join(DEFAULTS)}")
    return resolve_all(**o, interruptible=interruptible)


def resolve_all(
    *,
    k: Gates,
    logits: bool,
    temperature: Temperature,
    class_k: ClassGates,
    preset: Preset,
    multilabel: bool,
    multilabel_form: Form,
    pairs: Pairs | None,
    sigma: Sigma | None,
    log_base: LogBase | None,
    normalise: bool | None,
    renormalise: bool,
    floor: float | None,
    eps: float | None,
    threads: int | None,
    interruptible: bool,
) -> Resolved:
    """`resolve` with every option given: what `vargate.score` calls, in half the time."""
    if type(k) is not tuple:
        k, class_k = split_gates(k, class_k)
    return _resolve(
        reals(k, "k"),  # type: ignore[arg-type]
        bool(logits),
        () if temperature is None else temperatures(temperature),
        () if class_k is None else class_gates(class_k),
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


def show_options(
    taker: Callable[..., Any], of: Callable[..., Any] | type[Any], without: Collection[str] = ("p", "labels", "ids")
) -> None:
    """Lets `inspect.signature`, and with it completion and help of notebooks, show the options that a function or class
    takes as keywords: those of another function, or the keys of a TypedDict."""
    shown = inspect.signature(taker)
    own = [p for p in shown.parameters.values() if p.kind is not p.VAR_KEYWORD]
    keyword = inspect.Parameter.KEYWORD_ONLY
    theirs = (
        [inspect.Parameter(name, keyword, default=..., annotation=kind) for name, kind in of.__annotations__.items()]
        if typing.is_typeddict(of)
        else [p.replace(kind=keyword) for p in inspect.signature(of).parameters.values()]
    )
    held = {p.name for p in own} | set(without)
    both = [*own, *(p for p in theirs if p.name not in held)]
    setattr(taker, "__signature__", shown.replace(parameters=both))  # noqa: B010
