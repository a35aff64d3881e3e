"""Predictions of images and volumes: axes in any permutation of N M C H W D, read in place, block by block."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from ctypes import byref, c_char, c_size_t, c_ssize_t
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import Array, View, as_integers, as_view, named_order, whole

__all__ = ["Sites", "as_sites", "fitted_sites", "flat_labels", "kept_sites", "site_axes", "site_labels"]

_ITEM_SIZES = {_native.F32: 4, _native.F64: 8, _native.F16: 2, _native.BF16: 2}


def _is_list(p: Any) -> bool:
    return isinstance(p, (list, tuple)) and len(p) > 0 and all(hasattr(one, "shape") for one in p)


def _letters(p: Any, axes: str | None) -> str | None:
    """The axes where they are those of images; None: samples have one axis."""
    order = axes or named_order(p) or ""
    return order if set("HWD") & set(order) else None


def site_axes(p: Any, axes: str | None) -> str | None:
    """The axes of images or volumes in an array, a list with one array per member, or a file; None: of samples."""
    return _letters(p[0] if _is_list(p) else p, axes)


class Sites:
    """The sites (n, h, w) of predictions, each a sample: counted in the order N, H, W, D.

    `shape` is that of the sites, (N, H, W) or (N, H, W, D).
    """

    def __init__(self, views: Sequence[View], axes: str, name: str) -> None:
        self._views = views
        first = views[0]
        self._parts = [self._view(view, axes, name) for view in views]
        one = self._parts[0]
        if len(views) > 1 and one.m != 1:
            raise ValueError(f"{name} is a list of members, whose arrays have no axis M, but axes={axes!r} names it")
        for i, view in enumerate(views):
            if view.shape != first.shape:
                raise ValueError(
                    f"{name}: member {i} has shape {view.shape}, but member 0 has {first.shape}: members predict the "
                    "same sites and classes"
                )
        self.n, self.m, self.c = int(one.n), int(one.m) if len(views) == 1 else len(views), int(one.c)
        self.shape: tuple[int, ...] = tuple(one.shape[: 4 if "D" in axes else 3])

    @staticmethod
    def _view(view: View, axes: str, name: str) -> _native.Sites:
        out = _native.Sites(_native.size(_native.Sites))
        rank = len(view.shape)
        lengths, steps = (c_size_t * rank)(*view.shape), (c_ssize_t * rank)(*view.strides)
        status = _native.lib.vg_sites_view(byref(out), view.address, view.code, axes.encode(), rank, lengths, steps)
        if status:
            raise ValueError(f"{name}: {_native.error(status)}")
        return out

    def _block(self, part: _native.Sites, first: int) -> _native.Predictions:
        """vg_sites_block without a limit."""
        at, rest = 0, first
        for size, step in zip(reversed(part.shape), reversed(part.stride), strict=True):
            at += rest % size * step
            rest //= size
        address = (part.data or 0) + at * _ITEM_SIZES[part.dtype]
        rows = part.run - first % part.run
        return _native.Predictions(
            address, part.dtype, rows, part.m, part.c, part.stride_run, part.stride_m, part.stride_c
        )

    def blocks(self) -> Iterator[tuple[int, _native.Predictions, object]]:
        """The first site of a block, the block, and what keeps its memory alive."""
        if len(self._parts) == 1:
            for first in range(0, self.n, max(int(self._parts[0].run), 1)):
                yield first, self._block(self._parts[0], first), None
            return
        for image in range(self.shape[0]):  # members in several arrays: one image of all of them at a time
            yield from self._stacked(image)

    def kept_blocks(self, keep: Array) -> Iterator[tuple[int, _native.Predictions, object]]:
        """The same of the sites that `keep` marks, copied block by block."""
        done = 0
        for first, block, _owner in self.blocks():
            marks = keep[first : first + block.n]
            kind = np.dtype(np.uint16) if block.dtype == _native.BF16 else np.dtype(f"f{_ITEM_SIZES[block.dtype]}")
            steps = (block.stride_n, block.stride_m, block.stride_c)
            held = np.ascontiguousarray(_as_array(block.data, (block.n, block.m, block.c), steps, kind)[marks])
            if len(held) == 0:
                continue
            shape = (len(held), self.m, self.c)
            yield (
                done,
                _native.Predictions(held.ctypes.data, block.dtype, *shape, self.m * self.c, self.c, 1),
                held,
            )
            done += len(held)

    def packed(self, keep: Array | None = None) -> Array:
        """A copy (sites, M, C), for what reads samples in any order; bfloat16 is not read so. `keep` marks the sites
        that it has."""
        out: Array | None = None
        done = 0
        for first, block, _owner in self.blocks():
            size = _ITEM_SIZES[block.dtype]
            if block.dtype == _native.BF16:
                raise TypeError("bfloat16 images are not read here: pass them as float32")
            steps = (block.stride_n, block.stride_m, block.stride_c)
            part = _as_array(block.data, (block.n, block.m, block.c), steps, np.dtype(f"f{size}"))
            if keep is not None:
                part = part[keep[first : first + block.n]]
            if out is None:
                out = np.empty((self.n if keep is None else int(keep.sum()), self.m, self.c), part.dtype)
            out[done : done + len(part)] = part
            done += len(part)
        return np.empty((0, self.m, self.c)) if out is None else out

    def _stacked(self, image: int) -> Iterator[tuple[int, _native.Predictions, object]]:
        size = self.n // self.shape[0]
        kind: Any = {_native.F64: np.float64, _native.F32: np.float32, _native.F16: np.float16}.get(
            self._parts[0].dtype, np.uint16
        )
        held = np.empty((self.m, self.c, size), kind)
        for m, part in enumerate(self._parts):
            done = 0
            while done < size:
                block = self._block(part, image * size + done)
                rows = min(int(block.n), size - done)
                steps = (block.stride_c, block.stride_n)
                held[m, :, done : done + rows] = _as_array(block.data, (block.c, rows), steps, held.dtype)
                done += rows
        code = self._parts[0].dtype
        yield (
            image * size,
            _native.Predictions(held.ctypes.data, code, size, self.m, self.c, 1, self.c * size, size),
            held,
        )


def _as_array(address: int, shape: tuple[int, ...], steps: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A view of memory; `steps` are in elements."""
    ends = [step * (length - 1) for step, length in zip(steps, shape, strict=True)]
    low, high, size = sum(min(0, end) for end in ends), sum(max(0, end) for end in ends), dtype.itemsize
    memory: Any = (c_char * ((high - low + 1) * size)).from_address(address + low * size)
    out: Array = np.ndarray(shape, dtype, memory, -low * size, tuple(step * size for step in steps))
    return out


