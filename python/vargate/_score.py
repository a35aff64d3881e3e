"""`score`: from predictions to `Scores`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._allocate import allocate
from ._arrays import Array, Shape, as_ids, as_labels, as_names, predictions, refuse_probabilities, wide_table
from ._maps import take_map
from ._measures import SCORE_INDEX, ScorePlaces
from ._options import (
    Axes,
    ClassGates,
    Form,
    Gates,
    LogBase,
    Pairs,
    Preset,
    Resolved,
    Sigma,
    Temperature,
    measure_names,
    rename_map,
    resolve_all,
)
from ._sites import Sites, as_sites, flat_labels, kept_sites
from .scores import Scores

if TYPE_CHECKING:
    from ._predictions import Predictions

__all__ = ["collect", "feed_sites", "refuse", "score"]

# Calls on fewer elements end before anybody could press a key.
_SHORT = 1 << 16


def collect(
    resolved: Resolved,
    arrays: Mapping[str, Array],
    shape: tuple[int, int, int],
    figures: _native.ScoreSummary,
    labels: npt.NDArray[np.int64] | None,
    classes: tuple[str, ...] | None = None,
    ids: Array | None = None,
    sites: tuple[int, ...] | None = None,
    kept: Array | None = None,
) -> Scores:
    """`Scores` from filled arrays."""
    return Scores(
        arrays,
        k=resolved.k,
        class_k=resolved.class_k,
        shape=shape,
        figures=figures,
        logits=resolved.logits,
        multilabel=resolved.multilabel,
        labels=labels,
        sample_sigma=resolved.sigma_margin == 1,
        classes=classes,
        ids=ids,
        sites=sites,
        kept=kept,
    )


def feed_sites(
    handle: Any, sites: Sites, arrays: Mapping[str, Array], resolved: Resolved, keep: Array | None = None
) -> None:
    """Scores every block of sites into `arrays`, of all sites, or of those that `keep` marks."""
    for first, view, _owner in sites.blocks() if keep is None else sites.kept_blocks(keep):
        places = ScorePlaces()
        for name, a in arrays.items():
            places[SCORE_INDEX[name]] = a.ctypes.data + first * a.strides[0]
        if resolved.options.logits and not resolved.multilabel and first == 0:
            refuse_probabilities(view, "p", "leave out logits=True")
        with _native.Interruptible():
            status = _native.lib.vg_scorer_feed(handle, places, byref(view), None)
        if status:
            refuse(status, view, resolved)


def _score_sites(
    sites: Sites, arrays: Mapping[str, Array], resolved: Resolved, keep: Array | None
) -> _native.ScoreSummary:
    handle, figures = c_void_p(), _native.ScoreSummary()
    _native.check(_native.lib.vg_scorer_new(byref(handle), sites.m, sites.c, resolved.address))
    try:
        feed_sites(handle, sites, arrays, resolved, keep)
        _native.check(_native.lib.vg_scorer_summary(handle, byref(figures)))
    finally:
        _native.lib.vg_scorer_free(handle)
    return figures


def _score_view(view: _native.Predictions, places: Any, resolved: Resolved, long: bool) -> _native.ScoreSummary:
    summary = _native.ScoreSummary()
    if long:
        with _native.Interruptible():
            status = _native.lib.vg_score(places, byref(summary), byref(view), resolved.address)
    else:
        status = _native.lib.vg_score(places, byref(summary), byref(view), resolved.address)
    if status:
        refuse(status, view, resolved)
    return summary


def refuse(status: int, view: _native.Predictions, resolved: Resolved) -> None:
    """Raises for a failed call; rows that are several members side by side get a message of their own."""
    advice = (
        wide_table(view)
        if status == _native.ERR_DATA and not resolved.options.logits and not resolved.multilabel
        else None
    )
    if advice is not None:
        raise ValueError(f"{_native.error(status)}; {advice}")
    _native.check(status)


def _from_file(path: str | os.PathLike[str], axes: Any, logits: bool, multilabel: bool) -> Predictions:
    from ._predictions import Predictions

    return Predictions(path, axes=axes, logits=True if logits else None, multilabel=multilabel)


def _mapped(
    p: Any, logits: bool, temperature: Any, calibration_map: Any, axes: Any, multilabel: bool, threads: int | None
) -> tuple[Any, bool, Any, Any]:
    """`p` after a calibration map; temperatures are left to the scorer."""
    how = {"temperature": temperature, "calibration_map": calibration_map, "logits": logits, "multilabel": multilabel}
    rename_map(how)
    found, was_logits = take_map(how)
    if found is None:
        return p, logits, how["temperature"], axes
    if set("HWD") & set(axes or ""):
        raise ValueError(
            "a calibration map takes arrays (N, M, C): score images from a file, or map their pixels first"
        )
    return found.apply(p, logits=was_logits, axes=axes, threads=threads), False, None, "NMC"


def score(
    p: Any,
    *,
    k: Gates = (1.0, 2.0, 3.0),
    logits: bool = False,
    temperature: Temperature = None,
    calibration_map: Temperature = None,
    class_k: ClassGates = None,
    labels: Any = None,
    ignore: int | None = None,
    preset: Preset = "paper",
    measures: str | Sequence[str] = "all",
    axes: Axes | None = None,
    multilabel: bool = False,
    threads: int | None = None,
    multilabel_form: Form = "continuous",
    pairs: Pairs | None = None,
    sigma: Sigma | None = None,
    log_base: LogBase | None = None,
    normalise: bool | None = None,
    renormalise: bool = False,
    floor: float | None = None,
    eps: float | None = None,
    classes: Sequence[str] | None = None,
    ids: Any = None,
) -> Scores:
    """Uncertainty of every sample of an ensemble's predictions.

    Parameters
    ----------
    p : array_like (N, M, C), or (N, C) for one member; or the path of a file
        Member m's prediction of class c for sample n: probabilities, or logits. A NumPy array, or anything with DLPack,
        ``__array_interface__`` or the buffer protocol, in host memory. float32, float64, float16 and bfloat16 are read
        in place, whatever the strides; other types are converted to float64 first. A file is read as by `load`,
        with the labels and names in it; whether it holds logits is known by its names.
    k : float or sequence of float; or GateFit or the path of its .json file
        Gate settings, each > 0. A result of `fit_k`, or its file, is `class_k` at the setting 1.
    logits : bool
        `p` holds logits.
    temperature : float, sequence, Calibration or path, optional
        Divides logits: one temperature or one per member, a result of `calibrate`, or the file it wrote.
    calibration_map : Calibration, CalibrationMap or path, optional
        The same option under the name that fits all methods of `calibrate`. A map of another method than temperature
        turns `p` into probabilities before it is scored.
    class_k : sequence of C floats, GateFit or path, optional
        A k for every class (multilabel: for every label), a result of `fit_k`, or the file it wrote: at setting k class
        c is gated with ``k * class_k[c]``, and the rule compares with the k of its two classes. ``k=1`` takes them as
        they are.
    labels : array_like of int, optional
        True classes (N,), or 0/1 (N, C) with `multilabel`; for the accuracies of `Scores.summary` and for `evaluate`.
        With `classes` also their names.
    ignore : int, optional
        Of label maps: sites with this label, often 255, are left out of the scores and of every figure; `Scores.map`
        marks them with NaN, and with -2 in `pred`, `second` and `decision`.
    preset : {"paper", "vge", "mljku"}
        Conventions: the paper's, its authors' later code's, or those of Schweighofer et al.
    measures : str or sequence of str
        What to compute, a list or text with commas: names of arrays (``"gtu@1"`` for that of `gtu`), or the groups
        ``all``, ``entropies``, ``pairwise``, ``baselines``, ``ungated``, ``gated``, ``margin``; `measures` lists them.
    axes : str, optional
        Order of the axes of `p`: ``"NMC"`` (None reads them so, too), ``"MNC"``, ..., or ``"NC"`` for one member. Of
        images and volumes with H, W and D, in any order: ``"NMCHW"``, ``"MNCHW"``; a list of PyTorch's (N, C, H, W),
        one per member, is ``"NCHW"``. Their sites are samples, counted in the order N, H, W, D; xarray's dims give
        the order. Labels are then maps (N, H, W). Without it a shape that looks like another
        order is refused: 256 members or more and four times as many as samples, unless labels decide.
    multilabel : bool
        Every class is a yes/no label of its own.
    threads : int, optional
        None or 0: one per core. Results do not depend on it.
    multilabel_form : {"continuous", "literal"}
        The multilabel GMU: continuous, or the paper's printed cases.
    pairs : {"all", "distinct"}, optional
        Member pairs in EPCE, EPKL, EPJS. None here and below: the preset's.
    sigma : {"population", "sample"}, optional
        Spread over members divided by M or M - 1, in the gate and in the margin.
    log_base : {"e", "2"}, optional
        Unit of entropies.
    normalise : bool, optional
        Divide TU, AU, EU and their gated forms by log C.
    renormalise : bool
        Divide rows by their sum instead of refusing them.
    floor, eps : float, optional
        The smallest probability in a logarithm; what keeps denominators from 0.
    classes : sequence of str, optional
        Names of the C classes, for `Scores.decide_names`, tables, files and evaluations.
    ids : array_like (N,), optional
        Names of the samples, for tables and files.

    Returns
    -------
    Scores

    Raises
    ------
    ValueError
        Rows that are not distributions (the message names the first), wrong shapes, unknown words.
    TypeError
        Elements that are not numbers, or arrays that are not in host memory.

    Examples
    --------
    Two members, three classes, one sample they agree on and one they do not:

    >>> import numpy as np, vargate
    >>> p = np.array([[[0.9, 0.05, 0.05], [0.9, 0.05, 0.05]], [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1]]])
    >>> s = vargate.score(p, k=(1, 2))
    >>> s.eu.round(3)
    array([0.   , 0.223])
    >>> s.decision
    array([[ 0,  0],
           [-1, -1]], dtype=int32)
    """
    named = type(p) is not np.ndarray and isinstance(p, (str, os.PathLike))
    if named and set("HWD") & set(axes or "") and os.fspath(p).endswith(".npy"):
        p, named = np.load(p, mmap_mode="r"), False
    if named:
        found = _from_file(p, axes, logits, multilabel)
        p, logits, axes = found.values, found.logits, "NMC"
        labels = found.labels if labels is None else labels
        classes = found.classes if classes is None else classes
        ids = found.ids if ids is None else ids
    if calibration_map is not None or temperature is not None:
        p, logits, temperature, axes = _mapped(p, logits, temperature, calibration_map, axes, multilabel, threads)
    sites = None if axes is None and type(p) is np.ndarray else as_sites(p, axes)  # the usual case costs nothing
    if sites is None:
        view, owner = predictions(p, axes, settled=labels is not None)
    shape: Shape = (view.n, view.m, view.c) if sites is None else (sites.n, sites.m, sites.c)
    long = shape[0] * shape[1] * shape[2] > _SHORT
    resolved = resolve_all(
        k=k,
        logits=logits,
        temperature=temperature,
        class_k=class_k,
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
        interruptible=long,
    )
    if logits and not multilabel and sites is None:
        refuse_probabilities(view, "p", "leave out logits=True")
    names = None if classes is None else as_names(classes, shape[2])
    packed_labels, kept = None, None
    if ignore is not None:
        kept = kept_sites(sites, labels, ignore)
        shape = (int(kept.sum()), *shape[1:])
    if labels is not None:
        flat = labels if sites is None else flat_labels(labels, sites)
        flat = flat if kept is None else flat[kept]
        packed_labels = as_labels(flat, shape, resolved.multilabel, axes=axes, classes=names)
    arrays, places = allocate(measure_names(measures, resolved.k), shape, len(resolved.k), resolved.multilabel)
    if sites is None:
        summary = _score_view(view, places, resolved, long)
        del owner
    else:
        summary = _score_sites(sites, arrays, resolved, kept)
    packed_ids = None if ids is None else as_ids(ids, shape[0])
    shaped = None if sites is None else sites.shape
    return collect(resolved, arrays, shape, summary, packed_labels, names, packed_ids, shaped, kept)
