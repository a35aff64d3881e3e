"""A metric for training and validation loops: fed by batches, figures at the end.

With torchmetrics installed `UncertaintyMetric` is a `torchmetrics.Metric`. Its state is then what torchmetrics moves
between devices, gathers from processes and merges: two lists of flat int64 tensors, which hold the bits of float64
numbers. Bits survive a module's conversion to half precision, and devices that have no float64.

    sums   one vector per batch: what the batch adds to figures that are means (`_parts.Sums`)
    rows   the columns of the measures, and the error marks, of every row of the batch, one row after another
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from .. import _parts
from .._arrays import whole
from .._options import DEFAULTS, ThreadedOptions, read_files, resolve, show_options, words
from .._score import score
from .._summary import Spread
from ..scorer import Scorer

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["UncertaintyMetric"]

Float64 = npt.NDArray[np.float64]


class _Plain:
    """The part of torchmetrics.Metric that the metric needs without it."""

    def add_state(self, name: str, default: list[Tensor], dist_reduce_fx: str) -> None:
        setattr(self, name, default)

    def reset(self) -> None:
        """Forgets everything."""
        self.sums: list[Tensor] = []
        self.rows: list[Tensor] = []

    def merge_state(self, incoming_state: Any) -> None:
        """Takes over what another metric of the same options was fed."""
        self.sums = [*incoming_state.sums, *self.sums]
        self.rows = [*incoming_state.rows, *self.rows]

    def __call__(self, *arguments: Any, **named: Any) -> None:
        self.update(*arguments, **named)  # type: ignore[attr-defined]


def _base() -> Any:
    try:
        from torchmetrics import Metric
    except ImportError:
        return _Plain
    return Metric


_Base: Any = _base()


def _bits(values: Float64) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, np.float64).reshape(-1).view(np.int64).copy())


def _values(states: Tensor | Sequence[Tensor]) -> Float64:
    """The numbers of a state: a list of tensors, or the tensor that a reduction made of them."""
    parts = [states] if isinstance(states, Tensor) else list(states)
    flat = [part.detach().cpu().to(torch.int64).reshape(-1).numpy() for part in parts]
    return np.concatenate([np.empty(0, np.int64), *flat]).view(np.float64)


# --- sums as a vector -------------------------------------------------------------------------------------------------

_HEAD = 16  # numbers before the tables


def _pack(s: _parts.Sums, labelled: bool, mark: int) -> Float64:
    head = [mark, labelled, s.n, s.rows, s.m, s.c, s.variance, *s.spread, s.tu, s.gtu, s.correct, s.nll, s.brier]
    tables = (s.bins, s.classes, s.rule)
    return np.concatenate([np.array(head, np.float64), *(np.asarray(t, np.float64).reshape(-1) for t in tables)])


def _unpack(row: Float64, bins: int, k: tuple[float, ...]) -> _parts.Sums:
    _, _, n, rows, m, c, variance, *spread, tu, gtu, correct, nll, brier = row[:_HEAD].tolist()
    first, second = _HEAD + 5 * bins, _HEAD + 5 * bins + 3 * int(c)
    return _parts.Sums(
        n=int(n),
        rows=int(rows),
        m=int(m),
        c=int(c),
        variance=variance,
        spread=Spread(*spread),
        tu=tu,
        gtu=gtu,
        correct=int(correct),
        nll=nll,
        brier=brier,
        bins=row[_HEAD:first].reshape(bins, 5),
        classes=row[first:second].reshape(-1, 3).astype(np.int64),
        rule=row[second:].reshape(-1, 2).astype(np.int64),
        k=k,
    )


class UncertaintyMetric(_Base):
    """Accuracy, calibration, diversity and error detection of an ensemble's predictions over an epoch.

    Where torchmetrics is installed this is a `torchmetrics.Metric`: it takes part in a MetricCollection, moves with
    ``.to``, is reduced over the processes of a distributed run, and ``metric(z, y)`` gives the figures of the batch.
    Otherwise it has the same `update`, `compute`, `reset` and `merge_state`.

    Parameters
    ----------
    k : float or sequence of float
        Gate settings.
    logits : bool, default True
        Whether `update` gets logits or probabilities.
    measures : sequence of str
        Whose means, and with labels AURC and error AUROC, are reported; 8 bytes per sample each.
    bins : int
        Of the calibration error.
    temperature, preset, axes, multilabel, threads, multilabel_form, pairs, sigma, log_base, normalise, renormalise,
    floor, eps
        As in `vargate.score`.
    process_group, sync_on_compute, compute_on_cpu, dist_sync_fn
        As in `torchmetrics.Metric`; without torchmetrics they are ignored.

    Examples
    --------
    >>> import torch
    >>> metric = UncertaintyMetric()
    >>> _ = torch.manual_seed(0)
    >>> for _ in range(4):
    ...     z = torch.randn(32, 10, 5)                   # logits of a batch: samples, members, classes
    ...     metric.update(z, z.mean(1).argmax(1))
    >>> figures = metric.compute()
    >>> figures["n"], figures["accuracy"] > 0.7, sorted(figures)[:2]
    (128, True, ['accuracy', 'accuracy@1'])
    """

    is_differentiable = False
    higher_is_better = None
    full_state_update = False

    sums: Any
    rows: Any

    def __init__(
        self,
        *,
        bins: int = 15,
        process_group: Any = None,
        sync_on_compute: bool = True,
        compute_on_cpu: bool = False,
        dist_sync_fn: Any = None,
        **scoring: Unpack[ThreadedOptions],
    ) -> None:
        if _Base is _Plain:
            super().__init__()
        else:
            super().__init__(
                process_group=process_group,
                sync_on_compute=sync_on_compute,
                compute_on_cpu=compute_on_cpu,
                dist_sync_fn=dist_sync_fn,
            )
        how: dict[str, Any] = {**DEFAULTS, "axes": None, "logits": True, **scoring}
        read_files(how)
        measures = how.pop("measures", ("tu", "eu", "gmu"))
        how.pop("classes", None)
        self._options = how
        self._measures = tuple(words(measures))
        self._bins = whole(bins, "bins", 1, 10000)
        resolved = resolve(**{name: value for name, value in self._options.items() if name != "axes"})
        self._k = self._options["k"] = resolved.k
        # Distinguishes states of other options, for collections that share states and for merging.
        self._mark = zlib.crc32(repr((sorted(self._options.items()), self._measures, self._bins)).encode())
        self.add_state("sums", default=[], dist_reduce_fx="cat")
        self.add_state("rows", default=[], dist_reduce_fx="cat")
        self._scorer()  # refuses wrong options now

    def _scorer(self) -> Scorer:
        needed = {"tu", "gtu", "mean", "std", "pred", "second", *(name.partition("@")[0] for name in self._measures)}
        return Scorer(measures=sorted(needed), **self._options)

    def update(self, predictions: Tensor | Any, labels: Tensor | Any = None) -> None:
        """One batch: predictions (N, M, C), or (N, C) for one member, on any device; labels (N,) in all batches or in
        none."""
        p = predictions.detach().cpu() if isinstance(predictions, Tensor) else predictions
        y = labels.detach().cpu().numpy() if isinstance(labels, Tensor) else labels
        if len(self.sums) and bool(_values(self.sums[-1:])[1]) != (y is not None):
            raise ValueError("labels were given for some batches and not for others")
        with self._scorer() as scorer:
            scores = scorer.feed(p, labels=y)
        sums, marks = _parts.part(scores, scorer.mean_tu, scorer.mean_gtu, self._bins)
        count = sums.rows
        table = np.zeros((count, len(self._measures) + 1))
        for i, name in enumerate(self._measures):
            column = scores[name]
            first = column.reshape(len(column), -1)[:, 0] if column.ndim > 1 and not scores.multilabel else column
            table[:, i] = first.reshape(-1)
        if y is not None and count:
            table[:, -1] = marks.errors
        device = self.device if _Base is not _Plain else "cpu"
        self.sums.append(_bits(_pack(sums, y is not None, self._mark)).to(device))
        self.rows.append(_bits(table).to(device))

    def _sync_dist(self, *arguments: Any, **named: Any) -> None:
        # A process that was fed nothing contributes tensors of the right type.
        for name in ("sums", "rows"):
            if isinstance(getattr(self, name), list) and not getattr(self, name):
                setattr(self, name, [torch.zeros(0, dtype=torch.int64, device=self.device)])
        super()._sync_dist(*arguments, **named)

    def _gathered(self) -> tuple[list[_parts.Sums], bool]:
        """What the batches add, and whether they had labels."""
        flat = _values(self.sums)
        if not len(flat):
            raise ValueError("nothing was fed: call update first")
        size = _HEAD + 5 * self._bins + 3 * int(flat[5]) + 2 * len(self._k)
        if flat[0] != self._mark or len(flat) % size:
            raise ValueError("the states merged are of metrics with other options, members or classes")
        table = flat.reshape(-1, size)
        if (table[:, 0] != self._mark).any():
            raise ValueError("the states merged are of metrics with other options")
        if len(np.unique(table[:, 1])) > 1:
            raise ValueError("labels were given for some batches and not for others")
        return [_unpack(row, self._bins, self._k) for row in table], bool(table[0, 1])

    def compute(self) -> dict[str, float]:
        """Figures of all batches since `reset`.

        Returns
        -------
        dict
            ``n``, ``diversity``, ``k_sensitivity``, the mean of each measure under its name; with labels ``accuracy``,
            ``f1_macro``, ``ece``, ``mce``, ``nll``, ``brier``, ``coverage@K`` and ``accuracy@K`` of the decision rule,
            ``aurc/NAME`` and ``auroc/NAME``.
        """
        parts, labelled = self._gathered()
        total = _parts.overall(_parts.add(parts), labelled)
        table = _values(self.rows).reshape(-1, len(self._measures) + 1)
        out: dict[str, float] = {name: total[name] for name in ("n", "diversity", "k_sensitivity")}
        columns = {name: np.ascontiguousarray(table[:, i]) for i, name in enumerate(self._measures)}
        out |= {name: float(values.mean()) if len(values) else math.nan for name, values in columns.items()}
        if labelled:
            out |= {name: total[name] for name in ("accuracy", "f1_macro", "ece", "mce", "nll", "brier")}
            for k, row in total["rule"].items():
                out |= {f"coverage@{k}": row["coverage"], f"accuracy@{k}": row["accuracy"]}
            errors = table[:, -1].astype(np.uint8)
            for name, values in columns.items():
                ranking = _parts.rank(name, values, errors)
                out |= {f"aurc/{name}": ranking["aurc"], f"auroc/{name}": ranking["error_auroc"]}
        return out


show_options(UncertaintyMetric, score, without=("p", "labels", "ids", "classes"))
