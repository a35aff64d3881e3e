"""`sets`: prediction sets with a promised coverage, from the means or the gated means of an ensemble."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_double, c_void_p, cast, pointer, string_at
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import Array, as_labels, predictions, real, reals, whole
from ._maps import find_map
from ._options import ClassGates, DecisionOptions, choice, rename_map, resolve, split_gates
from ._sites import Sites, as_sites, kept_sites, site_labels

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Conformal", "PredictionSets", "sets"]

Score = Literal["lac", "aps", "raps", "saps", "margin", "topk", "snr"]
By = Literal["class", "group", "top"]
SCORES = ("lac", "aps", "raps", "saps", "margin", "topk", "snr")
CELLS = ("none", "class", "group", "top")
_FIGURES, _THRESHOLDS, _TABLE = 0, 1, 2


class ConformalOptions(DecisionOptions, total=False):
    """The options of `Conformal` that `sets` passes on."""

    alpha: float | Sequence[float]
    score: Score
    by: By | None
    gated: float | ClassGates
    lam: float | None
    k_reg: float | None
    tuning: float
    never_empty: bool
    randomise: bool | None
    seed: int
    confidence: float
    ignore: int | None
    threads: int | None


def _number(value: Any, name: str) -> float:
    return math.nan if value is None else real(value, name)


def _texts(groups: Any, n: int, name: str, each: int = 1) -> Any:
    """The groups of n samples; of images one for each of `each` sites."""
    if groups is None:
        return None
    values = np.asarray(groups)
    if values.shape != (n // each,):
        raise ValueError(f"{name} has shape {values.shape}, expected {(n // each,)}")
    values = np.repeat(values, each)
    return (c_char_p * n)(*[str(g).encode() for g in values.tolist()])


class Conformal:
    """Calibrated thresholds. `fit` them on samples with labels, then call `sets` on others; `save` and `load` them.

    Parameters
    ----------
    alpha : float or sequence of float
        Shares of samples whose label may be missed.
    score : {"lac", "aps", "raps", "saps", "margin", "topk", "snr"}
        Nonconformity of a class; docs/sets.md has the formulas.
    by : {"class", "group", "top"}, optional
        A threshold for each class, each group of samples, or each most probable class.
    gated : float, GateFit or the path of its .json file, optional
        Sets from the gated mean at this k, or at a k for every class, instead of the mean.
    lam, k_reg : float, optional
        Penalty of a rank and ranks without one (raps, saps). None: tuned on the share `tuning` of the calibration
        samples, which then do not count for the threshold.
    never_empty : bool
        Add the most probable class to an empty set.
    randomise : bool, optional
        Draw u for every sample. None: for aps, raps and saps.
    seed : int
        Of the draws, which depend on it and on the sample's number alone.
    p_values : bool
        Keep calibration scores, so that `sets` gives p-values.
    confidence : float
        Of intervals; with `multilabel`, of the promise.
    ignore : int, optional
        Of images (`axes`): the label of the sites that are left out of every figure, often 255.
    threads : int, optional
    **scoring
        What the predictions are: `logits`, `temperature`, `axes`, `multilabel`, ... of `vargate.score`. With `axes` of
        images every site has a set, and the image is the unit of exchange: over images the expected share of sites
        whose set misses the label is at most alpha.
    """

    def __init__(
        self,
        *,
        alpha: float | Sequence[float] = 0.1,
        score: Score = "lac",
        by: By | None = None,
        gated: float | ClassGates = None,
        lam: float | None = None,
        k_reg: float | None = None,
        tuning: float = 0.2,
        never_empty: bool = False,
        randomise: bool | None = None,
        seed: int = 1,
        p_values: bool = False,
        confidence: float = 0.95,
        ignore: int | None = None,
        threads: int | None = None,
        **scoring: Unpack[DecisionOptions],
    ) -> None:
        alphas = reals(alpha, "alpha")
        gate, class_k = split_gates(gated, scoring.get("class_k"), "gated")
        options = self._options({**scoring, "class_k": class_k}, threads)
        keep = _native.doubles(alphas)
        options.alphas, options.alpha_count = cast(keep, POINTER(c_double)), len(alphas)
        options.score = choice("score", score, SCORES)
        options.by = choice("by", "none" if by is None else by, CELLS)
        options.gate, options.k_reg = _number(gate, "gated"), _number(k_reg, "k_reg")
        setattr(options, "lambda", _number(lam, "lam"))
        options.tuning = float(tuning)
        options.never_empty, options.p_values = bool(never_empty), bool(p_values)
        options.randomise = -1 if randomise is None else int(bool(randomise))
        options.seed = whole(seed, "seed", 0, 2**64 - 1)
        options.confidence = float(confidence)
        self._p_values, self._changes_rows = bool(p_values), bool(options.calibration_map)
        self._ignore, self._asked, self._alphas = ignore, options, keep
        self._open(options)

    def _options(self, scoring: DecisionOptions, threads: int | None) -> _native.SetsOptions:
        asked: dict[str, Any] = dict(scoring)
        self._axes = asked.pop("axes", None)
        options = _native.SetsOptions()
        rename_map(asked)
        found = find_map(asked.get("temperature"))
        if found is not None:
            asked["temperature"] = None
            options.calibration_map = found._text.encode()
        self._resolved = resolve(threads=threads, **asked)
        options.struct_size = _native.size(_native.SetsOptions)
        options.scoring = pointer(self._resolved.options)
        return options

    def _open(self, options: _native.SetsOptions) -> None:
        self.__del__()
        self._handle = POINTER(_native.Sets)()
        _native.check(_native.lib.vg_sets_new(byref(self._handle), byref(options)))

    def __getstate__(self) -> dict[str, Any]:
        """Thresholds as text, which has no calibration scores for p-values."""
        reading = {"logits": self._resolved.logits, "axes": self._axes}
        return {"thresholds": self._text(_THRESHOLDS), **reading, "ignore": self._ignore}

    def __setstate__(self, state: dict[str, Any]) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            file.write(state["thresholds"])
            file.flush()
            self._load(file.name, {"logits": state["logits"], "axes": state["axes"]}, None, state.get("ignore"))

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle:
            _native.lib.vg_sets_free(handle)

    @classmethod
    def load(
        cls,
        file: str | os.PathLike[str],
        *,
        ignore: int | None = None,
        threads: int | None = None,
        **scoring: Unpack[DecisionOptions],
    ) -> Conformal:
        """Thresholds that `save` or ``vargate sets --save`` wrote."""
        self = cls.__new__(cls)
        self._load(os.fspath(file), scoring, threads, ignore)
        return self

    def _load(self, file: str, scoring: DecisionOptions, threads: int | None, ignore: int | None) -> None:
        options = self._options(scoring, threads)
        nan = math.nan
        options.gate, options.k_reg, options.tuning, options.confidence = nan, nan, 0.2, 0.95
        setattr(options, "lambda", nan)
        options.randomise, options.seed = -1, 1
        options.thresholds = os.fsencode(file)
        self._p_values, self._changes_rows, self._ignore = False, True, ignore  # as the file may say
        self._open(options)

    def fit(self, p: Any, labels: Any, *, groups: Any = None) -> Conformal:
        """Takes calibration samples: predictions, labels, and with ``by="group"`` their groups. May be called for
        several blocks, before the first call of `sets`."""
        if self._handle.contents.thresholds:
            raise ValueError(
                "the thresholds are computed already (by sets, thresholds, settings or save): fit a new Conformal, "
                "with all calibration samples before that"
            )
        if (sites := self._sites(p)) is not None:
            return self._fit_images(sites, labels, groups)
        view, owner = predictions(p, self._axes, settled=True)
        packed = as_labels(labels, (view.n, view.m, view.c), self._resolved.multilabel)
        names = _texts(groups, view.n, "groups")
        address = packed.ctypes.data_as(c_void_p)
        _native.check(_native.lib.vg_sets_feed(self._handle, None, byref(view), address, names))
        del owner
        return self

    def _sites(self, p: Any) -> Sites | None:
        """The sites of images; None: samples."""
        sites = as_sites(p, self._axes)
        if sites is None and self._ignore is not None:
            kept_sites(sites, None, self._ignore)  # raises
        if sites is not None and self._resolved.multilabel:
            raise ValueError("sites of images have one label each: they do not go with multilabel")
        return sites

    def _fit_images(self, sites: Sites, labels: Any, groups: Any) -> Conformal:
        """Takes the sites of images. The first call says how many an image has, which opens the object anew."""
        each = sites.n // max(sites.shape[0], 1)
        if self._asked.sites not in (0, each):
            raise ValueError(f"images of {each} sites, but those before had {self._asked.sites}")
        if self._asked.sites == 0:
            self._asked.sites = each
            self._open(self._asked)
        numbers, names = site_labels(sites, labels, self._ignore), _texts(groups, sites.n, "groups", each)
        for first, block, _owner in sites.blocks():
            at = numbers[first:].ctypes.data_as(c_void_p)
            held = None if names is None else (c_char_p * block.n)(*names[first : first + block.n])
            _native.check(_native.lib.vg_sets_feed(self._handle, None, byref(block), at, held))
        return self

    def sets(self, p: Any, *, labels: Any = None, groups: Any = None) -> PredictionSets:
        """The sets of other samples; with labels also how often they hold them."""
        sites, given, owner = self._sites(p), None, None
        numbers: Array | None = None
        if sites is not None:
            n, c, shape = sites.n, sites.c, sites.shape
            numbers = None if labels is None else site_labels(sites, labels, self._ignore)
        else:
            view, owner = predictions(p, self._axes, settled=True)
            n, c, shape = view.n, view.c, None
            numbers = None if labels is None else as_labels(labels, (n, view.m, c), self._resolved.multilabel)
            # The mean over one member is that member: no copy is made before `value` is read.
            given = self._given(p, view)
        each = 1 if shape is None else n // max(shape[0], 1)
        names, alphas = _texts(groups, n, "groups", each), self._handle.contents.alpha_count
        mask = np.empty((n, alphas, (c + 7) // 8), np.uint8)
        size = np.empty((n, alphas), np.int32)
        value: Array = np.empty((n, c)) if given is None else given
        p_value = np.empty((n, c)) if self._p_values else None
        places = _native.SetPlaces(_native.size(_native.SetPlaces))
        _native.check(_native.lib.vg_sets_feed(self._handle, byref(places), None, None, None))  # samples restart at 0
        for first, block, _owner in [(0, view, owner)] if sites is None else sites.blocks():
            places.mask, places.size = mask[first:].ctypes.data, size[first:].ctypes.data
            places.value = value[first:].ctypes.data if given is None else None
            places.p_value = None if p_value is None else p_value[first:].ctypes.data
            places.sites = 0 if shape is None else each
            at = None if numbers is None else numbers[first:].ctypes.data_as(c_void_p)
            held = names if sites is None or names is None else (c_char_p * block.n)(*names[first : first + block.n])
            _native.check(_native.lib.vg_sets_feed(self._handle, byref(places), byref(block), at, held))
        alpha = np.array(self._handle.contents.alphas[:alphas])
        return PredictionSets(alpha, mask, size, value, p_value, self._text(_FIGURES), self._text(_TABLE), shape)

    def _given(self, p: Any, view: _native.Predictions) -> Array | None:
        """The predictions (N, C), where the sets are made from exactly these."""
        shown, reading = self._handle.contents, self._resolved.options
        if self._changes_rows or reading.logits or reading.renormalise or reading.floor_form:
            return None
        if type(p) is not np.ndarray or p.dtype.kind != "f" or p.itemsize not in (4, 8) or view.m != 1:
            return None
        if self._axes not in (None, "NC", "NMC") or shown.multilabel or shown.gate == shown.gate:
            return None
        return p.reshape(len(p), view.c)

    def _text(self, document: int) -> str:
        text = c_void_p()
        _native.check(_native.lib.vg_sets_text(byref(text), self._handle, document))
        try:
            return string_at(text.value or 0).decode()
        finally:
            _native.lib.vg_free(text)

    @property
    def thresholds(self) -> npt.NDArray[np.float64]:
        """(A, cells): one for each alpha and cell; infinite where there are too few samples, and sets are full."""
        self._text(_THRESHOLDS)  # ends the calibration
        shown = self._handle.contents
        count = shown.alpha_count * shown.cell_count
        return np.array(shown.thresholds[:count]).reshape(shown.alpha_count, shown.cell_count)

    @property
    def settings(self) -> dict[str, Any]:
        """The file of `save` as a dictionary: score, lambda, k_reg, samples, thresholds."""
        found: dict[str, Any] = json.loads(self._text(_THRESHOLDS))
        return found

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the thresholds as JSON, for `load` and ``vargate sets --thresholds``."""
        Path(file).write_text(self._text(_THRESHOLDS) + "\n", encoding="utf-8")


