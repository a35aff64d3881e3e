"""Reading and writing .safetensors: 8 bytes of header length (little-endian), a JSON header, the arrays one after
another."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

__all__ = ["read", "write"]

_DTYPES = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "I32": "<i4", "I64": "<i8", "U8": "u1"}
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items()}


def read(path: str) -> tuple[dict[str, npt.NDArray[np.generic]], dict[str, str]]:
    """Every array of a file, and its metadata."""
    with open(path, "rb") as file:
        data = file.read()
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > len(data) - 8:
        raise ValueError(f"{path}: not a .safetensors file: {len(data)} bytes, header of {length}")
    try:
        header = json.loads(data[8 : 8 + length])
        metadata = header.pop("__metadata__", {})
        arrays = {}
        for name, entry in header.items():
            first, last = entry["data_offsets"]
            block = data[8 + length + first : 8 + length + last]
            arrays[name] = np.frombuffer(block, _DTYPES[entry["dtype"]]).reshape(entry["shape"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: damaged header: {error}") from None
    return arrays, metadata


def write(path: str, arrays: Mapping[str, npt.NDArray[np.generic]], metadata: Mapping[str, str]) -> None:
    """The file appears complete under its name, or not at all."""
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    offset = 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    handle, beside = tempfile.mkstemp(prefix=".tmp-", dir=os.path.dirname(os.path.abspath(path)))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for array in arrays.values():
                file.write(np.ascontiguousarray(array).tobytes())
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, 0o644)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
