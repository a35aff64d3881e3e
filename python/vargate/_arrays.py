"""Arrays of any kind as views of their memory: where the data lie, their element type, shape and strides. Copies only what must be.

Taken as they are: float32, float64, float16 and bfloat16, any strides. Copied: other types (to float64), foreign byte order, and
elements that are not aligned.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _native

__all__ = ["Array", "as_labels", "as_view", "predictions"]

Array = npt.NDArray[Any]

_CODES = {np.dtype(np.float32): _native.F32, np.dtype(np.float64): _native.F64, np.dtype(np.float16): _native.F16}


class View(NamedTuple):
    """Elements in memory; strides are in elements, `owner` keeps them alive."""

    address: int
    code: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    owner: object


# --- DLPack -------------------------------------------------------------------------------------------------------------------


class _DLTensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]

_DL_HOST = (1, 3, 11)  # CPU, and host memory pinned for CUDA or ROCm
_DL_CODES = {(2, 32): _native.F32, (2, 64): _native.F64, (2, 16): _native.F16, (4, 16): _native.BF16}
_DL_NUMPY = {0: "i", 1: "u", 6: "b"}


def _elsewhere(name: str) -> TypeError:
    return TypeError(
        f"{name} is not in host memory: pass {name}.cpu() (PyTorch), jax.device_get({name}) (JAX) or cupy.asnumpy({name}) (CuPy)"
    )


def _from_dlpack(p: Any, name: str) -> View:
    if getattr(p, "requires_grad", False):
        p = p.detach()
    device = getattr(p, "__dlpack_device__", None)
    if device is not None and int(device()[0]) not in _DL_HOST:
        raise _elsewhere(name)
    capsule = p.__dlpack__()
    tensor = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    if tensor.device_type not in _DL_HOST:
        raise _elsewhere(name)
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else _packed(shape)
    code = _DL_CODES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if code is None:
        if tensor.lanes == 1 and tensor.code in _DL_NUMPY:
            return _from_numpy(np.from_dlpack(p), name)
        raise TypeError(f"{name} holds elements that are not numbers vargate can read")
    return View((tensor.data or 0) + tensor.byte_offset, code, shape, strides, (p, capsule))


def _packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(shape) == 3:
        return shape[1] * shape[2], shape[2], 1
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


# --- NumPy --------------------------------------------------------------------------------------------------------------------


def _from_numpy(a: Array, name: str) -> View:
    code = _CODES.get(a.dtype)
    if code is None:
        if a.dtype.kind == "V" and a.dtype.name == "bfloat16" and a.dtype.isnative:
            code = _native.BF16
        elif a.dtype.kind in "biuf":
            a, code = a.astype(np.float64), _native.F64
        else:
            raise TypeError(
                f"{name} has dtype {a.dtype}, expected numbers (float16, bfloat16, float32 or float64 without a copy)"
            )
    flags, shape = a.flags, a.shape
    if not flags.aligned or (not flags.c_contiguous and any(s % a.itemsize for s in a.strides)):
        a = np.ascontiguousarray(a)
        flags = a.flags
    if flags.c_contiguous:
        return View(a.ctypes.data, code, shape, _packed(shape), a)
    return View(a.ctypes.data, code, shape, tuple([s // a.itemsize for s in a.strides]), a)


def as_view(p: Any, name: str) -> View:
    """A view of anything array-like, without a copy where the element type allows it."""
    if type(p) is np.ndarray:
        return _from_numpy(p, name)
    if isinstance(p, np.ma.MaskedArray) and np.ma.is_masked(p):
        raise ValueError(f"{name} has masked elements, expected every prediction to be there")
    if isinstance(p, np.ndarray):
        return _from_numpy(np.asarray(p), name)
    if hasattr(p, "__dlpack__"):
        return _from_dlpack(p, name)
    if hasattr(p, "__cuda_array_interface__"):
        raise _elsewhere(name)
    try:
        a = np.asarray(p)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return _from_numpy(a, name)


# --- what the library takes ------------------------------------------------------------------------------------------------------

_ORDERS = {"NMC": (0, 1, 2), "MNC": (1, 0, 2), "NCM": (0, 2, 1), "MCN": (2, 0, 1), "CNM": (1, 2, 0), "CMN": (2, 1, 0)}


def predictions(p: Any, axes: str = "NMC", name: str = "p") -> tuple[_native.Predictions, object]:
    """Predictions as the library's view (N, M, C), and what keeps their memory alive."""
    view = as_view(p, name)
    order = _ORDERS.get(axes)
    if order is None:
        raise ValueError(f"axes is {axes!r}, expected 'NMC' or 'MNC' (or another order of the three)")
    shape, strides = view.shape, view.strides
    if len(shape) == 2:
        shape, strides = (shape[0], 1, shape[1]), (strides[0], 0, strides[1])
    elif len(shape) == 3:
        n, m, c = order
        shape, strides = (shape[n], shape[m], shape[c]), (strides[n], strides[m], strides[c])
    else:
        raise ValueError(f"{name} has {len(shape)} axes, expected 3 (samples, members, classes), or 2 (samples, classes)")
    return _native.Predictions(view.address, view.code, *shape, *strides), view.owner


def as_labels(labels: Any, n: int, columns: int, name: str = "labels") -> npt.NDArray[np.int64]:
    """Labels as packed int64: N classes, or N x columns values 0/1 when columns > 0. Copied unless they are that already."""
    if getattr(labels, "requires_grad", False):
        labels = labels.detach()
    if hasattr(labels, "__dlpack_device__") and int(labels.__dlpack_device__()[0]) not in _DL_HOST:
        raise _elsewhere(name)
    a: Array = np.asarray(labels)
    expected = (n, columns) if columns else (n,)
    if a.shape != expected:
        raise ValueError(f"{name} has shape {a.shape}, expected {expected}")
    if a.dtype.kind == "f" and bool(np.all(a == np.trunc(a))):
        a = a.astype(np.int64)
    if a.dtype.kind not in "biu" and a.size:
        raise TypeError(f"{name} has dtype {a.dtype}, expected integers")
    return np.ascontiguousarray(a, dtype=np.int64)


def reals(values: float | Sequence[float] | Array, name: str) -> tuple[float, ...]:
    """A number or several as a tuple of floats."""
    if isinstance(values, (int, float)):
        return (float(values),)
    try:
        return tuple(float(v) for v in values)
    except TypeError:
        raise TypeError(f"{name} is {values!r}, expected numbers") from None
