"""Files of results, through the library's writers: beside, then renamed into place."""

from __future__ import annotations

import os
from collections.abc import Sequence
from ctypes import POINTER, addressof, byref, c_char_p, c_double, c_size_t, c_void_p, cast, pointer
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._arrays import Array
from ._measures import SCORE_INDEX, ScorePlaces

if TYPE_CHECKING:
    from .scores import Scores

__all__ = ["save_arrays", "save_scores", "save_text", "score_set", "texts"]


def save_arrays(arrays: dict[str, Array], path: str) -> None:
    """Writes named arrays to ``.npz`` or ``.safetensors``."""
    writer = c_void_p()
    lib = _native.lib
    _native.check(lib.vg_writer_open(byref(writer), os.fsencode(path)))
    try:
        for name, values in arrays.items():
            packed = np.asarray(values, order="C")
            shape = (c_size_t * max(packed.ndim, 1))(*packed.shape)
            element = _native.ELEMENTS[packed.dtype.str[1:]]
            _native.check(lib.vg_writer_array(writer, name.encode(), element, packed.ndim, shape, packed.ctypes.data))
    except BaseException:
        lib.vg_writer_abandon(writer)
        raise
    _native.check(lib.vg_writer_close(writer))


def save_text(text: str, path: str) -> None:
    """Writes a text file."""
    data = text.encode()
    _native.check(_native.lib.vg_text_save(os.fsencode(path), data, len(data)))


def texts(values: Sequence[str] | None) -> Any:
    """A C array of UTF-8 texts, or None."""
    return None if values is None else (c_char_p * max(len(values), 1))(*[value.encode() for value in values])


def score_set(s: Scores) -> tuple[_native.ScoreSet, list[object]]:
    """Scores as the library's set, and what must live as long as it."""
    places, keep = ScorePlaces(), list[object]()
    for name in s.keys():
        packed = np.ascontiguousarray(s._arrays[name])
        places[SCORE_INDEX[name]] = packed.ctypes.data
        keep.append(packed)
    k, names = _native.doubles(s._k), texts(s.classes)
    ids = texts(None if s.ids is None else [str(value) for value in s.ids])
    given = _native.ScoreSet(_native.size(_native.ScoreSet), s.n, s.m, s.c, s.logits, s.multilabel)
    given.k, given.k_count = cast(k, POINTER(c_double)), len(k)
    class_k = _native.doubles(s._class_k or ())
    if s._class_k is not None:
        given.class_k = cast(class_k, POINTER(c_double))
    given.scores, given.summary = addressof(places), pointer(s._figures)
    if s.labels is not None:
        given.labels = s.labels.ctypes.data
    if names is not None:
        given.class_names = cast(names, POINTER(c_char_p))
    if ids is not None:
        given.ids = cast(ids, POINTER(c_char_p))
    return given, [*keep, places, k, class_k, names, ids, s]


def save_scores(s: Scores, path: str, force: bool) -> None:
    """What ``vargate score -o`` writes, by the ending of the name."""
    options = _native.ScoreFileOptions(_native.size(_native.ScoreFileOptions), os.fsencode(path), force, 0)
    given, _keep = score_set(s)
    _native.check(_native.lib.vg_score_set_finish(None, byref(given), byref(options)))
