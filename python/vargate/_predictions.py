"""Files of predictions and of scores, read back: `load`."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p, cast, string_at
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import Array, as_labels
from ._measures import FILE_ORDER, MEASURES, SCORE_FIELDS
from ._options import ReadingOptions, show_options
from ._parquet import is_parquet, parquet_as_text
from ._score import score
from ._summary import Spread, figures_of
from .calibrate import Calibration, _from_text
from .scores import Scores

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import ThreadedOptions

__all__ = ["Predictions", "load"]

_ELEMENTS: dict[int, Any] = {_native.F32: np.dtype(np.float32), _native.F64: np.dtype(np.float64)}


def _reading_options(
    *,
    key: str | None = None,
    axes: str | None = None,
    logits: bool | None = None,
    label: str | None = None,
    labels_from: int = 0,
    multilabel: bool | None = None,
    classes: str | None = None,
    id: str | None = None,
    member: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
) -> _native.PredictionOptions:

    def text(value: str | None) -> bytes | None:
        return None if value is None else value.encode()

    return _native.PredictionOptions(
        _native.size(_native.PredictionOptions),
        text(key),
        0,
        -1 if logits is None else int(bool(logits)),
        text(label),
        text(id),
        text(classes),
        text(member),
        -1 if multilabel is None else int(bool(multilabel)),
        labels_from,
        text(separator),
        text(decimal),
        text(axes),
    )


class Predictions:
    """An ensemble's predictions, with what is known of their samples. Made by `load` and `predict`.

    Attributes
    ----------
    values : ndarray (N, M, C)
        Probabilities, or logits; read on first use.
    logits : bool
        Which of the two.
    n, m, c : int
        Samples, members, classes.
    labels : ndarray or None
        True classes, where the file has them.
    classes : tuple of str or None
        Names of the classes, likewise.
    ids : ndarray of str or None
        Names of the samples, likewise.
    path : Path or None
        The file; None for predictions that are in memory alone.
    """

    def __init__(self, path: str | os.PathLike[str], **reading: Unpack[ReadingOptions]) -> None:
        self._file = Path(path)
        self._reading = _reading_options(**reading)
        self.path: Path | None = self._file
        self._values: Array | None = None
        n, m, c, logits = c_size_t(), c_size_t(), c_size_t(), c_int()
        with self._open() as file:
            _native.lib.vg_prediction_file_shape(file, byref(n), byref(m), byref(c), byref(logits))
            self.n, self.m, self.c, self.logits = n.value, m.value, c.value, bool(logits.value)
            self.labels = self._read_labels(file)
            classes = self._read_texts(_native.lib.vg_prediction_file_classes, file, self.c)
            ids = self._read_texts(_native.lib.vg_prediction_file_ids, file, self.n)
        self.classes = None if classes is None else tuple(classes)
        self.ids: Array | None = None if ids is None else np.array(ids)

    @contextmanager
    def _open(self) -> Iterator[c_void_p]:
        with ExitStack() as stack:
            parquet = is_parquet(self._file)
            text = stack.enter_context(parquet_as_text(self._file)) if parquet else self._file
            file = c_void_p()
            status = _native.lib.vg_prediction_file_open(byref(file), os.fsencode(text), byref(self._reading))
            if status and parquet:  # the message names the file that the caller knows
                error = _native.error(status)
                raise type(error)(str(error).replace(os.fspath(text), os.fspath(self._file)))
            _native.check(status)
            stack.callback(_native.lib.vg_prediction_file_close, file)
            yield file

    def _read_labels(self, file: c_void_p) -> npt.NDArray[np.int64] | None:
        found, columns = c_void_p(), c_size_t()
        _native.check(_native.lib.vg_prediction_file_labels(file, byref(found), byref(columns)))
        if not found.value:
            return None
        count = self.n * columns.value
        values = np.ctypeslib.as_array(cast(found, POINTER(c_int64)), (count,)).astype(np.int64)
        return values.reshape(self.n, columns.value) if columns.value > 1 else values

    @staticmethod
    def _read_texts(read: Any, file: c_void_p, count: int) -> list[str] | None:
        found = POINTER(c_char_p)()
        _native.check(read(file, byref(found)))
        return [(found[i] or b"").decode() for i in range(count)] if found else None

    @property
    def values(self) -> Array:
        if self._values is None:
            self._values = np.empty((0, self.m, self.c)) if not self.n else self._read()
        return self._values

    def _read(self) -> Array:
        view = _native.Predictions()
        with self._open() as file:
            _native.check(_native.lib.vg_prediction_file_block(file, 0, self.n, byref(view)))
            dtype = _ELEMENTS.get(view.dtype)
            if dtype is None:  # float16 and bfloat16 that lie in the file as they are
                return self._widened(view)
            strides = [step * dtype.itemsize for step in (view.stride_n, view.stride_m, view.stride_c)]
            lowest = sum(
                min(0, step * (size - 1)) for step, size in zip(strides, (self.n, self.m, self.c), strict=True)
            )
            reach = sum(abs(step) * (size - 1) for step, size in zip(strides, (self.n, self.m, self.c), strict=True))
            memory = np.frombuffer(string_at(view.data + lowest, reach + dtype.itemsize), np.uint8)
            shaped: Array = np.ndarray((self.n, self.m, self.c), dtype, memory, -lowest, strides)
            return np.ascontiguousarray(shaped)

    def _widened(self, view: _native.Predictions) -> Array:
        half = np.dtype(np.float16 if view.dtype == _native.F16 else np.uint16)
        strides = [step * 2 for step in (view.stride_n, view.stride_m, view.stride_c)]
        if min(strides) < 0:
            raise ValueError(f"{self._file}: a view of half precision that runs backwards cannot be read")
        reach = sum(step * (size - 1) for step, size in zip(strides, (self.n, self.m, self.c), strict=True))
        memory = np.frombuffer(string_at(view.data, reach + 2), np.uint8)
        shaped: Array = np.ndarray((self.n, self.m, self.c), half, memory, 0, strides)
        if half.kind == "f":
            return shaped.astype(np.float32)
        return (shaped.astype(np.uint32) << 16).view(np.float32)

    def score(self, **options: Unpack[ThreadedOptions]) -> Scores:
        """`vargate.score` of these predictions, with their labels and names."""
        how: dict[str, Any] = {"logits": self.logits, "classes": self.classes, **options}
        if self.labels is not None and self.labels.ndim == 2:
            how.setdefault("multilabel", True)
        return score(self.values, labels=self.labels, ids=self.ids, axes="NMC", **how)

    def __repr__(self) -> str:
        kind = "logits" if self.logits else "probabilities"
        return f"<vargate.Predictions: {kind} of {self.n} samples, {self.m} members, {self.c} classes>"


# --- scores -----------------------------------------------------------------------------------------------------------


def _arrays_of(path: Path) -> dict[str, Array]:
    """Every array of an .npz or .safetensors file; lists of texts in the metadata of the latter are arrays too."""
    if path.suffix.lower() == ".npz":
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    heading = json.loads(data[8 : 8 + size])
    lists = {key: text for key, text in heading.pop("__metadata__", {}).items() if key in ("classes", "id")}
    kinds = {"F64": "<f8", "I32": "<i4", "U32": "<u4"}
    out: dict[str, Array] = {key: np.array(json.loads(text)) for key, text in lists.items()}
    for name, row in heading.items():
        if row["dtype"] in kinds:
            first, last = row["data_offsets"]
            values = np.frombuffer(data[8 + size + first : 8 + size + last], kinds[row["dtype"]])
            out[name] = values.reshape(row["shape"])
    return out


_TEXTS = ("id", "pred_name")  # columns of tables that are names, not numbers


def _csv_arrays(path: Path) -> dict[str, Array]:
    """The columns of a CSV file put together again: ``mean_0``, ``gtu@1``, multilabel ``gtu_0@1``."""
    with path.open(encoding="utf-8", newline="") as file:
        heading, *rows = list(csv.reader(file))
    columns: dict[str, list[Array]] = {}
    gates: dict[float, None] = {}
    texts: dict[str, Array] = {}
    for name, cells in zip(heading, zip(*rows, strict=True) if rows else [()] * len(heading), strict=True):
        if name in _TEXTS:
            texts[name] = np.array(cells)
            continue
        values = np.array([float(cell) for cell in cells])
        stem, _, gate = name.partition("@")
        field, _, place = stem.rpartition("_")
        columns.setdefault(field if place.isdigit() and field in FILE_ORDER else stem, []).append(values)
        if gate:
            gates[float(gate)] = None
    out: dict[str, Array] = {"k": np.array(list(gates)), **texts}
    labels = len(columns.get("tu", columns.get("pred", [0])))
    for name, found in columns.items():
        table = np.stack(found, axis=1)
        kind = SCORE_FIELDS.get(name, ("f8", ""))[1]
        several = kind == "c" or labels > 1
        width = (table.shape[1] // max(len(gates), 1),) if several and kind == "k" else ()
        if kind == "k":
            out[name] = table.reshape(len(table), *width, max(len(gates), 1))
        else:
            out[name] = table if several and name in FILE_ORDER else table[:, 0]
    return out


def _jsonl_arrays(path: Path) -> dict[str, Array]:
    with path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    names = list(rows[0]) if rows else []

    def numbers(values: Any) -> Array:
        return np.array(values, dtype=np.float64)  # null, which stands for what is not finite, becomes NaN

    def text(value: Any) -> Any:
        return ";".join(value) if isinstance(value, list) else value  # names of labels: as in a table

    out = {name: np.array([text(row[name]) for row in rows]) for name in names if name in _TEXTS}
    if "k" in names:
        out["k"] = numbers(rows[0]["k"])
    return out | {name: numbers([row[name] for row in rows]) for name in names if name not in (*_TEXTS, "k")}


def _scalar(arrays: dict[str, Array], name: str) -> float:
    values = arrays.get(name)
    return float(values.reshape(-1)[0]) if values is not None and values.size else float("nan")


_TYPES = {"f8": np.float64, "i4": np.int32, "u4": np.uint32}


def _scores_of(found: dict[str, Array], path: Path, labels: Any) -> Scores:
    arrays: dict[str, Array] = {
        name: np.ascontiguousarray(found[name], dtype=_TYPES[SCORE_FIELDS[name][0]])
        for name in FILE_ORDER
        if name in found
    }
    if not arrays:
        raise ValueError(f"{path}: there are neither predictions nor scores in it")
    first = next(iter(arrays.values()))
    one = next((values for name, values in arrays.items() if SCORE_FIELDS[name][1] == ""), None)
    multilabel = one is not None and one.ndim == 2
    n = len(first)
    c = arrays["mean"].shape[1] if "mean" in arrays else one.shape[1] if one is not None and multilabel else 0
    m = _scalar(found, "members")
    names = ("member_variance", "total_variance", "disagreement", "abstained_at_1")
    spread = Spread(*(_scalar(found, name) for name in names))
    members = int(m) if m >= 1 else 0
    figures = figures_of(n, members, 2 if multilabel else c, _scalar(found, "diversity"), spread)
    figures.k_sensitivity = _scalar(found, "k_sensitivity")
    classes = tuple(map(str, found["classes"].tolist())) if "classes" in found else None
    return Scores(
        arrays,
        k=tuple(map(float, found.get("k", np.empty(0)))),
        class_k=tuple(map(float, found["class_k"])) if "class_k" in found else None,
        shape=(n, members, c),
        figures=figures,
        multilabel=multilabel,
        labels=None if labels is None else as_labels(labels, (n, members, c), multilabel, classes=classes),
        classes=classes,
        ids=found.get("id"),
    )


def _holds_scores(path: Path) -> dict[str, Array] | None:
    """The arrays of a file of scores; None for one of predictions."""
    ending = path.suffix.lower()
    if ending in (".npz", ".safetensors"):
        found = _arrays_of(path)
        return found if "k" in found and not {"P", "Z"} & set(found) and set(MEASURES) & set(found) else None
    with path.open(encoding="utf-8") as file:
        line = file.readline()
    if ending == ".csv" and line.rstrip().endswith("diversity,k_sensitivity"):
        return _csv_arrays(path)
    if ending == ".jsonl" and '"k_sensitivity"' in line and '"diversity"' in line:
        return _jsonl_arrays(path)
    return None


Kind = Literal["scores", "predictions", "calibration"]


@overload
def load(path: str | os.PathLike[str], kind: Literal["scores"], *, labels: Any = ...) -> Scores: ...
@overload
def load(
    path: str | os.PathLike[str],
    kind: Literal["predictions"],
    *,
    labels: None = ...,
    **reading: Unpack[ReadingOptions],
) -> Predictions: ...
@overload
def load(path: str | os.PathLike[str], kind: Literal["calibration"], *, labels: None = ...) -> Calibration: ...
@overload
def load(
    path: str | os.PathLike[str], kind: None = ..., *, labels: Any = ..., **reading: Unpack[ReadingOptions]
) -> Scores | Predictions | Calibration: ...
def load(
    path: str | os.PathLike[str],
    kind: Kind | None = None,
    *,
    labels: Any = None,
    **reading: Unpack[ReadingOptions],
) -> Scores | Predictions | Calibration:
    """Reads what vargate has written, or predictions in any format that it reads.

    Parameters
    ----------
    path : path
        Scores (`Scores.save`, ``vargate score -o``), predictions (``.npz``, ``.npy``, ``.safetensors``, ``.csv``,
        ``.tsv``, ``.jsonl``, ``.json``, any of them with ``.gz``, and Parquet where pyarrow is installed), or the
        temperatures of a calibration (``.json``).
    kind : {"scores", "predictions", "calibration"}, optional
        What is expected; another kind of file raises ValueError, and type checkers know what comes back.
    labels : array_like of int, optional
        Of scores, whose files do not have them.
    **reading
        Of predictions, the command's options of these names: `key`, `axes`, `logits`, `label`, `labels_from`,
        `multilabel`, `classes`, `id`, `member`, `separator`, `decimal`.

    Returns
    -------
    Scores, Predictions or Calibration

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np, vargate
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.npz"
    >>> s = vargate.score(np.random.default_rng(0).dirichlet(np.ones(3), size=(5, 4)), classes=["a", "b", "c"])
    >>> s.save(path)
    >>> again = vargate.load(path, "scores")
    >>> again.classes, bool((again.gtu == s.gtu).all()), again.verdict().name == s.verdict().name
    (('a', 'b', 'c'), True, True)
    """
    found = _load(Path(path), labels, reading)
    if kind is not None and type(found).__name__.lower() != kind:
        raise ValueError(f"{os.fspath(path)} holds {_KINDS[type(found)]}, expected {kind}")
    return found


_KINDS: dict[type, Kind] = {Scores: "scores", Predictions: "predictions", Calibration: "calibration"}


def _load(place: Path, labels: Any, reading: ReadingOptions) -> Scores | Predictions | Calibration:
    if place.suffix.lower() == ".json":
        text = place.read_text(encoding="utf-8")
        held = json.loads(text)
        if isinstance(held, dict) and ("temperatures" in held or "maps" in held) and "nll_before" in held:
            return _from_text(text)
    if place.suffix.lower() in (".npz", ".safetensors", ".csv", ".jsonl"):
        found = _holds_scores(place)
        if found is not None:
            return _scores_of(found, place, labels)
    if labels is not None:
        raise ValueError(f"{place} holds predictions: give labels to the function that takes them")
    return Predictions(place, **reading)


show_options(load, ReadingOptions, without=())
show_options(Predictions, ReadingOptions, without=())
show_options(Predictions.score, score)