class PredictionSets:
    """Sets of N samples at A alphas. Made by `sets`.

    Attributes
    ----------
    alpha : ndarray (A,)
    mask : ndarray (N, A, C) of bool
        Which classes a set holds.
    packed : ndarray (N, A, B) of uint8
        The same as ``numpy.packbits`` packs it.
    size : ndarray (N, A)
    value : ndarray (N, C)
        What the sets were made from: the mean over members, or the gated mean. Of one member it is the array that
        was given, not a copy: do not write into that array while the result is in use.
    p_value : ndarray (N, C), or None
    figures : list of dict
        For every alpha what ``vargate sets --json`` says: coverage, sizes, and their intervals.
    sites : tuple of int, or None
        Of images the shape (N, H, W) of the sites, which are the samples; ``size[:, 0].reshape(sites)`` is a map. The
        size of a site that is left out is -1.
    """

    def __init__(
        self,
        alpha: npt.NDArray[np.float64],
        packed: npt.NDArray[np.uint8],
        size: npt.NDArray[np.int32],
        value: Array,
        p_value: npt.NDArray[np.float64] | None,
        figures: str,
        table: str,
        sites: tuple[int, ...] | None = None,
    ) -> None:
        self.sites = sites
        self.alpha, self.packed, self.size, self.p_value = alpha, packed, size, p_value
        self._value = value
        self._figures: dict[str, Any] = json.loads(figures)
        self._table = table
        self.figures: list[dict[str, Any]] = self._figures["alphas"]

    def __len__(self) -> int:
        return len(self.size)

    def __repr__(self) -> str:
        return self._table.rstrip()

    @property
    def value(self) -> npt.NDArray[np.float64]:
        found: npt.NDArray[np.float64] = self._value.astype(np.float64, copy=False).view()
        found.flags.writeable = False
        return found

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        return np.unpackbits(self.packed, axis=-1, count=self._value.shape[1]).astype(bool)

    def classes(self, sample: int, alpha: int = 0) -> list[int]:
        """The classes of a sample's set at the alpha of that number, the most probable first."""
        row = np.unpackbits(self.packed[sample, alpha], count=self._value.shape[1]).astype(bool)
        order: Array = np.argsort(-self._value[sample], kind="stable")
        return [int(c) for c in order if row[c]]

    def to_dict(self) -> dict[str, Any]:
        """The document of ``vargate sets --json``."""
        return self._figures


