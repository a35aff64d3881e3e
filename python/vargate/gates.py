"""`fit_k`: a k of the gate for every class, fitted to validation predictions."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from ctypes import POINTER, byref, c_char_p, c_double, c_void_p, cast
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import as_labels, predictions, whole
from ._document import Document
from ._maps import take_map
from ._options import Axes, Temperature, rename_map, temperatures, thread_count
from ._sites import fitted_sites

__all__ = ["GateFit", "fit_k"]


@dataclass(frozen=True, eq=False)
class GateFit(Document):
    """A fitted k for every class, and one for all; ``class_k=`` of every function that scores takes the whole object.

    Attributes
    ----------
    k : ndarray (C,) float64, or (1,) with `one`
        What ``class_k=`` takes.
    by_class : ndarray (C,) float64
        A k for every class.
    k_one : float
        The k for all classes.
    samples, members, classes, bins, folds : int
    images : int or None
        Whose sites the samples are.
    before : dict
        ``nll``, ``ece`` and ``accuracy`` of the plain mean.
    figures : dict
        Under ``"by_class"`` and ``"one"``: ``after``, ``held_out`` (each with ``nll``, ``ece``, ``accuracy``),
        ``nll_change`` on held-out samples with ``nll_change_interval`` (95 %), ``converged``, ``gradient``,
        ``iterations``, ``at_min``, ``at_max``.
    supported : {"none", "one", "class"}
        What the held-out likelihood supports; `text` says why.
    warning : str
        What `fit_k` warned of; empty when there was nothing.
    """

    k: npt.NDArray[np.float64]
    by_class: npt.NDArray[np.float64]
    k_one: float
    samples: int
    images: int | None
    members: int
    classes: int
    bins: int
    folds: int
    before: Mapping[str, float]
    figures: Mapping[str, Mapping[str, Any]]
    supported: Literal["none", "one", "class"]
    text: str
    warning: str
    _text: str

    def __repr__(self) -> str:
        shown = f"k = {self.by_class.min():.4g} .. {self.by_class.max():.4g}, one k = {self.k_one:.4g}"
        return f"<vargate.GateFit: {shown}; supported: {self.supported}>"


def fit_k(
    p: Any,
    labels: Any,
    *,
    logits: bool = False,
    temperature: Temperature = None,
    calibration_map: Temperature = None,
    one: bool = False,
    k_min: float = 1e-3,
    k_max: float = 1e3,
    folds: int = 5,
    bins: int = 15,
    axes: Axes | None = None,
    ignore: int | None = None,
    threads: int | None = None,
) -> GateFit:
    """The k for every class that makes the mean of the gated members as likely as possible on held-out labels.

    Parameters
    ----------
    p : array_like (N, M, C)
        Validation predictions of M members: probabilities, or logits with ``logits=True``. With `axes` of images
        (``"MNCHW"``) every site is a sample, and labels are maps (N, H, W).
    labels : array_like (N,) of int
        True classes.
    logits, temperature, calibration_map, axes, ignore, threads
        As in `score`.
    one : bool
        `k` of the result, and of the file, is the one k for all classes.
    k_min, k_max : float
        Bounds of every k.
    folds : int
        Held-out figures: each fold at ks fitted to the others; 0: none. Of images folds have whole images, at most as
        many folds as images, and intervals count images; of one image nothing is held out.
    bins : int
        Of the calibration error.

    Returns
    -------
    GateFit

    Warns
    -----
    UserWarning
        The library's text, where the fit did not converge, a bound was reached, held-out samples become worse, or one
        image leaves nothing to hold out.

    Examples
    --------
    >>> import numpy as np, vargate
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, size=600)
    >>> z = 2 * np.eye(3)[y][:, None, :] + rng.normal(size=(600, 4, 3))
    >>> fit = vargate.fit_k(z, y, logits=True)
    >>> fit.k.shape
    (3,)
    >>> vargate.score(z, logits=True, k=1, class_k=fit).n
    600
    """
    how: dict[str, Any] = {"temperature": temperature, "calibration_map": calibration_map, "logits": logits}
    rename_map(how)
    mapping, was_logits = take_map(how)
    p, labels, axes, ends = fitted_sites(p, labels, axes, ignore)
    if mapping is not None:
        p, axes = mapping.apply(p, logits=was_logits, axes=axes, threads=threads), "NMC"
    view, owner = predictions(p, axes, settled=True)
    packed = as_labels(labels, (view.n, view.m, view.c), axes=axes)
    ts, logits = temperatures(how["temperature"]), how["logits"]
    held = _native.doubles(ts)
    o = _native.FitKOptions(
        _native.size(_native.FitKOptions),
        bool(logits),
        cast(held, POINTER(c_double)) if ts else None,
        len(ts),
        k_min,
        k_max,
        1e-9,
        200,
        whole(bins, "bins", 1, 1000),
        whole(folds, "folds", 0),
        thread_count(threads),
        None if ends is None else ends.ctypes.data,
        0 if ends is None else len(ends),
    )
    fit = c_void_p()
    _native.check(_native.lib.vg_fit_k(byref(fit), byref(view), packed.ctypes.data, byref(o)))
    del owner
    try:
        every = _text(fit, False)
        found = _from_text(_text(fit, True) if one else every, json.loads(every)["k"])
    finally:
        _native.lib.vg_free(fit)
    if found.warning:
        warnings.warn(found.warning, stacklevel=2)
    return found


def _text(fit: c_void_p, one: bool) -> str:
    text = c_void_p()
    _native.check(_native.lib.vg_k_fit_json(byref(text), fit, one))
    try:
        return (cast(text, c_char_p).value or b"").decode()
    finally:
        _native.lib.vg_free(text)


def _from_text(text: str, by_class: list[float]) -> GateFit:
    d = json.loads(text)
    return GateFit(
        k=np.array(d["k"], dtype=np.float64),
        by_class=np.array(by_class, dtype=np.float64),
        figures={name: d[name] for name in ("by_class", "one")},
        images=d.get("images"),
        warning=d.get("warning", ""),
        _text=text,
        **{
            name: d[name]
            for name in ("k_one", "samples", "members", "classes", "bins", "folds", "before", "supported", "text")
        },
    )
