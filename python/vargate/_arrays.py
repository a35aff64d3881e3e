"""Arrays of any kind as views of their memory: where the data lie, their element type, shape and strides. Copies only
what must be.

Taken as they are: float32, float64, float16 and bfloat16, any strides. Copied: other types (to float64), foreign byte
order, and elements that are not aligned.
"""

from __future__ import annotations

import ctypes
import numbers
import operator
from collections.abc import Iterable, Sequence
from ctypes import POINTER, Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, NamedTuple, SupportsFloat

import numpy as np
import numpy.typing as npt

from . import _native

__all__ = [
    "Array",
    "Shape",
    "as_ids",
    "as_labels",
    "as_marks",
    "as_names",
    "as_view",
    "named_order",
    "predictions",
    "real",
    "reals",
    "whole",
]

Array = npt.NDArray[Any]
Shape = tuple[int, int, int]  # samples, members, classes

_CODES = {np.dtype(np.float32): _native.F32, np.dtype(np.float64): _native.F64, np.dtype(np.float16): _native.F16}


class View(NamedTuple):
    """Elements in memory; strides are in elements, `owner` keeps them alive."""

    address: int
    code: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    owner: object


# --- DLPack -----------------------------------------------------------------------------------------------------------


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
        f"{name} is not in host memory: pass {name}.cpu() (PyTorch), jax.device_get({name}) (JAX) "
        f"or cupy.asnumpy({name}) (CuPy)"
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