def sets(
    p: Any,
    *,
    calibration: tuple[Any, ...] | Conformal | str | os.PathLike[str],
    labels: Any = None,
    groups: Any = None,
    p_values: bool = False,
    **options: Unpack[ConformalOptions],
) -> PredictionSets:
    """Prediction sets with a promised coverage (split conformal).

    Parameters
    ----------
    p : array_like (N, M, C), or (N, C) for one member; with `axes` of images ("MNCHW") every site has a set
    calibration : (predictions, labels) or (predictions, labels, groups), a `Conformal`, or a file of thresholds
    labels : array_like, optional
        True classes of `p`, for coverage in `PredictionSets.figures`.
    groups : array_like (N,), optional
        Groups of the samples, or of the images, with ``by="group"``.
    p_values : bool
        Give a p-value for every class.
    **options
        Of `Conformal`: `alpha`, `score`, `by`, `gated`, `seed`, ..., and of `vargate.score`: `logits`, ...

    Examples
    --------
    >>> import numpy as np, vargate
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([0.2, 0.2, 0.2], size=(400, 5))
    >>> y = np.array([rng.choice(3, p=row) for row in p.mean(axis=1)])
    >>> found = vargate.sets(p[200:], calibration=(p[:200], y[:200]), alpha=0.1, labels=y[200:])
    >>> found.mask.shape, 0.8 < found.figures[0]["coverage"] < 1
    ((200, 1, 3), True)
    """
    if isinstance(calibration, (Conformal, str, os.PathLike)):
        if p_values and not getattr(calibration, "_p_values", False):
            raise TypeError("p_values need calibration scores: give them to the Conformal, or (predictions, labels)")
        if not isinstance(calibration, Conformal):
            reading: Any = options  # others than those of `load` are refused by it
            calibration = Conformal.load(calibration, **reading)
        elif options:
            raise TypeError(f"{', '.join(options)}: a Conformal has its options already")
        return calibration.sets(p, labels=labels, groups=groups)
    if not isinstance(calibration, Sequence) or len(calibration) not in (2, 3):
        found = type(calibration).__name__
        raise TypeError(f"calibration is {found}, expected (predictions, labels), a Conformal or a file of thresholds")
    made = Conformal(p_values=p_values, **options).fit(
        calibration[0], calibration[1], groups=calibration[2] if len(calibration) > 2 else None
    )
    return made.sets(p, labels=labels, groups=groups)
