"""`Scores` as tables: one row a sample, columns as in CSV files; class names where they are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._arrays import Array, as_names
from ._measures import SCORE_FIELDS

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from .scores import Scores

__all__ = ["table", "to_arrow", "to_pandas", "to_polars"]

_CLASSES = ("pred", "second", "decision")  # their values are numbers of classes


def table(s: Scores, classes: tuple[str, ...] | None) -> dict[str, Array]:
    """Columns by name: ``tu``, ``gtu@1``, ``mean_0`` or ``mean_cat``, multilabel ``gtu_0@1``."""
    out: dict[str, Array] = {}
    for name in s.keys():
        values = s._arrays[name]
        kind = SCORE_FIELDS[name][1]
        width = int(np.prod(values.shape[1:]))
        flat = values.reshape(s.n, width)
        for i in range(width):
            of = i // len(s._k) if kind == "k" else i
            label = f"_{classes[of] if classes else of}" if s.multilabel or kind == "c" else ""
            gate = f"@{_native.k_name(s._k[i % len(s._k)])}" if kind == "k" else ""
            out[name + label + gate] = flat[:, i]
    return out


def _parts(s: Scores, classes: Sequence[str] | None) -> tuple[dict[str, Array], tuple[str, ...] | None, list[str]]:
    """Columns, names of the classes, and the columns that hold numbers of classes."""
    names = s.classes if classes is None else as_names(classes, s.c)
    columns = table(s, names)
    coded = [] if s.multilabel or names is None else [c for c in columns if c.partition("@")[0] in _CLASSES]
    return columns, names, coded


def to_pandas(s: Scores, index: Any, classes: Sequence[str] | None) -> pd.DataFrame:
    import pandas as pd

    columns, names, coded = _parts(s, classes)
    data: dict[str, Any] = dict(columns)
    for name in coded:
        data[name] = pd.Categorical.from_codes(columns[name].astype(np.int64), categories=pd.Index(names))
    if index is None:
        index = pd.RangeIndex(s.n, name="n") if s.ids is None else pd.Index(s.ids, name="id")
    elif len(index) != s.n:
        raise ValueError(f"index has {len(index)} values, expected one for each of {s.n} samples")
    return pd.DataFrame(data, index=index)


def to_arrow(s: Scores, classes: Sequence[str] | None) -> pa.Table:
    import pyarrow as pa

    columns, names, coded = _parts(s, classes)
    data: dict[str, Any] = {} if s.ids is None else {"id": pa.array(s.ids)}
    for name, values in columns.items():
        packed = np.ascontiguousarray(values)
        if name in coded:
            codes = pa.array(packed, mask=packed < 0)
            data[name] = pa.DictionaryArray.from_arrays(codes, pa.array(names))
        else:
            data[name] = pa.array(packed)
    return pa.table(data)


def to_polars(s: Scores, classes: Sequence[str] | None) -> pl.DataFrame:
    import polars as pl

    columns, names, coded = _parts(s, classes)
    data: dict[str, Any] = {} if s.ids is None else {"id": pl.Series(s.ids.tolist())}
    for name, values in columns.items():
        if name in coded:
            texts = np.array([*(names or ()), None], dtype=object)[values]
            data[name] = pl.Series(texts.tolist(), dtype=pl.Enum(list(names or ())))
        else:
            data[name] = np.ascontiguousarray(values)
    return pl.DataFrame(data)
