"""Scoring on a Dask cluster: predictions larger than memory, blocks of samples, figures of the whole set.

Each block is scored by the library on the worker that has it. A sample's scores do not depend on its neighbours, so
they are one machine's to the bit. Figures that are means add up from per-block sums; for those that need an order over
all samples (AURC, AUROC, adaptive ECE, percentiles) columns are cut by value into parts, which are ranked on their
workers. The choice of k sends the margin ratio and the error marks, 9 bytes per sample, to one worker.

>>> import dask.array as da, numpy as np, vargate, vargate.dask
>>> p = np.random.default_rng(0).dirichlet(np.ones(5), size=(1000, 8))
>>> y = p.mean(axis=1).argmax(axis=1)
>>> lazy = vargate.dask.score(da.from_array(p, chunks=(300, -1, -1)), labels=y, k=1)
>>> lazy.gmu
dask.array<concatenate, shape=(1000,), dtype=float64, chunksize=(300,), chunktype=numpy.ndarray>
>>> bool((lazy.gmu.compute() == vargate.score(p, k=1).gmu).all())
True
>>> lazy.evaluate(measures=["gmu"]).compute().accuracy
1.0
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed

from . import _dask_tasks as tasks
from . import _lead, _native, _ranges, _resample
from ._arrays import as_labels, as_names, check_members, whole
from ._measures import FILE_ORDER, GATED, PLAIN, SCORE_FIELDS
from ._options import FigureOptions, ScoringOptions, gate_of, measure_names, read_files, resolve, show_options, words
from ._score import score as score_here
from ._whole import WholeSet
from .decide import Selection, Target
from .evaluate import DEFAULT_BINS, take_figure_options
from .scores import Scores

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["DaskScores", "WholeSet", "score"]

_DTYPES = {"f8": np.float64, "i4": np.int32, "u4": np.uint32}


class DaskScores:
    """Scores of every block, computed on request. Made by `score`.

    Arrays have the names of `vargate.Scores` (``lazy.gmu``, ``lazy["gtu"]``) and are Dask arrays with the blocks of the
    input. Nothing runs until a ``compute``, ``persist`` or a store.
    """

    def __init__(
        self,
        blocks: list[Delayed],
        sizes: Sequence[float],
        names: tuple[str, ...],
        *,
        c: int,
        k: tuple[float, ...],
        multilabel: bool,
        labelled: bool,
        classes: tuple[str, ...] | None = None,
    ) -> None:
        self._blocks = blocks
        self._sizes = tuple(sizes)
        self._names = names
        self._c = c
        self._k = k
        self._multilabel = multilabel
        self._labelled = labelled
        self._classes = classes

    def keys(self) -> list[str]:
        """Names of the arrays."""
        return list(self._names)

    def __getitem__(self, name: str) -> da.Array:
        if not isinstance(name, str):
            raise TypeError(
                f"an index is {name!r}, expected the name of an array: lazy.tu[:10], or compute() for samples"
            )
        stem, at, gate = name.partition("@")
        if at and stem in self._names and SCORE_FIELDS[stem][1] == "k":
            place = gate_of(gate, self._k)
            if place is None:
                raise KeyError(name)
            return self[stem][..., place]
        if name not in self._names:
            raise KeyError(name)
        element, kind = SCORE_FIELDS[name]
        tail: tuple[int, ...] = (self._c,) if self._multilabel or kind == "c" else ()
        tail += (len(self._k),) if kind == "k" else ()
        pick = delayed(tasks.field_of)
        pieces = [
            da.from_delayed(pick(block, name), shape=(size, *tail), dtype=_DTYPES[element])
            for block, size in zip(self._blocks, self._sizes, strict=True)
        ]
        return da.concatenate(pieces)

    def __getattr__(self, name: str) -> da.Array:
        if name in FILE_ORDER and not name.startswith("_"):
            try:
                return self[name]
            except KeyError:
                raise AttributeError(f"{name} was not computed; measures={name!r} asks for it") from None
        raise AttributeError(name)

    def __repr__(self) -> str:
        n = "?" if any(math.isnan(size) for size in self._sizes) else f"{int(sum(self._sizes))}"
        return f"<vargate.dask.DaskScores: {n} samples in {len(self._blocks)} blocks; {' '.join(self._names)}>"

    def persist(self) -> DaskScores:
        """Starts scoring; results stay on the workers."""
        blocks = list(dask.persist(*self._blocks))
        return DaskScores(
            blocks,
            self._sizes,
            self._names,
            c=self._c,
            k=self._k,
            multilabel=self._multilabel,
            labelled=self._labelled,
            classes=self._classes,
        )

    def compute(self) -> Scores:
        """All scores in this process's memory, as `vargate.score` gives them."""
        scores: Scores = self.compute_later().compute()
        return scores

    def compute_later(self) -> Delayed:
        """`compute` as a task, for ``dask.compute`` of several results at once or ``client.compute``."""
        task: Delayed = delayed(tasks.gather_scores)(self._blocks, self._names, self._total(15))
        return task

    def to_shards(self, folder: str | os.PathLike[str], suffix: str = ".npz") -> list[str]:
        """Writes each block as a file of its own, from the worker that has it, and waits for them.

        Parameters
        ----------
        folder : path
            One that all workers see; made if need be.
        suffix : {".npz", ".safetensors", ".csv", ".jsonl"}

        Returns
        -------
        list of str
            ``scores-00000.npz``, ... in the order of the samples, each complete or not there.
        """
        place = Path(folder).absolute()
        place.mkdir(parents=True, exist_ok=True)
        paths = [str(place / f"scores-{i:05d}{suffix}") for i in range(len(self._blocks))]
        write = delayed(tasks.shard)
        return list(
            dask.compute(*[write(block, self._names, path) for block, path in zip(self._blocks, paths, strict=True)])
        )

    # --- figures ------------------------------------------------------------------------------------------------------

    def _tallies(self, bins: int, full: bool = False, by: str | None = None) -> list[Delayed]:
        tally = delayed(tasks.part_of)
        return [tally(block, bins, full, by) for block in self._blocks]

    def _total(self, bins: int) -> Delayed:
        pick = delayed(tasks.sums_of)
        return _tree([pick(part) for part in self._tallies(bins)])

    def evaluate(
        self, measures: str | Iterable[str] = "all", bins: int = DEFAULT_BINS, **options: Unpack[FigureOptions]
    ) -> Delayed:
        """`vargate.evaluate` of the whole set; ``.compute()`` gives a `WholeSet`.

        Parameters
        ----------
        measures : sequence of str
            Measures to rank errors by, of those computed: ``"gmu"``, ``"tu"``, ``"gtu@1"``. Columns are cut by value
            and ranked in parts, each on a worker of its own: no worker holds a whole one. ``"all"``: every one; needs
            labels, without which no measure is ranked.
        bins : int
            Of the calibration error.
        bootstrap : int
            Resamples for intervals; 0: none. Each draws every sample as often as a Poisson variable of mean 1 says,
            which a hash of `seed` and the sample's number gives, so that intervals differ from those of
            `vargate.evaluate` as two seeds do. `confidence` is theirs.
        coverages, risks, curve
            As in `vargate.evaluate`.
        """
        names: list[str] = []
        if self._labelled:
            names = (
                self._rankable()
                if isinstance(measures, str) and measures == "all"
                else words(measures if isinstance(measures, str) else list(measures))
            )
        for name in names:
            if name not in self._rankable():
                raise ValueError(f"measures: {name!r} was not computed, expected {', '.join(self._rankable())}")
        left: dict[str, Any] = dict(options)
        how = take_figure_options(left)
        if left:
            raise TypeError(f"evaluate() got an unexpected keyword argument {next(iter(left))!r}")
        asked = _ranges.Points(
            resamples=how.pop("bootstrap"), rows_per_sample=self._c if self._multilabel else 1, **how
        )
        if not 0 < asked.confidence < 1:
            raise ValueError(f"confidence is {asked.confidence!r}, expected a number between 0 and 1")
        by = "gmu" if "gmu" in names else names[0] if names else None
        tallies = self._tallies(whole(bins, "bins", 1, 10000), full=True, by=by)
        sums, rows = delayed(tasks.sums_of), delayed(tasks.rank_rows)
        total, walks = _tree([sums(part) for part in tallies]), list[Delayed]()
        resampled: Delayed | None = None
        lead: Delayed | None = None
        if self._labelled:
            cut = [
                rows(block, part, names, i, asked.resamples > 0)
                for i, (block, part) in enumerate(zip(self._blocks, tallies, strict=True))
            ]
            parts, places = self._by_value(cut)
            walk = delayed(_ranges.walk)
            walks = [walk(part, places, i, tasks.CONFIDENCE, bins, asked) for i, part in enumerate(parts)]
            if asked.resamples:
                resampled = self._resampled(parts, names, total, asked)
            elif len(names) > 1:
                lead = self._lead(tallies, delayed(tasks.lead_of)(total, names, walks, asked), asked.rows_per_sample)
        result: Delayed = delayed(tasks.whole_set)(total, names, walks, asked, resampled, lead, self._classes)
        return result

    def _lead(self, tallies: list[Delayed], pair: Delayed, width: int) -> Delayed:
        """The sums of the paired test of the best measure: placements from the parts back to the blocks."""
        rows, placed, pick = (delayed(f) for f in (tasks.lead_rows, _lead.influences, tasks.item))
        held = list(zip(self._blocks, tallies, strict=True))
        parts, places = self._by_value([rows(block, part, pair, i) for i, (block, part) in enumerate(held)])
        found = [placed(part, places, i, pair, len(held)) for i, part in enumerate(parts)]
        added = [
            _of_list(tasks.lead_sums, [pick(piece, i) for piece in found], part, width)
            for i, (_, part) in enumerate(held)
        ]
        return _tree(added, join=tasks.add_arrays)

    def _resampled(self, parts: list[Delayed], names: list[str], total: Delayed, asked: _ranges.Points) -> Delayed:
        """The figures of every resample."""
        count, walk, sums = (delayed(f) for f in (_resample.counts, _resample.walk, tasks.resampled_sums))
        places = _of_list(_resample.offsets, [count(part, asked) for part in parts])
        walked = _tree([walk(part, places, i, names, asked) for i, part in enumerate(parts)], join=_resample.add_walks)
        counted = _tree([sums(block, i, asked) for i, block in enumerate(self._blocks)], join=tasks.add_arrays)
        found: Delayed = delayed(tasks.resampled_figures)(counted, walked, places, total, asked)
        return found

    def summary(self) -> Delayed:
        """`vargate.Scores.summary` of the whole set; ``.compute()`` gives a `vargate.ScoreSummary`.

        Medians and percentiles are exact: columns are cut by value, each part on a worker of its own.
        """
        names = self._rankable()
        rows, means, sums = delayed(tasks.statistics_rows), delayed(tasks.measure_sums), delayed(tasks.sums_of)
        parts, places = self._by_value([rows(block, names) for block in self._blocks])
        found = delayed(_ranges.order_statistics)
        statistics = [found(part, places, i, (0.5, 0.95)) for i, part in enumerate(parts)]
        counted = None
        if "decision" in self._names and "flags" in self._names:
            count = delayed(tasks.decision_counts)
            counted = [count(block) for block in self._blocks]
        total = _tree([sums(part) for part in self._tallies(15)])
        averages = [means(block, names) for block in self._blocks]
        result: Delayed = delayed(tasks.summarise_set)(total, self._labelled, names, averages, statistics, counted)
        return result

    def decide(self, k: float | Selection | Delayed = 1.0) -> da.Array:
        """The decision rule at `k`, or what `select_k` chose (its task, or the `Selection` it gives): the class of each
        sample, or -1, as a Dask array with the blocks of the input."""
        task, tail = delayed(tasks.decide), (self._c,) if self._multilabel else ()
        pieces = [
            da.from_delayed(task(block, k), shape=(size, *tail), dtype=np.int32)
            for block, size in zip(self._blocks, self._sizes, strict=True)
        ]
        return da.concatenate(pieces)

    def _by_value(self, columns: list[Delayed]) -> tuple[list[Delayed], Delayed]:
        """Columns of all blocks cut by value into about as many parts as there are blocks, and their counts."""
        count = min(max(len(self._blocks), 1), tasks.MOST_PARTS)
        cut, split, pick, tell = (delayed(f) for f in (_ranges.cuts, _ranges.split, tasks.item, _ranges.counts))
        between = _of_list(_ranges.splitters, [cut(column) for column in columns], count)
        pieces = [split(column, between, count) for column in columns]
        parts = [_of_list(_ranges.gather, [pick(piece, i) for piece in pieces]) for i in range(count)]
        return parts, _of_list(_ranges.offsets, [tell(part) for part in parts])

    def _rankable(self) -> list[str]:
        plain = [name for name in PLAIN if name in self._names]
        return plain + [f"{name}@{_native.k_name(k)}" for k in self._k for name in GATED if name in self._names]

    def select_k(
        self,
        *,
        target_risk: float | None = None,
        target_coverage: float | None = None,
        confidence: float = 0.95,
        to_decide: DaskScores | None = None,
    ) -> Delayed:
        """The k that meets a target on this set, as `vargate.select_k` chooses it; ``.compute()`` gives a
        `vargate.Selection`.

        A target out of reach does not raise: ``met`` is False. `to_decide`: scores of the predictions that will be
        decided on, whose margin ratios place the ks to try; without them some samples of this set are set aside for
        that.
        """
        if (target_risk is None) == (target_coverage is None):
            raise ValueError("expected one of target_risk and target_coverage")
        if target_risk is not None and not self._labelled:
            raise ValueError("labels are needed to choose by risk")
        join, ratio, errors = delayed(tasks.join), delayed(tasks.ratio_of), delayed(tasks.errors_of)
        ratios = join([ratio(block) for block in self._blocks])
        marks = join([errors(part) for part in self._tallies(15)])
        others = join([ratio(block) for block in to_decide._blocks]) if to_decide is not None else None
        target = Target(target_risk, target_coverage, confidence)
        each = self._c if self._multilabel else 1
        result: Delayed = delayed(tasks.choose)(ratios, marks, self._labelled, target, each, others)
        return result


