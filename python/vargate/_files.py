"""Files of results, through the library's writers: beside, then renamed into place."""

from __future__ import annotations

import math
import os
from ctypes import byref, c_size_t, c_void_p
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._arrays import Array

if TYPE_CHECKING:
    from .scores import Scores

__all__ = ["save_arrays", "save_scores", "save_text"]


SCORES = 0  # VG_PRODUCT_SCORES


def save_arrays(arrays: dict[str, Array], path: str, product: int | None = None) -> None:
    """Writes named arrays to ``.npz`` or ``.safetensors``, marked as a product of the command where it is one."""
    writer = c_void_p()
    lib = _native.lib
    _native.check(lib.vg_writer_open(byref(writer), os.fsencode(path)))
    try:
        if product is not None:
            _native.check(lib.vg_writer_mark(writer, product))
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
    handle = c_void_p()
    lib = _native.lib
    data = text.encode()
    _native.check(lib.vg_text_open(byref(handle), os.fsencode(path)))
    status = lib.vg_text_write(handle, data, len(data))
    if status:
        error = _native.error(status)
        lib.vg_text_abandon(handle)
        raise error
    _native.check(lib.vg_text_close(handle))


def _real(value: float, json: bool) -> str:
    if math.isfinite(value):
        return format(value, ".17g")
    return "null" if json else "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _csv(s: Scores) -> str:
    table = s._table()
    names = ["n", *table, "diversity", "k_sensitivity"]
    tail = [_real(s.diversity, False), _real(s.k_sensitivity, False)]
    columns = [[_real(v, False) if a.dtype.kind == "f" else str(v) for v in a.tolist()] for a in table.values()]
    lines = [",".join(names)]
    lines += [",".join([str(n), *(column[n] for column in columns), *tail]) for n in range(s.n)]
    return "\n".join(lines) + "\n"


def _nested(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ",".join(map(_nested, value)) + "]"
    return _real(value, True) if isinstance(value, float) else str(value)


def _jsonl(s: Scores) -> str:
    fields = {name: s[name].tolist() for name in s}
    tail = f'"k":{_nested(list(s._k))},"diversity":{_real(s.diversity, True)},"k_sensitivity":{_real(s.k_sensitivity, True)}}}'
    lines = []
    for n in range(s.n):
        lines.append(
            f'{{"n":{n},' + "".join(f'"{name}":{_nested(values[n])},' for name, values in fields.items()) + tail + "\n"
        )
    return "".join(lines)


def save_scores(s: Scores, path: str) -> None:
    """What ``vargate score -o`` writes, by the ending of the name."""
    ending = os.path.splitext(path)[1].lower()
    if ending in (".npz", ".safetensors"):
        arrays = {name: s[name] for name in s}
        arrays |= {"k": s.k, "diversity": np.array(s.diversity), "k_sensitivity": np.array(s.k_sensitivity)}
        arrays |= {"members": np.array(float(s.m)), "member_variance": np.array(s._spread.member_variance)}
        arrays |= {
            "total_variance": np.array(s._spread.total_variance),
            "disagreement": np.array(s._spread.disagreement),
        }
        arrays |= {"abstained_at_1": np.array(s._spread.abstained)}
        save_arrays(arrays, path, SCORES)
    elif ending == ".csv":
        save_text(_csv(s), path)
    elif ending == ".jsonl":
        save_text(_jsonl(s), path)
    else:
        raise ValueError(f"{path}: the name must end in .npz, .safetensors, .csv or .jsonl")
