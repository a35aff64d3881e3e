"""Room for the results of scoring: one allocation for small ones, an array each for large ones."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from ctypes import addressof, c_double, sizeof
from functools import lru_cache
from typing import Any

import numpy as np

from ._arrays import Array
from ._measures import SCORE_FIELDS, SCORE_INDEX, ScorePlaces

__all__ = ["allocate"]

_Fields = dict[str, tuple[int, tuple[int, ...], str]]
_DTYPES: dict[str, np.dtype[Any]] = {"f8": np.dtype(np.float64), "i4": np.dtype(np.int32), "u4": np.dtype(np.uint32)}
# Results of fewer values share one allocation.
_SMALL = 1 << 12
_LIST_BYTES = sizeof(ScorePlaces)


@lru_cache(maxsize=256)
def _layout(
    names: tuple[str, ...], shape: tuple[int, int, int], k_count: int, multilabel: bool
) -> tuple[_Fields, int, int, Any]:
    """Where each field begins in one block of memory (in doubles), its shape and element; the type of that block. For
    the library's list of addresses as one long number, 64 bits each: the offsets in bytes, and a 1 for each field that
    there is, so that ``present * address + offsets`` is the list."""
    n, _, c = shape
    shapes = (
        {"": (n, c), "k": (n, c, k_count), "c": (n, c)} if multilabel else {"": (n,), "k": (n, k_count), "c": (n, c)}
    )
    fields: _Fields = {}
    offsets = present = used = 0
    for name in names:
        element, kind = SCORE_FIELDS[name]
        fields[name] = (used, shapes[kind], element)
        offsets |= 8 * used << 64 * SCORE_INDEX[name]
        present |= 1 << 64 * SCORE_INDEX[name]
        used += math.prod(shapes[kind])
    return fields, offsets, present, c_double * used if used <= _SMALL * 64 else None


class _Block(Mapping[str, Array]):
    """Small results in one allocation, cut into arrays on first use: twenty arrays would cost more than the
    scoring."""

    __slots__ = ("_block", "_cut", "_fields")

    def __init__(self, block: Any, fields: _Fields) -> None:
        self._block = block
        self._fields = fields
        self._cut: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        found = self._cut.get(name)
        if found is None:
            first, shape, element = self._fields[name]
            found = np.frombuffer(self._block, _DTYPES[element], math.prod(shape), 8 * first).reshape(shape)
            self._cut[name] = found
        return found

    def __reduce__(self) -> tuple[type[dict[str, Array]], tuple[dict[str, Array]]]:
        return dict, (dict(self),)

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


def allocate(
    names: tuple[str, ...], shape: tuple[int, int, int], k_count: int, multilabel: bool
) -> tuple[Mapping[str, Array], Any]:
    """Room for the named fields, and the library's list of where they are."""
    fields, offsets, present, room = _layout(names, shape, k_count, multilabel)
    if room is not None and shape[0] * (len(names) + shape[2]) <= _SMALL:
        block = room()
        return _Block(block, fields), (present * addressof(block) + offsets).to_bytes(_LIST_BYTES, sys.byteorder)
    arrays: dict[str, Array] = {}
    places = ScorePlaces()
    for name, (_, field_shape, element) in fields.items():
        a = arrays[name] = np.empty(field_shape, _DTYPES[element])
        places[SCORE_INDEX[name]] = a.ctypes.data
    return arrays, places