def _of_list(function: Callable[..., Any], items: list[Delayed], *more: Any) -> Delayed:
    """The task of a function of a list. Its items are arguments of their own: for a list among the arguments Dask
    optimises the whole graph, so that a graph of many such tasks would take minutes to build."""
    task: Delayed = delayed(tasks.of_list)(function, len(items), *items, *more)
    return task


def _tree(parts: list[Delayed], width: int = 16, join: Callable[[list[Any]], Any] = tasks.add) -> Delayed:
    """Sums of sums, so that no worker needs every block's."""
    while len(parts) > 1:
        parts = [_of_list(join, parts[i : i + width]) for i in range(0, len(parts), width)]
    return parts[0]


# --- score ------------------------------------------------------------------------------------------------------------


def _blocks_of(array: da.Array) -> tuple[list[Delayed], Sequence[float]]:
    return list(array.to_delayed().reshape(-1)), array.chunks[0]


def _label_blocks(labels: Any, array: da.Array, columns: int, classes: tuple[str, ...] | None) -> list[Any]:
    sizes = array.chunks[0]
    unknown = any(math.isnan(size) for size in sizes)
    if isinstance(labels, da.Array):
        if labels.ndim != (2 if columns else 1):
            raise ValueError(f"labels have {labels.ndim} axes, expected {2 if columns else 1}")
        if columns:
            labels = labels.rechunk({1: -1})
        if unknown or any(math.isnan(size) for size in labels.chunks[0]):
            if len(labels.chunks[0]) != len(sizes):
                raise ValueError(
                    f"labels have {len(labels.chunks[0])} blocks, expected the {len(sizes)} of the array: "
                    "sizes are unknown"
                )
        else:
            if labels.shape[0] != array.shape[0]:
                raise ValueError(f"labels have shape {labels.shape}, expected {array.shape[0]} samples")
            labels = labels.rechunk({0: sizes})
        return _blocks_of(labels)[0]
    if unknown:
        raise ValueError(
            "block sizes are unknown: labels must be a Dask array with the same blocks, or call compute_chunk_sizes()"
        )
    shape = (int(array.shape[0]), int(array.shape[1]) if array.ndim == 3 else 1, int(array.shape[-1]))
    packed = as_labels(labels, shape, columns > 0, classes=classes)
    return np.split(packed, np.cumsum([int(size) for size in sizes])[:-1])


