"""`CalibrationMap`: a fitted map of any method, applied to predictions."""

from __future__ import annotations

import json
import os
import weakref
from ctypes import byref, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import predictions, refuse_probabilities

__all__ = ["CalibrationMap", "find_map", "take_map"]


class CalibrationMap:
    """What `calibrate` fitted, or the file it wrote, as a function of predictions.

    Functions with `temperature` and `calibration_map` take it; `apply` is for arrays that go elsewhere. It can be
    copied and pickled.

    Parameters
    ----------
    source : path or Calibration

    Attributes
    ----------
    method : str
        ``"temperature"``, ``"vector"``, ``"dirichlet"``, ``"isotonic"``, ``"histogram"`` or ``"venn-abers"``.

    Examples
    --------
    >>> import numpy as np, vargate
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, size=2000)
    >>> z = 6 * (np.eye(3)[y][:, None, :] + rng.normal(size=(2000, 4, 3)))
    >>> fit = vargate.calibrate(z, y, method="vector", mean=True)
    >>> p = vargate.CalibrationMap(fit).apply(z, logits=True)
    >>> p.shape, bool(np.allclose(p.sum(axis=2), 1))
    ((2000, 4, 3), True)
    """

    def __init__(self, source: Any) -> None:
        if isinstance(source, (str, os.PathLike)):
            self._text = Path(source).read_text(encoding="utf-8")
        else:
            self._text = source._text
        self._open()

    def _open(self) -> None:
        handle = c_void_p()
        text = self._text.lstrip()
        if not text.startswith("{"):
            raise ValueError("a calibration map is a JSON object, as 'vargate calibrate' writes it")
        _native.check(_native.lib.vg_calibration_map_load(byref(handle), text.encode()))
        self._handle = handle
        self._finalizer = weakref.finalize(self, _native.lib.vg_free, handle)
        self.method: str = json.loads(text).get("method", "temperature")

    def __getstate__(self) -> dict[str, Any]:
        return {"text": self._text}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._text = state["text"]
        self._open()

    def __repr__(self) -> str:
        return f"<vargate.CalibrationMap: {self.method}>"

    def apply(
        self, p: Any, *, logits: bool = False, axes: str | None = None, threads: int | None = None
    ) -> npt.NDArray[np.float64]:
        """Calibrated probabilities (N, M, C) of predictions (N, M, C), or (N, C) for one member."""
        return self._apply(p, logits, axes, threads, False)[0]

    def interval(
        self, p: Any, *, logits: bool = False, axes: str | None = None, threads: int | None = None
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Of a Venn-Abers map of the mean or of one member: p0 and p1 (N, C), between which lies the probability of
        each class. The map itself gives ``p1 / (1 - p0 + p1)``, divided by the sum over classes."""
        return self._apply(p, logits, axes, threads, True)[1:]

    def _apply(
        self, p: Any, logits: bool, axes: str | None, threads: int | None, interval: bool
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        view, owner = predictions(p, axes, settled=True)
        if logits:
            refuse_probabilities(view, "p", "leave out logits=True")
        out = np.empty((view.n, view.m, view.c))
        low, high = (np.empty((view.n, view.c) if interval else (0, 0)) for _ in range(2))
        places = (low.ctypes.data, high.ctypes.data) if interval else (None, None)
        if view.n:
            with _native.Interruptible():
                status = _native.lib.vg_calibration_map_apply(
                    out.ctypes.data, *places, self._handle, byref(view), bool(logits), threads or 0
                )
            _native.check(status)
        del owner
        return out, low, high


def _is_map(text: str) -> bool:
    try:
        held = json.loads(text)
    except ValueError:
        return False
    return isinstance(held, dict) and "maps" in held


def find_map(temperature: Any) -> CalibrationMap | None:
    """The map that is given in place of temperatures; None for temperatures and for nothing."""
    if temperature is None or isinstance(temperature, (int, float, np.ndarray, list, tuple)):
        return None
    if isinstance(temperature, CalibrationMap):
        return temperature if _is_map(temperature._text) else None
    if isinstance(temperature, (str, os.PathLike)):
        try:
            text = Path(temperature).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None  # the reader of temperatures reports the reason
        return CalibrationMap(temperature) if _is_map(text) else None
    return CalibrationMap(temperature) if getattr(temperature, "maps", None) is not None else None


def take_map(options: dict[str, Any]) -> tuple[CalibrationMap | None, bool]:
    """Takes a map out of options of `vargate.score`, which then are for the probabilities that it gives. Also whether
    its input is logits."""
    found, logits = find_map(options.get("temperature")), bool(options.get("logits", False))
    if found is not None:
        if options.get("multilabel"):
            raise ValueError("a calibration map is for classes that exclude each other, not for multilabel=True")
        options["temperature"], options["logits"] = None, False
    return found, logits
