"""`calibrate`: temperatures or other calibration maps fitted to validation predictions."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from ctypes import byref, c_char_p, c_void_p, cast, pointer
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import as_labels, predictions, refuse_probabilities, whole
from ._document import Document
from ._options import Axes, choice, thread_count
from ._sites import fitted_sites

__all__ = ["Calibration", "calibrate"]

SOLVERS = ("newton", "bayes", "both")
METHODS = ("temperature", "vector", "dirichlet", "isotonic", "histogram", "venn-abers")
Method = Literal["temperature", "vector", "dirichlet", "isotonic", "histogram", "venn-abers"]
_ITEM_SIZES = {_native.F32: 4, _native.F64: 8, _native.F16: 2, _native.BF16: 2}


@dataclass(frozen=True, eq=False)
class Calibration(Document):
    """Fitted temperatures, or maps of another method, and what they do to the validation data.

    Attributes
    ----------
    temperatures : ndarray (1,) or (M,) float64, or None
        One for all members, or one per member; None where `maps` are the answer. Every function with `temperature` or
        `calibration_map` takes the whole object.
    method : str
    solver : str or None
        Of temperatures.
    shared, mean : bool
        One for all members; of the mean over members.
    maps : list of dict or None
        The numbers of every map, as ``vargate calibrate --json`` prints them.
    fits : list of dict or None
        How the fit of each map ended: ``loss``, ``gradient``, ``iterations``, ``converged``.
    comparison : dict or None
        With ``compare=True``: the method that is ``supported`` or ``"none"``, why (``text``), and the figures of each
        of the ``methods``.
    samples, members, classes, bins : int
    images : int or None
        Whose sites the samples are.
    nll_before, nll_after, ece_before, ece_after, accuracy_before, accuracy_after : float
        Of the mean distribution, at T = 1 and at `temperatures`.
    member : dict
        The same six, means over members, under the same names.
    newton, bayes : dict or None
        What each solver found: temperatures, losses, gradients, curvatures, steps, flags, sweeps.
    gap : dict or None
        How far the two are apart, when both ran; in log T None where no minimiser lies inside the range.
    held_out : dict or None
        ``nll``, ``ece``, ``accuracy`` and ``member_``... of every sample at temperatures, or a map, fitted without it:
        what to expect of new data, to be compared with the ``_before`` figures; ``nll_change_low``, ``_high`` and
        ``ece_change_low``, ``_high`` are 95 % intervals of the change.
    warning : str
        What `calibrate` warned of; empty when there was nothing.
    """

    temperatures: npt.NDArray[np.float64] | None
    method: str
    solver: str | None
    shared: bool
    mean: bool
    samples: int
    images: int | None
    members: int
    classes: int
    bins: int
    nll_before: float
    nll_after: float
    ece_before: float
    ece_after: float
    accuracy_before: float
    accuracy_after: float
    member: Mapping[str, float]
    newton: Mapping[str, Any] | None
    bayes: Mapping[str, Any] | None
    gap: Mapping[str, float | None] | None
    held_out: Mapping[str, float] | None
    warning: str
    maps: list[dict[str, Any]] | None
    fits: list[dict[str, Any]] | None
    comparison: Mapping[str, Any] | None
    _text: str

    def __repr__(self) -> str:
        t = self.temperatures
        if t is None:
            whose = "the mean" if self.mean else "all members" if self.shared else f"{self.members} members"
            shown = f"{self.method} of {whose}"
        else:
            shown = f"T = {t[0]:.4g}" if len(t) == 1 else f"T = {t.min():.4g} .. {t.max():.4g} of {len(t)} members"
        nll, ece = (
            f"NLL {self.nll_before:.4g} -> {self.nll_after:.4g}",
            f"ECE {self.ece_before:.4g} -> {self.ece_after:.4g}",
        )
        return f"<vargate.Calibration: {shown}; {nll}, {ece}>"


def calibrate(
    logits: Any,
    labels: Any,
    *,
    method: Method = "temperature",
    solver: Literal["newton", "bayes", "both"] = "newton",
    shared: bool = False,
    mean: bool = False,
    probabilities: bool = False,
    map_bins: int = 15,
    equal_mass: bool = False,
    off_diagonal: float = 1e-3,
    intercept: float = 1e-3,
    compare: bool = False,
    evaluations: int = 50,
    initial: int = 10,
    seed: int = 0,
    bins: int = 15,
    t_min: float = 0.01,
    t_max: float = 10.0,
    folds: int = 2,
    axes: Axes | None = None,
    ignore: int | None = None,
    threads: int | None = None,
) -> Calibration:
    """Temperatures, or other maps, that make predictions as likely as possible on held-out labels.

    Parameters
    ----------
    logits : array_like (N, M, C), or (N, C) for one member
        Validation logits, every one finite; with ``probabilities=True`` probabilities.
    labels : array_like (N,) of int
        True classes. All methods but temperature need a sample of every class.
    method : {"temperature", "vector", "dirichlet", "isotonic", "histogram", "venn-abers"}
        What is fitted; docs/calibration.md has the formulas and compares them.
    mean : bool
        One map, of the mean over members, in place of one per member; the members are moved to match it.
    probabilities : bool
        The input holds probabilities. A temperature then needs ``mean=True``.
    map_bins, equal_mass
        Of ``"histogram"``: bins of each class, and whether they hold equal numbers of samples.
    off_diagonal, intercept : float
        Of ``"dirichlet"``: penalties on the mean squares of the entries off the diagonal and of the biases.
    compare : bool
        Fit temperature, vector, isotonic and Venn-Abers maps too, each measured on samples that it was not fitted to;
        `Calibration.comparison` says which of them the data support, if any.
    solver : {"newton", "bayes", "both"}
        The exact minimiser, the paper's Gaussian-process search, or both and their gap.
    shared : bool
        One temperature or map for all members, as for Monte Carlo dropout, instead of one per member.
    evaluations, initial, seed : int
        Of the search: evaluations of the loss, how many of them before it is guided, its random draws.
    bins : int
        Of the calibration error.
    t_min, t_max : float
        The range both solvers look in. An end that is reached is warned of.
    folds : int
        For `held_out`: each fold at temperatures fitted to the others; 0: none. Of images folds have whole images, at
        most as many folds as images, and intervals count images; of one image nothing is held out.
    axes, ignore, threads
        As in `score`.

    Returns
    -------
    Calibration

    Warns
    -----
    UserWarning
        Once, with the library's text: temperatures at an end of the range, a loss that does not depend on T, one image
        of which nothing is held out, or figures of the ensemble that are worse at the temperatures than without them.

    Examples
    --------
    >>> import numpy as np, vargate
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, size=2000)
    >>> z = 6 * (np.eye(3)[y][:, None, :] + rng.normal(size=(2000, 4, 3)))     # far too confident
    >>> fit = vargate.calibrate(z, y)
    >>> fit.temperatures.shape, bool((fit.temperatures > 4).all())
    ((4,), True)
    >>> vargate.score(z, logits=True, temperature=fit).n
    2000
    """
    logits, labels, axes, ends = fitted_sites(logits, labels, axes, ignore, "logits")
    view, owner = predictions(logits, axes, "logits", settled=True)
    packed = as_labels(labels, (view.n, view.m, view.c), axes=axes)
    if not probabilities:
        refuse_probabilities(view, "logits", "pass the logits, or the logarithms of the probabilities")
    o = _native.CalibrateOptions(
        _native.size(_native.CalibrateOptions),
        choice("solver", solver, SOLVERS),
        bool(shared),
        t_min,
        t_max,
        1e-9,
        40,
        whole(evaluations, "evaluations", 1),
        whole(initial, "initial", 1),
        whole(seed, "seed", 0),
        whole(bins, "bins", 1, 10000),
        whole(folds, "folds", 0),
        thread_count(threads),
        _native.progress,
        None,
        choice("method", method, METHODS),
        bool(mean),
        bool(probabilities),
        whole(map_bins, "map_bins", 1, 10000),
        bool(equal_mass),
        off_diagonal,
        intercept,
        bool(compare),
        None if ends is None else ends.ctypes.data,
        0 if ends is None else len(ends),
    )
    fit, text = c_void_p(), c_void_p()
    row = view.stride_n * _ITEM_SIZES[view.dtype]

    def block(_: Any, first: int, rows: int, out: int) -> int:
        """Samples first .. first + rows - 1. A sweep over the data can take long; Ctrl-C is noticed between
        blocks."""
        at = _native.Predictions.from_address(out)
        pointer(at)[0] = view
        at.data, at.n = view.data + first * row, rows
        return _native.ERR_INTERRUPTED if _native.stopped() else _native.OK

    ask = _native.BlockFn(block)
    with _native.Interruptible():
        shape = (view.n, view.m, view.c)
        _native.check(_native.lib.vg_calibrate_blocks(byref(fit), ask, None, *shape, packed.ctypes.data, byref(o)))
    del owner
    try:
        _native.check(_native.lib.vg_temperatures_text(byref(text), fit))
    finally:
        _native.lib.vg_calibration_free(fit)
    try:
        found = _from_text((cast(text, c_char_p).value or b"").decode())
    finally:
        _native.lib.vg_free(text)
    if found.warning:
        warnings.warn(found.warning, stacklevel=2)
    return found


def _from_text(text: str) -> Calibration:
    d = json.loads(text)
    names = [f"{figure}_{when}" for figure in ("nll", "ece", "accuracy") for when in ("before", "after")]
    return Calibration(
        temperatures=np.array(d["temperatures"], dtype=np.float64) if "temperatures" in d else None,
        method=d.get("method", "temperature"),
        solver=d.get("solver"),
        mean=d.get("mean", False),
        maps=d.get("maps"),
        fits=d.get("fits"),
        comparison=d.get("comparison"),
        images=d.get("images"),
        **{name: d[name] for name in ("shared", "samples", "members", "classes", "bins")},
        **{name: d[name] for name in names},
        member={name: d[f"member_{name}"] for name in names},
        newton=d.get("newton"),
        bayes=d.get("bayes"),
        gap=d.get("gap"),
        held_out=d.get("held_out"),
        warning=d.get("warning", ""),
        _text=text,
    )
