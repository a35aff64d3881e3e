"""`score` and what it gives: one array a measure, named as in the file of ``vargate score -o``."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from ctypes import byref
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import Array, as_labels, predictions, real, refuse_probabilities, wide_table
from ._options import (
    FILE_ORDER,
    Axes,
    Form,
    Gates,
    LogBase,
    Pairs,
    Preset,
    Resolved,
    Sigma,
    Temperature,
    gate_of,
    measure_names,
    resolve,
)
from ._summary import NO_SPREAD, ScoreSummary, Spread, Verdict, finite, share, statistics, verdict

if TYPE_CHECKING:
    import pandas as pd

    from .decide import Selection

__all__ = ["ScoreSummary", "Scores", "Verdict", "score"]

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
UInt32 = npt.NDArray[np.uint32]
_T = TypeVar("_T")

_DTYPES: dict[str, np.dtype[Any]] = {"f8": np.dtype(np.float64), "i4": np.dtype(np.int32), "u4": np.dtype(np.uint32)}
_MEASURES = FILE_ORDER[:14]
# Calls on fewer elements end before anybody could press a key.
_SHORT = 1 << 16
# Results of fewer values share one allocation.
_SMALL = 1 << 12


class _Field(Generic[_T]):
    """An array of `Scores`, or the reason why it is not there."""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, scores: None, owner: type[Any]) -> _Field[_T]: ...
    @overload
    def __get__(self, scores: Scores, owner: type[Any]) -> _T: ...
    def __get__(self, scores: Scores | None, owner: type[Any]) -> _T | _Field[_T]:
        if scores is None:
            return self
        try:
            return scores._arrays[self.name]  # type: ignore[return-value]
        except KeyError:
            raise AttributeError(f"{self.name} was not computed; measures={self.name!r} asks for it") from None


class Scores:
    """Uncertainty of every sample. Made by `score` and `Scorer.feed`.

    Attributes
    ----------
    tu, au, eu, epce, epkl, epjs : ndarray (N,) float64
        Total, aleatoric and epistemic uncertainty; the three pairwise measures.
    gmu, snr : ndarray (N,) float64
        Variance-gated margin uncertainty, and margin over spread.
    gtu, gau, geu, gepce, gepkl, gepjs : ndarray (N, K) float64
        The gated forms, one column for each of the K gate settings.
    pred, second : ndarray (N,) int32
        Classes of largest and second largest mean.
    decision : ndarray (N, K) int32
        The class, or -1 for "uncertain".
    mean, std : ndarray (N, C) float64
        Member mean and population spread.
    flags : ndarray (N,) uint32
        Bit 0: a member was gated to nothing at some k and left ungated. Bit 1: the two largest means are equal.
    k : ndarray (K,) float64
        The gate settings.
    diversity, k_sensitivity : float
        Mean variance over members; ``1 - mean(gtu at the largest k) / mean(tu)``, NaN unless both were computed.
    n, m, c : int
        Samples, members, classes.
    logits, multilabel : bool
        What the input was.
    labels : ndarray or None
        The labels given, int64.

    In multilabel mode (N,) becomes (N, C) and (N, K) becomes (N, C, K). An attribute that `measures` left out raises
    AttributeError.

    Examples
    --------
    >>> import vargate
    >>> s = vargate.score([[[0.8, 0.2], [0.6, 0.4]], [[0.9, 0.1], [0.9, 0.1]]])
    >>> s.pred
    array([0, 0], dtype=int32)
    >>> s.decide(1)
    array([0, 0], dtype=int32)
    >>> s.decide(3)
    array([-1,  0], dtype=int32)
    """

    tu = _Field[Float64]()
    au = _Field[Float64]()
    eu = _Field[Float64]()
    epce = _Field[Float64]()
    epkl = _Field[Float64]()
    epjs = _Field[Float64]()
    gmu = _Field[Float64]()
    snr = _Field[Float64]()
    gtu = _Field[Float64]()
    gau = _Field[Float64]()
    geu = _Field[Float64]()
    gepce = _Field[Float64]()
    gepkl = _Field[Float64]()
    gepjs = _Field[Float64]()
    pred = _Field[Int32]()
    second = _Field[Int32]()
    decision = _Field[Int32]()
    mean = _Field[Float64]()
    std = _Field[Float64]()
    flags = _Field[UInt32]()

    def __init__(
        self,
        arrays: Mapping[str, Array],
        *,
        k: tuple[float, ...],
        shape: tuple[int, int, int],
        logits: bool = False,
        multilabel: bool = False,
        diversity: float = math.nan,
        k_sensitivity: float = math.nan,
        spread: Spread = NO_SPREAD,
        labels: npt.NDArray[np.int64] | None = None,
        sample_sigma: bool = False,
    ) -> None:
        self._arrays = arrays
        self._k = k
        self.n, self.m, self.c = shape
        self.logits = logits
        self.multilabel = multilabel
        self.diversity = diversity
        self.k_sensitivity = k_sensitivity
        self._spread = spread
        self.labels = labels
        self._sample_sigma = sample_sigma

    # --- as a mapping of arrays ---------------------------------------------------------------------------------------

    @property
    def k(self) -> Float64:
        return np.array(self._k)

    def keys(self) -> list[str]:
        """Names of the arrays that were computed, in the order of files."""
        return [name for name in FILE_ORDER if name in self._arrays]

    def __getitem__(self, name: str) -> Array:
        """An array by name; ``"gtu@1"`` is one column of a gated one.

        >>> import vargate
        >>> s = vargate.score([[[0.7, 0.3], [0.5, 0.5]]], k=(1, 2))
        >>> s["gtu@2"].shape
        (1,)
        """
        stem, at, gate = name.partition("@")
        if stem not in self._arrays:
            raise KeyError(name)
        if not at:
            return self._arrays[stem]
        place = gate_of(gate, self._k)
        if place is None or _native.SCORE_FIELDS[stem][1] != "k":
            raise KeyError(name)
        column: Array = self._arrays[stem][..., place]
        return column

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return self.n

    def columns(self) -> dict[str, Float64]:
        """Every computed measure by name, gated ones split by k: ``{"tu": ..., "gtu@1": ...}``, as evaluation lists
        them."""
        out: dict[str, Float64] = {name: self._arrays[name] for name in _MEASURES[:8] if name in self._arrays}
        for i, k in enumerate(self._k):
            out |= {
                f"{name}@{_native.k_name(k)}": self._arrays[name][..., i]
                for name in _MEASURES[8:]
                if name in self._arrays
            }
        return out

    # --- decisions ----------------------------------------------------------------------------------------------------

    def decide(self, k: float | Selection = 1.0) -> Int32:
        """The decision rule at `k`: the predicted class, or -1 where the classes cannot be told apart.

        Parameters
        ----------
        k : float or Selection
            Gate setting, > 0. One of those scored is taken from `decision`; any other is solved from `mean` and `std`.
            Or what `select_k` or `select_threshold` chose.

        Returns
        -------
        ndarray (N,) int32; multilabel (N, C)
        """
        chosen: Any = k
        if hasattr(chosen, "threshold"):
            if chosen.by != "k":
                values, least = self[chosen.by], chosen.threshold
                return np.where(values > least if chosen.by == "snr" else values < least, self.pred, np.int32(-1))
            k = float(chosen.threshold)
        k = real(k, "k", "a number > 0, or what select_k or select_threshold chose")
        if "decision" in self._arrays and k in self._k:
            column: Int32 = self.decision[..., self._k.index(k)].copy()
            return column
        if not (math.isfinite(k) and k > 0):
            raise ValueError(f"k is {k!r}, expected a number > 0")
        return np.where(self.margin_ratio() > k, self.pred, np.int32(-1))

    def margin_ratio(self) -> Float64:
        """The largest k at which the decision rule keeps each sample; needs ``pred``, ``second``, ``mean`` and ``std``."""
        mean, std, pred = self.mean, self.std, self.pred
        if self._sample_sigma and self.m > 1:
            std = std * math.sqrt(self.m / (self.m - 1))
        ratio = np.empty(pred.shape)
        if self.multilabel:
            _native.check(_native.lib.vg_margin_ratio_multilabel(_at(ratio), _at(mean), _at(std), ratio.size))
        else:
            second = self.second
            _native.check(
                _native.lib.vg_margin_ratio(_at(ratio), _at(mean), _at(std), _at(pred), _at(second), self.n, self.c)
            )
        return ratio

    # --- figures ------------------------------------------------------------------------------------------------------

    def verdict(self) -> Verdict:
        """Whether the members disagree and the ensemble decides, with the figures it rests on; whatever `k` and
        `measures` are.

        >>> import numpy as np, vargate
        >>> member = np.random.default_rng(0).dirichlet([0.3] * 4, size=(50, 1))
        >>> vargate.score(np.repeat(member, 5, axis=1)).verdict().name
        'identical'
        """
        labelled = self.labels is not None and "pred" in self._arrays
        right = int(np.count_nonzero(self.pred == self.labels)) if labelled else 0
        rows, outcomes = (self.n * self.c, 2) if self.multilabel else (self.n, self.c)
        return verdict(self.n, self.m, outcomes, self.diversity, self._spread, right, rows if labelled else 0)

    def summary(self) -> ScoreSummary:
        """Mean, median and 95th percentile of each measure, the decision rule at each k, diversity and the verdict on
        it."""
        measures = {}
        for name in _MEASURES:
            if name in self._arrays:
                for suffix, values in self._split(name):
                    measures[name + suffix] = statistics(values, self.multilabel)
        entries = self.n * (self.c if self.multilabel else 1)
        correct = self.labels is not None and "pred" in self._arrays and self.pred == self.labels
        rule = None
        if "decision" in self._arrays:
            rule = {}
            for i, k in enumerate(self._k):
                kept = self.decision[..., i] >= 0
                count = int(np.count_nonzero(kept))
                row: dict[str, float | None] = {
                    "coverage": share(count, entries),
                    "kept": count,
                    "abstained": entries - count,
                }
                if self.labels is not None:  # a kept sample's decision is its prediction: `pred` is not needed
                    row["accuracy"] = share(int(np.count_nonzero(self.decision[..., i] == self.labels)), count)
                rule[_native.k_name(k)] = row
        labelled = self.labels is not None and "pred" in self._arrays
        flags = self._arrays.get("flags")
        judged = self.verdict()
        return ScoreSummary(
            n=self.n,
            m=self.m,
            c=self.c,
            logits=self.logits,
            multilabel=self.multilabel,
            k=self._k,
            measures=measures,
            rule=rule,
            accuracy=share(int(np.count_nonzero(correct)), entries) if labelled else None,
            diversity=finite(self.diversity),
            k_sensitivity=finite(self.k_sensitivity),
            verdict=judged.name,
            verdict_text=judged.text,
            verdict_figures=judged.figures(),
            ties=None if flags is None else int(np.count_nonzero(flags & 2)),
            gated_out=None if flags is None else int(np.count_nonzero(flags & 1)),
            _labelled=labelled,
        )

    def _split(self, name: str) -> list[tuple[str, Float64]]:
        if _native.SCORE_FIELDS[name][1] != "k":
            return [("", self._arrays[name])]
        return [(f"@{_native.k_name(k)}", self._arrays[name][..., i]) for i, k in enumerate(self._k)]

    # --- shown --------------------------------------------------------------------------------------------------------

    def _repr_html_(self) -> str:
        from ._show import scores_html

        return scores_html(self)

    def plot(self, k: float | None = None, *, bins: int = 200, ax: Any = None) -> Any:
        """The paper's figure: samples from the most to the least uncertain, measures above, their gated forms below.

        Samples are sorted by `tu` (or the first measure computed); each curve is the mean over `bins` groups of
        neighbours in that order, divided by the largest value drawn. Needs matplotlib.

        Parameters
        ----------
        k : float, optional
            Gate setting of the lower panel, one of those scored; the first by default.
        bins : int
            Most points of a curve.
        ax : matplotlib Axes or two of them, optional
            Where to draw; a single one takes the measures without a gate. `vargate.plots` has the other plots.

        Returns
        -------
        list of matplotlib Axes
        """
        from .plots import measures

        return measures(self, k=k, bins=bins, ax=ax)

    def __repr__(self) -> str:
        what = f"{self.n} samples, {self.m} member{'s' * (self.m != 1)}, {self.c} {'labels' if self.multilabel else 'classes'}"
        gates = ", ".join(_native.k_name(k) for k in self._k)
        return f"<vargate.Scores: {what}, k = {gates}; {' '.join(self.keys())}>"

    # --- elsewhere ----------------------------------------------------------------------------------------------------

    def to_pandas(self) -> pd.DataFrame:
        """One row a sample, columns as in ``vargate score -o OUT.csv``: ``tu``, ``gtu@1``, ``mean_0``, multilabel
        ``gtu_0@1``."""
        import pandas as pd

        return pd.DataFrame(self._table(), index=pd.RangeIndex(self.n, name="n"))

    def _table(self) -> dict[str, Array]:
        """Columns as CSV files have them."""
        out: dict[str, Array] = {}
        for name in self.keys():
            values = self._arrays[name]
            gated = _native.SCORE_FIELDS[name][1] == "k"
            by_class = self.multilabel or _native.SCORE_FIELDS[name][1] == "c"
            width = int(np.prod(values.shape[1:]))
            flat = values.reshape(self.n, width)
            for i in range(width):
                label = f"_{i // len(self._k) if gated else i}" if by_class else ""
                gate = f"@{_native.k_name(self._k[i % len(self._k)])}" if gated else ""
                out[name + label + gate] = flat[:, i]
        return out

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes what ``vargate score -o`` writes: ``.npz`` (or ``.safetensors``), ``.csv`` or ``.jsonl``, by the
        ending.

        The file appears complete under its name, or not at all.
        """
        from ._files import save_scores

        save_scores(self, os.fspath(path))


