"""Room for the results of scoring: one allocation for small ones, an array each for large ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import Array
from ._measures import SCORE_FIELDS, SCORE_INDEX, ScorePlaces

__all__ = ["allocate"]

Float64 = npt.NDArray[np.float64]
Places = npt.NDArray[np.uint64]
_DTYPES: dict[str, np.dtype[Any]] = {"f8": np.dtype(np.float64), "i4": np.dtype(np.int32), "u4": np.dtype(np.uint32)}
# Results of fewer values share one allocation.
_SMALL = 1 << 12


@lru_cache(maxsize=256)
def _layout(
    names: tuple[str, ...], shape: tuple[int, int, int], k_count: int, multilabel: bool
) -> tuple[dict[str, tuple[int, tuple[int, ...], str]], Places, Places, int]:
    """Where each field begins in one block of memory (in doubles), its shape and element; for the library, offsets in
    bytes and which there are (1) or not (0, and offset 0)."""
    n, _, c = shape
    shapes = (
        {"": (n, c), "k": (n, c, k_count), "c": (n, c)} if multilabel else {"": (n,), "k": (n, k_count), "c": (n, c)}
    )
    fields: dict[str, tuple[int, tuple[int, ...], str]] = {}
    offsets, present = np.zeros((2, len(ScorePlaces())), np.uint64)
    used = 0
    for name in names:
        element, kind = SCORE_FIELDS[name]
        fields[name] = (used, shapes[kind], element)
        if used < 1 << 32:  # offsets are for small results alone; sizes may be anything
            offsets[SCORE_INDEX[name]], present[SCORE_INDEX[name]] = 8 * used, 1
        used += math.prod(shapes[kind])
    return fields, offsets, present, used


class _Block(Mapping[str, Array]):
    """Small results in one allocation, cut into arrays when they are asked for: twenty arrays would cost more than the
    scoring."""

    __slots__ = ("_block", "_cut", "_fields")

    def __init__(self, block: Float64, fields: dict[str, tuple[int, tuple[int, ...], str]]) -> None:
        self._block = block
        self._fields = fields
        self._cut: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        found = self._cut.get(name)
        if found is None:
            first, shape, element = self._fields[name]
            size = math.prod(shape)
            found = self._block[first : first + size].view(_DTYPES[element])[:size].reshape(shape)
            self._cut[name] = found
        return found

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
    if shape[0] * (len(names) + shape[2]) <= _SMALL:
        fields, offsets, present, size = _layout(names, shape, k_count, multilabel)
        block = np.empty(size)
        places = ScorePlaces.from_buffer_copy((offsets + present * block.ctypes.data).data)
        return _Block(block, fields), places
    arrays: dict[str, Array] = {}
    places = ScorePlaces()
    for name, (_, field_shape, element) in _layout(names, shape, k_count, multilabel)[0].items():
        a = arrays[name] = np.empty(field_shape, _DTYPES[element])
        places[SCORE_INDEX[name]] = a.ctypes.data
    return arrays, places