def score(array: Any, *, labels: Any = None, threads: int | None = 1, **options: Unpack[ScoringOptions]) -> DaskScores:
    """Scores a Dask array of predictions, block by block, on whatever cluster Dask is set to use. Lazy.

    Parameters
    ----------
    array : dask.array.Array (N, M, C), or (N, C) for one member
        Blocks along samples; it is rechunked so that members and classes are whole. From Zarr, Parquet, a stack of
        ``.npy`` shards, ... (``da.from_zarr``, ``dd.read_parquet(...).to_dask_array()``, ``da.concatenate``). Block
        sizes may be unknown, as Parquet's are; labels must then have the same blocks: take both from one array of the
        whole table.
    labels : array_like or dask.array.Array, optional
        True classes (N,), or 0/1 (N, C) with ``multilabel=True``.
    threads : int, default 1
        Of each block's scoring: Dask runs several blocks at once.
    **options
        The other options of `vargate.score`, ``measures`` and ``axes`` included.

    Returns
    -------
    DaskScores
    """
    if not isinstance(array, da.Array):
        raise TypeError(
            f"array is a {type(array).__name__}, expected a Dask array (vargate.score takes what fits memory)"
        )
    how: dict[str, Any] = dict(options)
    axes = how.pop("axes", None)
    if array.ndim == 3 and axes not in (None, "NMC"):
        if sorted(axes) != ["C", "M", "N"]:
            raise ValueError(f"axes is {axes!r}, expected 'NMC' or another order of the three")
        array = array.transpose([axes.index(letter) for letter in "NMC"])
    if array.ndim not in (2, 3):
        raise ValueError(
            f"array has {array.ndim} axes, expected 3 (samples, members, classes), or 2 (samples, classes)"
        )
    array = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
    if axes is None and labels is None and array.ndim == 3 and not math.isnan(array.shape[0]):
        check_members((int(array.shape[0]), int(array.shape[1]), int(array.shape[2])), "array")
    read_files(how)  # here, not on workers that may not see them
    measures, given_names = how.pop("measures", "all"), how.pop("classes", None)
    classes_named = None if given_names is None else as_names(given_names, int(array.shape[-1]))
    resolved = resolve(**how, threads=threads)  # refuses unknown and wrong options now
    wanted = measure_names(measures, resolved.k)
    classes = int(array.shape[-1])
    names = wanted
    needed = [*wanted, "pred", "second", "mean", "std"]
    blocks, sizes = _blocks_of(array)
    columns = classes if resolved.multilabel else 0
    labelled = labels is not None
    given = _label_blocks(labels, array, columns, classes_named) if labelled else [None] * len(blocks)
    how |= {"threads": threads, "measures": needed, "axes": "NMC", "classes": classes_named}
    known = not any(math.isnan(size) for size in sizes)
    firsts = [int(v) for v in np.cumsum([0, *sizes[:-1]])] if known else [None] * len(blocks)
    run = delayed(tasks.score_block)
    scored = [run(p, y, i, first, how) for i, (p, y, first) in enumerate(zip(blocks, given, firsts, strict=True))]
    return DaskScores(
        scored,
        sizes,
        names,
        c=classes,
        k=resolved.k,
        multilabel=resolved.multilabel,
        labelled=labelled,
        classes=classes_named,
    )


show_options(score, score_here)
show_options(DaskScores.evaluate, FigureOptions)