def as_sites(p: Any, axes: str | None, name: str = "p") -> Sites | None:
    """The sites of images or volumes: one array with these `axes` (or dims that name them), or a list with one array
    per member, whose axes have no M or begin with it. None where `axes` are those of samples."""
    several, letters = _is_list(p), site_axes(p, axes)
    if letters is None:
        return None
    if not several:
        return Sites([as_view(p, name)], letters, name)
    views = [as_view(one, f"{name}[{i}]") for i, one in enumerate(p)]
    if len({view.code for view in views}) > 1:
        raise ValueError(f"{name}: members have several element types, expected one")
    if letters[0] == "M" and len(letters) == len(views[0].shape) + 1:
        letters = letters[1:]  # the list is the axis of members
    return Sites(views, letters.replace("M", "") if len(views) == 1 else letters, name)


def flat_labels(labels: Any, sites: Sites, name: str = "labels") -> npt.NDArray[Any]:
    """Label maps (N, H, W) in the order of the sites."""
    a: Array = np.asarray(labels.detach() if getattr(labels, "requires_grad", False) else labels)
    squeezed = tuple(size for size in a.shape if size != 1)
    if squeezed != tuple(size for size in sites.shape if size != 1) or a.size != math.prod(sites.shape):
        raise ValueError(f"{name} has shape {a.shape}, but the predictions have sites {sites.shape}")
    return a.reshape(-1)


def kept_sites(sites: Sites | None, labels: Any, ignore: Any) -> npt.NDArray[np.bool_]:
    """Which sites are not left out."""
    if sites is None:
        raise ValueError("ignore leaves out sites of images: name their axes, axes='NMCHW'")
    if labels is None:
        raise ValueError(f"ignore={ignore!r} needs labels: label maps {sites.shape} of the images")
    marked: npt.NDArray[np.bool_] = as_integers(flat_labels(labels, sites), "labels") != whole(
        ignore, "ignore", -(2**63)
    )
    if not marked.any():
        raise ValueError(f"every site is left out by ignore={ignore!r}: none is left to score")
    return marked


def site_labels(sites: Sites, labels: Any, ignore: int | None) -> npt.NDArray[np.int64]:
    """Label maps in the order of the sites as class numbers, -1 where they are `ignore`."""
    out = as_integers(flat_labels(labels, sites), "labels")
    keep = np.ones(len(out), np.bool_) if ignore is None else kept_sites(sites, labels, ignore)
    wrong = np.flatnonzero(keep & ((out < 0) | (out >= sites.c)))
    if len(wrong):
        found = int(out[wrong[0]])
        raise ValueError(
            f"labels: site {int(wrong[0])} is {found}, expected 0 to {sites.c - 1}; if it marks sites to leave out, "
            f"give ignore={found}"
        )
    return out if ignore is None else np.where(keep, out, -1)


def fitted_sites(
    p: Any, labels: Any, axes: str | None, ignore: int | None, name: str = "p"
) -> tuple[Any, Any, str | None, npt.NDArray[np.uintp] | None]:
    """What a fit takes: predictions, labels and axes as they are, of images the sites that are not left out as samples
    (sites, M, C), and before which of these samples each image ends."""
    sites = as_sites(p, axes, name)
    if sites is None:
        if ignore is not None:
            kept_sites(sites, labels, ignore)  # raises
        return p, labels, axes, None
    numbers = site_labels(sites, labels, ignore)
    keep = numbers >= 0
    one_each = sites.n == sites.shape[0]  # images of one site are samples
    ends = None if one_each else keep.reshape(sites.shape[0], -1).sum(axis=1).cumsum().astype(np.uintp)
    return sites.packed(None if ignore is None else keep), numbers[keep], "NMC", ends
