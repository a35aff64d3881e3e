"""`Scores` as tables: one row per sample, columns as in CSV files; class names where they are known."""

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

    from .evaluate import Evaluation
    from .ood import Ood
    from .scores import Scores

__all__ = ["evaluation_table", "ood_table", "table", "to_arrow", "to_pandas", "to_polars"]

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


def evaluation_table(e: Evaluation, what: str) -> pd.DataFrame:
    import pandas as pd

    names = pd.Index(range(e.c) if e.classes is None else e.classes, name="class")
    if what == "classes":
        rows = e.per_class if not e.per_label else [label.positive for label in e.per_label]
        table = pd.DataFrame([vars(row) for row in rows], index=names)
        return table if e.sites is not None else table.drop(columns="iou")
    if what == "confusion":
        if e.confusion is None:
            raise ValueError("there is no confusion matrix: labels of a multilabel set are not exclusive")
        return pd.DataFrame(e.confusion, index=names.rename("true"), columns=names.rename("predicted"))
    if what == "images":
        if e.sites is None:
            raise ValueError("there are no images: name their axes, evaluate(p, labels, axes='NMCHW')")
        return pd.DataFrame([vars(row) for row in e.images]).rename_axis("image")
    if what != "measures":
        raise ValueError(f"what is {what!r}, expected one of 'measures', 'classes', 'confusion', 'images'")
    figures = ("aurc", "eaurc", "augrc", "error_auroc", "error_aupr")
    table = pd.DataFrame({name: {f: getattr(row, f) for f in figures} for name, row in e.measures.items()}).T
    for name, row in e.measures.items():
        for at, value in row.risk_at_coverage.items():
            table.loc[name, f"risk@{at}"] = value
        for at, value in row.coverage_at_risk.items():
            table.loc[name, f"coverage@risk{at}"] = value
    return table.rename_axis("measure")


def ood_table(result: Ood) -> pd.DataFrame:
    import pandas as pd

    rows = {
        (name, measure): {figure: value for figure, value in vars(row).items() if figure != "intervals"}
        for name, one in result.sets.items()
        for measure, row in one.measures.items()
    }
    table = pd.DataFrame(list(rows.values()), index=pd.MultiIndex.from_tuples(rows, names=["set", "measure"]))
    return table.droplevel("set") if len(result.sets) == 1 else table