def _at(a: Array) -> int:
    return int(a.ctypes.data)


@lru_cache(maxsize=256)
def _layout(
    names: tuple[str, ...], shape: tuple[int, int, int], k_count: int, multilabel: bool
) -> tuple[dict[str, tuple[int, tuple[int, ...], str]], tuple[int, ...], int]:
    """Where each field begins in one block of memory (in doubles), its shape and element; for the library, offsets in
    bytes or -1."""
    n, _, c = shape
    shapes = (
        {"": (n, c), "k": (n, c, k_count), "c": (n, c)} if multilabel else {"": (n,), "k": (n, k_count), "c": (n, c)}
    )
    fields: dict[str, tuple[int, tuple[int, ...], str]] = {}
    offsets = [-1] * len(_native.SCORE_FIELDS)
    used = 0
    for name in names:
        element, kind = _native.SCORE_FIELDS[name]
        fields[name] = (used, shapes[kind], element)
        offsets[_native.SCORE_INDEX[name]] = 8 * used
        used += math.prod(shapes[kind])
    return fields, tuple(offsets), used


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
        fields, offsets, size = _layout(names, shape, k_count, multilabel)
        block = np.empty(size)
        base = block.ctypes.data
        return _Block(block, fields), _native.ScorePlaces(*[base + o if o >= 0 else None for o in offsets])
    arrays: dict[str, Array] = {}
    places = _native.ScorePlaces()
    for name, (_, field_shape, element) in _layout(names, shape, k_count, multilabel)[0].items():
        a = arrays[name] = np.empty(field_shape, _DTYPES[element])
        places[_native.SCORE_INDEX[name]] = a.ctypes.data
    return arrays, places