# --- NumPy ------------------------------------------------------------------------------------------------------------


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
        return View(_address(a), code, shape, _packed(shape), a)
    return View(a.ctypes.data, code, shape, tuple([s // a.itemsize for s in a.strides]), a)


def _address(a: Array) -> int:
    """Of a packed array; through the buffer protocol, where it serves, in a third of the time of ``a.ctypes``."""
    if a.flags.writeable and a.nbytes and a.dtype.kind == "f":
        return ctypes.addressof(ctypes.c_char.from_buffer(a))  # type: ignore[arg-type]
    return int(a.ctypes.data)


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
        shapes = [getattr(one, "shape", None) for one in p] if isinstance(p, (list, tuple)) else []
        for i, shape in enumerate(shapes):
            if shape is not None and shapes[0] is not None and shape != shapes[0]:
                raise ValueError(
                    f"{name}[{i}] has shape {tuple(shape)}, but {name}[0] has {tuple(shapes[0])}: expected one shape"
                ) from None
        raise ValueError(f"{name}: {error}") from None
    return _from_numpy(a, name)


# --- what the library takes -------------------------------------------------------------------------------------------

_ORDERS = {"NMC": (0, 1, 2), "MNC": (1, 0, 2), "NCM": (0, 2, 1), "MCN": (2, 0, 1), "CNM": (1, 2, 0), "CMN": (2, 1, 0)}

# Words that name an axis in xarray's dims; any other word does not determine the order.
_DIMS = {
    "N": ("n", "sample", "samples", "obs", "observation", "batch", "row", "image", "images", "scene"),
    "M": ("m", "member", "members", "model", "models", "head", "heads", "estimator", "draw", "pass", "ensemble"),
    "C": ("c", "class", "classes", "category", "label", "labels", "band", "channel", "channels"),
    "H": ("h", "height", "y", "lat", "latitude"),
    "W": ("w", "width", "x", "lon", "longitude"),
    "D": ("d", "depth", "z"),
}


def named_order(p: Any) -> str | None:
    """The order of the axes where `p` names all of its own (xarray): ``"MNC"``, ..."""
    dims = getattr(p, "dims", None)
    if not isinstance(dims, tuple) or not all(isinstance(dim, str) for dim in dims):
        return None
    letters = [next((letter for letter, words in _DIMS.items() if dim.lower() in words), "") for dim in dims]
    return "".join(letters) if all(letters) and len(set(letters)) == len(letters) else None


def _unnamed(p: Any) -> str:
    """Which of an array's dims say nothing, and what would."""
    dims = getattr(p, "dims", None)
    if not isinstance(dims, tuple) or not all(isinstance(dim, str) for dim in dims):
        return ""
    unknown = [dim for dim in dims if not any(dim.lower() in words for words in _DIMS.values())]
    known = ", ".join(f"{words[1]} ({letter})" for letter, words in _DIMS.items())
    return f"; its dims {', '.join(map(repr, unknown))} name none of {known}" if unknown else ""


def _check_kind(p: Any, axes: str | None, name: str) -> None:
    """Refuses tables, which do not say which of their numbers are members and which are classes."""
    if type(p) is np.ndarray:
        return
    if (hasattr(p, "__dataframe__") or hasattr(p, "columns")) and axes != "NC":
        raise TypeError(
            f"{name} is a table, whose columns do not say which are members and which are classes: "
            "pass axes='NC' for one member's class probabilities, or an array (samples, members, classes): "
            "table.to_numpy().reshape(samples, members, classes) of a wide table whose classes vary fastest"
        )
    order = named_order(p)
    if order is not None and order != (axes or ("NMC" if len(order) == 3 else "NC")):
        raise ValueError(f"{name} has dims {p.dims}, read as axes={axes or 'NMC'!r}: pass axes={order!r}")


def check_members(shape: Shape, name: str) -> None:
    """A few samples of very many members are more often members and samples the other way round."""
    n, m, _ = shape
    if m >= 256 and m >= 4 * n:
        raise ValueError(
            f"{name} has shape {shape}, read as {n} samples of {m} members: pass axes='MNC' if these are {n} members "
            f"and {m} samples, axes='NMC' if they are not"
        )


def predictions(
    p: Any, axes: str | None = None, name: str = "p", *, settled: bool = False
) -> tuple[_native.Predictions, object]:
    """Predictions as the library's view (N, M, C), and what keeps their memory alive.

    Without `axes` the order is NMC, and a shape that looks like another is refused unless `settled` (by labels, or by
    earlier blocks).
    """
    if type(p) is np.ndarray and axes is None and p.ndim == 3 and p.flags.c_contiguous and p.flags.aligned:
        code = _CODES.get(p.dtype)
        if code is not None:  # the usual case, in half the time
            n, m, c = p.shape
            if m >= 256 and not settled:
                check_members((n, m, c), name)
            return _native.Predictions(_address(p), code, n, m, c, m * c, c, 1), p
    _check_kind(p, axes, name)
    view = as_view(p, name)
    order = _ORDERS.get(axes or "NMC")
    if order is None and axes != "NC":
        raise ValueError(
            f"axes is {axes!r}, expected 'NMC' or 'MNC' (or another order of the three), 'NC' for one member, or "
            "letters of images and volumes, 'NMCHW' or 'MNCHWD' (in any order)"
        )
    shape, strides = view.shape, view.strides
    if len(shape) == 2 and axes in (None, "NC", "NMC"):
        shape, strides = (shape[0], 1, shape[1]), (strides[0], 0, strides[1])
    elif len(shape) == 3 and order is not None:
        n, m, c = order
        shape, strides = (shape[n], shape[m], shape[c]), (strides[n], strides[m], strides[c])
        if axes is None and not settled:
            check_members(shape, name)
    elif axes is not None and len(shape) in (2, 3):
        raise ValueError(f"{name} has {len(shape)} axes, but axes={axes!r} names {len(axes)}")
    else:
        raise ValueError(
            f"{name} has {len(shape)} axes, expected 3 (samples, members, classes), or 2 (samples, classes); of images "
            "and volumes name the axes: axes='NMCHW', or another order of N M C H W D (a list with one (N, C, H, W) "
            f"per member: axes='MNCHW'){_unnamed(p)}"
        )
    return _native.Predictions(view.address, view.code, *shape, *strides), view.owner


def refuse_probabilities(view: _native.Predictions, name: str, instead: str) -> None:
    """Raises where `logits` is set although the rows are distributions."""
    if _native.lib.vg_predictions_normalised(ctypes.byref(view)):
        raise ValueError(f"{name} holds probabilities (rows within [0, 1] that sum to 1), not logits: {instead}")


def wide_table(view: _native.Predictions) -> str | None:
    """For rows (N, C) that cannot be scored: what to write if each of them holds several members side by side."""
    if view.m != 1 or view.n == 0 or view.dtype not in (_native.F32, _native.F64):
        return None
    element = ctypes.c_float if view.dtype == _native.F32 else ctypes.c_double
    step = ctypes.sizeof(element) * view.stride_c
    total = sum(element.from_address(view.data + i * step).value for i in range(view.c))
    members = round(total) if np.isfinite(total) else 0
    if members < 2 or view.c % members or abs(total - members) > 1e-3 * members:
        return None
    return (
        f"row 0 of {view.c} values sums to {members}: if it holds {members} members of {view.c // members} classes "
        f"side by side, pass p.reshape({view.n}, {members}, {view.c // members})"
    )


# --- labels -----------------------------------------------------------------------------------------------------------


def _shape_hint(found: tuple[int, ...], shape: Shape, axes: str | None, multilabel: bool) -> str:
    if len(found) == 2 and found == (shape[0], shape[2]) and not multilabel:
        return ": pass labels.argmax(axis=1) if rows are one-hot, or multilabel=True if every class is a yes/no label"
    order = axes or "NMC"
    if not found or len(order) != 3:
        return ""
    for letter, size in (("M", shape[1]), ("C", shape[2])):
        if found[0] == size != shape[0]:
            swapped = order.translate(str.maketrans(f"N{letter}", f"{letter}N"))
            read = f"{shape[0]} samples, {shape[1]} members, {shape[2]} classes"
            return f": predictions are read as {read} (axes={order!r}); pass axes={swapped!r} if the {size} are samples"
    return ""


def as_names(classes: Sequence[str], count: int) -> tuple[str, ...]:
    """Names of `count` classes, all different."""
    names = tuple([str(name) for name in classes])
    if isinstance(classes, str) or len(names) != count:
        raise ValueError(f"classes has {len(names)} names, expected those of {count} classes")
    if len(set(names)) != count:
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"classes: {twice!r} occurs twice, expected {count} different names")
    return names


def as_ids(ids: Any, n: int) -> Array:
    """Names of `n` samples: whatever they are, one each."""
    packed = np.asarray(ids)
    if packed.shape != (n,):
        raise ValueError(f"ids has shape {packed.shape}, expected {(n,)}")
    return packed


def _numbered(a: Array, classes: tuple[str, ...], name: str) -> Array:
    """Labels that are names of classes as their numbers."""
    place = {text: i for i, text in enumerate(classes)}
    try:
        return np.array([place[text] for text in a.tolist()], np.int64)
    except KeyError as error:
        at = a.tolist().index(error.args[0])
        raise ValueError(f"{name}: label {at} is {error.args[0]!r}, expected one of {', '.join(classes)}") from None


def as_labels(
    labels: Any,
    shape: Shape,
    multilabel: bool = False,
    *,
    axes: str | None = None,
    name: str = "labels",
    classes: tuple[str, ...] | None = None,
) -> npt.NDArray[np.int64]:
    """Labels of predictions (N, M, C) as packed int64: N class numbers (or names of `classes`), or N x C values 0/1.
    Copied unless they are that already."""
    if getattr(labels, "requires_grad", False):
        labels = labels.detach()
    if hasattr(labels, "__dlpack_device__") and int(labels.__dlpack_device__()[0]) not in _DL_HOST:
        raise _elsewhere(name)
    a: Array = np.asarray(labels)
    n, _, c = shape
    expected = (n, c) if multilabel else (n,)
    if a.shape != expected:
        raise ValueError(
            f"{name} has shape {a.shape}, expected {expected}{_shape_hint(a.shape, shape, axes, multilabel)}"
        )
    if classes is not None and not multilabel and a.dtype.kind in "OUST":
        a = _numbered(a, classes, name)
    packed = as_integers(a, name)
    largest = 1 if multilabel else c - 1
    if packed.size and (int(packed.min()) < 0 or int(packed.max()) > largest):
        at = tuple(int(i) for i in np.argwhere((packed < 0) | (packed > largest))[0])
        where = at[0] if len(at) == 1 else at
        wanted = "0 or 1" if multilabel else f"0 to {largest}"
        raise ValueError(f"{name}: label {where} is {int(packed[at])}, expected {wanted}")
    return packed


def as_integers(a: Array, name: str) -> npt.NDArray[np.int64]:
    """Integers, bools, and floats without a fraction as int64; anything else is refused, nothing is rounded."""
    if a.dtype.kind == "f" and bool(np.all(a == np.trunc(a))):
        a = a.astype(np.int64)
    if a.dtype.kind not in "biu" and a.size:
        raise TypeError(
            f"{name} has dtype {a.dtype}, expected integers" + (" (no fractions)" if a.dtype.kind == "f" else "")
        )
    return np.ascontiguousarray(a, dtype=np.int64)


def as_marks(values: Any, name: str) -> npt.NDArray[np.bool_]:
    """Yes or no for each row: bools, or numbers that are 0 or 1; class numbers and probabilities are refused."""
    a: Array = np.asarray(values)
    if a.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {a.dtype}, expected bools")
    marks = np.ascontiguousarray(a, dtype=np.bool_)
    if a.dtype.kind != "b" and not bool(np.array_equal(a, marks)):
        raise ValueError(f"{name} has values other than 0 and 1, expected bools: pred != labels, for instance")
    return marks


# --- numbers ----------------------------------------------------------------------------------------------------------


def is_real(value: object) -> bool:
    """Python's and NumPy's numbers, arrays and tensors of no axes."""
    return isinstance(value, numbers.Real) or (
        getattr(value, "shape", None) == () and getattr(value, "dtype", None) != np.dtype("O")
    )


def real(value: Any, name: str, expected: str = "a number") -> float:
    """A number as a float."""
    if is_real(value):
        try:
            return float(value)
        except (TypeError, ValueError):
            pass
    raise TypeError(f"{name} is {value!r}, expected {expected}")


def reals(values: SupportsFloat | Iterable[SupportsFloat], name: str) -> tuple[float, ...]:
    """A number or several as a tuple of floats; text is refused, ``"12"`` is not 1 and 2.

    >>> import numpy as np
    >>> reals(np.float32(2), "k"), reals(np.arange(1, 3), "k")
    ((2.0,), (1.0, 2.0))
    """
    if type(values) is tuple and {*map(type, values)} == {float}:
        return values  # the usual case, in a fraction of the time
    if is_real(values):
        return (float(values),)  # type: ignore[arg-type]
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} is {values!r}, expected a number or several")
    return tuple([real(v, name, "numbers") for v in values])


def whole(value: Any, name: str, least: int, most: int | None = None) -> int:
    """A whole number, Python's or NumPy's, within bounds."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}, expected a whole number") from None
    if number < least or (most is not None and number > most):
        bounds = f"of {least} or more" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} is {number}, expected a whole number {bounds}")
    return number