def collect(
    resolved: Resolved,
    arrays: Mapping[str, Array],
    shape: tuple[int, int, int],
    summary: _native.ScoreSummary,
    labels: npt.NDArray[np.int64] | None,
) -> Scores:
    """`Scores` from filled arrays."""
    return Scores(
        arrays,
        k=resolved.k,
        shape=shape,
        logits=bool(resolved.options.logits),
        multilabel=resolved.multilabel,
        diversity=summary.diversity,
        k_sensitivity=summary.k_sensitivity,
        spread=Spread(summary.member_variance, summary.total_variance, summary.disagreement, summary.abstained),
        labels=labels,
        sample_sigma=resolved.sigma_margin == 1,
    )


def refuse(status: int, view: _native.Predictions, resolved: Resolved) -> None:
    """Raises for a failed call; rows that are several members side by side are told from rows that are merely wrong."""
    advice = (
        wide_table(view)
        if status == _native.ERR_DATA and not resolved.options.logits and not resolved.multilabel
        else None
    )
    if advice is not None:
        raise ValueError(f"{_native.error(status)}; {advice}")
    _native.check(status)


def score(
    p: Any,
    *,
    k: Gates = (1.0, 2.0, 3.0),
    logits: bool = False,
    temperature: Temperature = None,
    labels: Any = None,
    preset: Preset = "paper",
    measures: str | Sequence[str] = "all",
    axes: Axes | None = None,
    multilabel: bool = False,
    threads: int | None = None,
    multilabel_form: Form = "continuous",
    pairs: Pairs | None = None,
    sigma: Sigma | None = None,
    log_base: LogBase | None = None,
    normalise: bool | None = None,
    renormalise: bool = False,
    floor: float | None = None,
    eps: float | None = None,
) -> Scores:
    """Uncertainty of every sample of an ensemble's predictions.

    Parameters
    ----------
    p : array_like (N, M, C), or (N, C) for one member
        What member m says of class c for sample n: probabilities, or logits. A NumPy array, or anything with DLPack,
        ``__array_interface__`` or the buffer protocol, in host memory. float32, float64, float16 and bfloat16 are read
        where they lie, whatever the strides; other types are converted to float64 first.
    k : float or sequence of float
        Gate settings, each > 0.
    logits : bool
        `p` holds logits.
    temperature : float, sequence, Calibration or path, optional
        Divides logits: one temperature or one a member, a result of `calibrate`, or the file it wrote.
    labels : array_like of int, optional
        True classes (N,), or 0/1 (N, C) with `multilabel`; for the accuracies of `Scores.summary` and for `evaluate`.
    preset : {"paper", "vge", "mljku"}
        Conventions: the paper's, its authors' later code's, or those of Schweighofer et al.
    measures : str or sequence of str
        What to compute, a list or text with commas: names of arrays (``"gtu@1"`` for that of `gtu`), or the groups
        ``all``, ``entropies``, ``pairwise``, ``ungated``, ``gated``, ``margin``.
    axes : str, optional
        Order of the axes of `p`: ``"NMC"`` (None reads them so, too), ``"MNC"``, ..., or ``"NC"`` for one member.
        Without it a shape that looks like another order is refused: 256 members or more and four times as many as
        samples, unless labels tell.
    multilabel : bool
        Every class is a yes/no label of its own.
    threads : int, optional
        None or 0: one per core. Results do not depend on it.
    multilabel_form : {"continuous", "literal"}
        The multilabel GMU: continuous, or the paper's printed cases.
    pairs : {"all", "distinct"}, optional
        Member pairs in EPCE, EPKL, EPJS. None here and below: the preset's.
    sigma : {"population", "sample"}, optional
        Spread over members divided by M or M - 1, in the gate and in the margin.
    log_base : {"e", "2"}, optional
        Unit of entropies.
    normalise : bool, optional
        Divide TU, AU, EU and their gated forms by log C.
    renormalise : bool
        Divide rows by their sum instead of refusing them.
    floor, eps : float, optional
        The smallest probability in a logarithm; what keeps denominators from 0.

    Returns
    -------
    Scores

    Raises
    ------
    ValueError
        Rows that are not distributions (the message names the first), wrong shapes, unknown words.
    TypeError
        Elements that are not numbers, or arrays that are not in host memory.

    Examples
    --------
    Two members, three classes, one sample they agree on and one they do not:

    >>> import numpy as np, vargate
    >>> p = np.array([[[0.9, 0.05, 0.05], [0.9, 0.05, 0.05]], [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1]]])
    >>> s = vargate.score(p, k=(1, 2))
    >>> s.eu.round(3)
    array([0.   , 0.223])
    >>> s.decision
    array([[ 0,  0],
           [-1, -1]], dtype=int32)
    """
    view, owner = predictions(p, axes, settled=labels is not None)
    shape = (view.n, view.m, view.c)
    long = shape[0] * shape[1] * shape[2] > _SHORT
    resolved = resolve(
        k=k,
        logits=logits,
        temperature=temperature,
        preset=preset,
        multilabel=multilabel,
        multilabel_form=multilabel_form,
        pairs=pairs,
        sigma=sigma,
        log_base=log_base,
        normalise=normalise,
        renormalise=renormalise,
        floor=floor,
        eps=eps,
        threads=threads,
        interruptible=long,
    )
    if logits and not multilabel:
        refuse_probabilities(view, "p", "leave out logits=True")
    packed_labels = None if labels is None else as_labels(labels, shape, resolved.multilabel, axes=axes)
    arrays, places = allocate(measure_names(measures, resolved.k), shape, len(resolved.k), resolved.multilabel)
    summary = _native.ScoreSummary()
    if long:
        with _native.Interruptible():
            status = _native.lib.vg_score(places, byref(summary), byref(view), resolved.address)
    else:
        status = _native.lib.vg_score(places, byref(summary), byref(view), resolved.address)
    if status:
        refuse(status, view, resolved)
    del owner
    return collect(resolved, arrays, shape, summary, packed_labels)
