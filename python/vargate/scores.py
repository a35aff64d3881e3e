"""`Scores`: one array per measure, named as in the file of ``vargate score -o``."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import Array, real
from ._measures import FILE_ORDER, GATED, PLAIN, SCORE_FIELDS, is_certainty
from ._options import gate_of
from ._samples import Sample, SampleIndex, take
from ._summary import NO_FIGURES, Figured, ScoreSummary, Spread, Verdict, judge, summarise
from .policy import as_policy

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from .decide import Selection
    from .policy import Policy

__all__ = ["ScoreSummary", "Scores", "Verdict"]

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
UInt32 = npt.NDArray[np.uint32]
_T = TypeVar("_T")


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


class Scores(Figured):
    """Uncertainty of every sample. Made by `score` and `Scorer.feed`.

    Attributes
    ----------
    tu, au, eu, epce, epkl, epjs : ndarray (N,) float64
        Total, aleatoric and epistemic uncertainty; the three pairwise measures.
    gmu, snr : ndarray (N,) float64
        Variance-gated margin uncertainty, and margin over spread.
    maxprob, gap, topstd, votes, maxlogit, energy : ndarray (N,) float64
        Baselines of the literature, computed where ``measures`` names them, the last two of logits alone;
        `vargate.measures` says what each is.
    gtu, gau, geu, gepce, gepkl, gepjs : ndarray (N, K) float64
        The gated forms, one column for each of the K gate settings.
    pred, second : ndarray (N,) int32
        Classes of largest and second largest mean.
    decision : ndarray (N, K) int32
        The class, or -1 for "uncertain".
    mean, std : ndarray (N, C) float64
        Member mean and population spread.
    flags : ndarray (N,) uint32
        Bit 0: reserved, always 0. Bit 1: the two largest means are equal.
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
    classes : tuple of str or None
        Names of the classes, where they were given.
    ids : ndarray or None
        Names of the samples, likewise.
    sites : tuple of int or None
        Of images and volumes the shape of their sites, (N, H, W) or (N, H, W, D): `map` gives arrays of that shape.

    In multilabel mode (N,) becomes (N, C) and (N, K) becomes (N, C, K). An attribute that `measures` left out raises
    AttributeError.

    Scores are a sequence of samples: ``len(s)``, ``s[3]`` and iteration give a `Sample`, ``s[10:20]``, ``s[mask]`` and
    ``s[[4, 1]]`` the `Scores` of some, and `concatenate` puts several together. Text gives an array, ``s["gtu@1"]``.

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
    """TU: total uncertainty: entropy of the mean distribution."""
    au = _Field[Float64]()
    """AU: aleatoric uncertainty: mean entropy of the members' distributions."""
    eu = _Field[Float64]()
    """EU: epistemic uncertainty: TU - AU, the mutual information of class and member."""
    epce = _Field[Float64]()
    """EPCE: expected pairwise cross-entropy of members."""
    epkl = _Field[Float64]()
    """EPKL: expected pairwise Kullback-Leibler divergence of members."""
    epjs = _Field[Float64]()
    """EPJS: expected pairwise Jensen-Shannon divergence of members."""
    gmu = _Field[Float64]()
    """GMU: variance-gated margin uncertainty: 0 certain, 1 uncertain."""
    snr = _Field[Float64]()
    """SNR: signal-to-noise ratio of the margin between the two most probable classes."""
    maxprob = _Field[Float64]()
    """1 - MSP: maximum probability: 1 minus the largest mean probability."""
    gap = _Field[Float64]()
    """1 - margin: margin of the mean: 1 minus the margin between the two largest mean probabilities."""
    topstd = _Field[Float64]()
    """top std: standard deviation of the top class: spread of the members in the most probable class."""
    votes = _Field[Float64]()
    """VR: variation ratio: share of members that do not name the class most of them name."""
    maxlogit = _Field[Float64]()
    """-max logit: maximum logit: minus the largest mean logit; logits only."""
    energy = _Field[Float64]()
    """energy: free energy: minus the members' mean log-sum-exp of logits; logits only."""
    gtu = _Field[Float64]()
    """GTU: variance-gated total uncertainty: TU of the gated distributions."""
    gau = _Field[Float64]()
    """GAU: variance-gated aleatoric uncertainty: AU of the gated distributions."""
    geu = _Field[Float64]()
    """GEU: variance-gated epistemic uncertainty: EU of the gated distributions."""
    gepce = _Field[Float64]()
    """GEPCE: variance-gated pairwise cross-entropy: EPCE of the gated distributions."""
    gepkl = _Field[Float64]()
    """GEPKL: variance-gated pairwise divergence: EPKL of the gated distributions."""
    gepjs = _Field[Float64]()
    """GEPJS: variance-gated Jensen-Shannon divergence: EPJS of the gated distributions."""
    pred = _Field[Int32]()
    """The class of largest mean probability."""
    second = _Field[Int32]()
    """The class of the second largest."""
    decision = _Field[Int32]()
    """The class, or -1 for "uncertain", at each gate setting."""
    mean = _Field[Float64]()
    """Mean over members of each class's probability."""
    std = _Field[Float64]()
    """Its population spread over members."""
    flags = _Field[UInt32]()
    """Bit 0: reserved, always 0. Bit 1: the two largest means are equal."""

    def __init__(
        self,
        arrays: Mapping[str, Array],
        *,
        k: tuple[float, ...],
        class_k: tuple[float, ...] | None = None,
        shape: tuple[int, int, int],
        figures: _native.ScoreSummary = NO_FIGURES,
        logits: bool = False,
        multilabel: bool = False,
        labels: npt.NDArray[np.int64] | None = None,
        sample_sigma: bool = False,
        classes: tuple[str, ...] | None = None,
        ids: Array | None = None,
        sites: tuple[int, ...] | None = None,
        kept: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        self._arrays = arrays
        self._k = k
        self.n, self.m, self.c = shape
        self._class_k = class_k if class_k is None or len(class_k) == self.c else class_k * self.c
        self._figures = figures
        self.logits = logits
        self.multilabel = multilabel
        self.labels = labels
        self._sample_sigma = sample_sigma
        self.classes = classes
        self.ids = ids
        self.sites = sites
        self._kept = kept  # of sites: those that `ignore` did not leave out; None: all

    def _but(self, **changes: Any) -> Scores:
        """The same scores with some of the constructor's arguments exchanged."""
        how: dict[str, Any] = {
            "arrays": self._arrays,
            "k": self._k,
            "class_k": self._class_k,
            "shape": (self.n, self.m, self.c),
            "figures": self._figures,
            "sample_sigma": self._sample_sigma,
            "kept": self._kept,
        }
        how |= {name: getattr(self, name) for name in ("logits", "multilabel", "labels", "classes", "ids", "sites")}
        return Scores(**(how | changes))

    # --- as a mapping of arrays, and as a sequence of samples ---------------------------------------------------------

    @property
    def k(self) -> Float64:
        return np.array(self._k)

    @property
    def class_k(self) -> Float64 | None:
        """The k for every class that the scores were made with, of which `k` are multiples; None: none."""
        return None if self._class_k is None else np.array(self._class_k)

    @property
    def _rule_std(self) -> Float64:
        """The spread that the decision rule multiplies by the k of each class."""
        return self.std * math.sqrt(self.m / (self.m - 1)) if self._sample_sigma and self.m > 1 else self.std

    @property
    def _spread(self) -> Spread:
        f = self._figures
        return Spread(f.member_variance, f.total_variance, f.disagreement, f.abstained)

    def keys(self) -> list[str]:
        """Names of the arrays that were computed, in the order of files."""
        return [name for name in FILE_ORDER if name in self._arrays]

    @overload
    def __getitem__(self, index: str) -> Array: ...
    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> Sample: ...
    @overload
    def __getitem__(self, index: SampleIndex) -> Scores: ...
    def __getitem__(self, index: str | int | np.integer[Any] | SampleIndex) -> Array | Sample | Scores:
        """An array by name (``"gtu@1"`` is one column of a gated one), a sample by number, or some samples.

        >>> import vargate
        >>> s = vargate.score([[[0.7, 0.3], [0.5, 0.5]], [[0.9, 0.1], [0.8, 0.2]]], k=(1, 2))
        >>> s["gtu@2"].shape, s[1].pred, len(s[:1]), [sample.index for sample in s]
        ((2,), 0, 1, [0, 1])
        """
        if isinstance(index, str):
            return self._column(index)
        if isinstance(index, (int, np.integer)):
            return Sample(self, range(self.n)[index])
        return take(self, index)

    def _column(self, name: str) -> Array:
        stem, at, gate = name.partition("@")
        if stem not in self._arrays:
            raise KeyError(name)
        if not at:
            return self._arrays[stem]
        place = gate_of(gate, self._k)
        if place is None or SCORE_FIELDS[stem][1] != "k":
            raise KeyError(name)
        column: Array = self._arrays[stem][..., place]
        return column

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._arrays

    def __iter__(self) -> Iterator[Sample]:
        return (Sample(self, i) for i in range(self.n))

    def __len__(self) -> int:
        return self.n

    def columns(self) -> dict[str, Float64]:
        """Every computed measure by name, gated ones split by k: ``{"tu": ..., "gtu@1": ...}``, as evaluation lists
        them."""
        out: dict[str, Float64] = {name: self._arrays[name] for name in PLAIN if name in self._arrays}
        for i, k in enumerate(self._k):
            out |= {f"{name}@{_native.k_name(k)}": self._arrays[name][..., i] for name in GATED if name in self._arrays}
        return out

    def map(self, name: str) -> Array:
        """An array of the sites of images in their shape, (N, H, W) and what the array has beside: ``s.map("gmu")``,
        ``s.map("decision@1")``.

        >>> import numpy as np, vargate
        >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 5, 4, 6))  # members, images, height, width
        >>> s = vargate.score(p, axes="MNHWC")
        >>> s.map("tu").shape, s.map("decision").shape
        ((5, 4, 6), (5, 4, 6, 3))
        """
        if self.sites is None:
            raise ValueError("these scores are not those of all sites of images: score(..., axes='NMCHW') makes them")
        values = self[name]
        if self._kept is not None:
            whole = np.full(
                (self._kept.size, *values.shape[1:]), np.nan if values.dtype.kind == "f" else -2, values.dtype
            )
            whole[self._kept] = values
            values = whole
        return values.reshape(*self.sites, *values.shape[1:])

    def abstained(self, k: float = 1.0) -> Float64:
        """Of every image the share of its sites that the rule abstains from at `k`; NaN where all are left out."""
        if self.sites is None:
            raise ValueError("these scores are not those of all sites of images: score(..., axes='NMCHW') makes them")
        count, images = math.prod(self.sites), self.sites[0]
        image = np.arange(count) // (count // images)
        image = image if self._kept is None else image[self._kept]
        sites = np.bincount(image, minlength=images).astype(np.float64)
        left = np.bincount(image[self.decide(k) < 0], minlength=images)
        shares: Float64 = np.divide(left, sites, out=np.full(images, np.nan), where=sites > 0)
        return shares

    def refer(self, above: float, k: float = 1.0) -> npt.NDArray[np.bool_]:
        """Which images go to a person: those with more than the share `above` of their sites abstained from at `k`, as
        ``vargate decide --refer-above`` refers them.

        >>> import numpy as np, vargate
        >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 5, 4, 6))  # members, images, height, width
        >>> s = vargate.score(p, axes="MNHWC")
        >>> s.refer(0.5).shape, bool((s.refer(0.5) == (s.abstained() > 0.5)).all())
        ((5,), True)
        """
        share = real(above, "above", "a share of sites, 0 to 1")
        if not 0 <= share <= 1:
            raise ValueError(f"above is {above!r}, expected a share of sites, 0 to 1")
        return np.nan_to_num(self.abstained(k), nan=-1.0) > share

    # --- decisions ----------------------------------------------------------------------------------------------------

    def decide(self, k: float | Selection = 1.0, *, policy: Policy | str | os.PathLike[str] | None = None) -> Int32:
        """The decision rule at `k`: the predicted class, or -1 where the members do not separate the classes.

        Parameters
        ----------
        k : float or Selection
            Gate setting, > 0. One of those scored is taken from `decision`; any other is solved from `mean` and `std`.
            Or what `select_k` or `select_threshold` chose.
        policy : Policy or path, optional
            What ``vargate decide --save`` wrote, instead of `k`. The scores must be made with its ``options()``.

        Returns
        -------
        ndarray (N,) int32; multilabel (N, C)
        """
        chosen: Any = k
        if policy is not None:
            chosen = as_policy(policy)
            chosen.check(self)
        if hasattr(chosen, "threshold"):
            if chosen.by != "k":
                values, least = self[chosen.by], chosen.threshold
                kept = values > least if is_certainty(chosen.by) else values < least
                return np.where(kept, self.pred, np.int32(-1))
            k = float(chosen.threshold)
        k = real(k, "k", "a number > 0, or what select_k or select_threshold chose")
        if "decision" in self._arrays and k in self._k:
            column: Int32 = self.decision[..., self._k.index(k)].copy()
            return column
        if not (math.isfinite(k) and k > 0):
            raise ValueError(f"k is {k!r}, expected a number > 0")
        return np.where(self.margin_ratio() > k, self.pred, np.int32(-1))

    def decide_names(self, k: float | Selection = 1.0, *, abstain: str | None = None) -> npt.NDArray[np.object_]:
        """`decide` in names of classes, which must have been given; `abstain` where the rule abstains.

        >>> import vargate
        >>> s = vargate.score([[[0.8, 0.2], [0.6, 0.4]], [[0.9, 0.1], [0.9, 0.1]]], classes=["cat", "dog"])
        >>> s.decide_names(3, abstain="?").tolist()
        ['?', 'cat']
        """
        if self.classes is None:
            raise ValueError("classes were not given: score(..., classes=[...])")
        if self.multilabel:
            raise ValueError("decisions of multilabel scores are 0, 1 or -1 for each class, not a class")
        return np.array([*self.classes, abstain], dtype=object)[self.decide(k)]

    def margin_ratio(self) -> Float64:
        """The largest k at which the decision rule keeps each sample.

        Needs ``pred``, ``second``, ``mean`` and ``std``.
        """
        mean, std, pred = self.mean, self._rule_std, self.pred
        if self._class_k is not None:
            std = std * np.array(self._class_k)
        ratio = np.empty(pred.shape)
        if self.multilabel:
            _native.check(_native.lib.vg_margin_ratio(_at(ratio), _at(mean), _at(std), None, None, ratio.size, 1))
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
        if self.labels is None or "pred" not in self._arrays:
            return judge(self._figures)
        return judge(self._figures, int(np.count_nonzero(self.pred == self.labels)), self.labels.size)

    def summary(self) -> ScoreSummary:
        """Mean, median and 95th percentile of each measure, the decision rule at each k, diversity and the verdict on
        it."""
        return summarise(self)

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
        kind = "labels" if self.multilabel else "classes"
        what = f"{self.n} samples, {self.m} member{'s' * (self.m != 1)}, {self.c} {kind}"
        gates = ", ".join(_native.k_name(k) for k in self._k)
        return f"<vargate.Scores: {what}, k = {gates}; {' '.join(self.keys())}>"

    # --- elsewhere ----------------------------------------------------------------------------------------------------

    def to_pandas(self, *, index: Any = None, classes: Sequence[str] | None = None) -> pd.DataFrame:
        """One row per sample, columns as in ``vargate score -o OUT.csv``: ``tu``, ``gtu@1``, ``mean_0``, multilabel
        ``gtu_0@1``.

        Parameters
        ----------
        index : array_like or pandas.Index, optional
            Of the rows; the ids that were given by default, else the number of the sample.
        classes : sequence of str, optional
            Names in place of class numbers: in the columns (``mean_cat``), and as categories of ``pred``, ``second``
            and ``decision``, missing where the rule abstains. Those that were given by default.
        """
        from ._tables import to_pandas

        return to_pandas(self, index, classes)

    def to_arrow(self, *, classes: Sequence[str] | None = None) -> pa.Table:
        """The table of `to_pandas` as a pyarrow Table, with a first column ``id`` where ids were given."""
        from ._tables import to_arrow

        return to_arrow(self, classes)

    def to_polars(self, *, classes: Sequence[str] | None = None) -> pl.DataFrame:
        """The table of `to_pandas` as a polars DataFrame, with a first column ``id`` where ids were given."""
        from ._tables import to_polars

        return to_polars(self, classes)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes what ``vargate score -o`` writes: ``.npz`` (or ``.safetensors``), ``.csv`` or ``.jsonl``, by the
        ending; `vargate.load` reads it back. Names of classes and ids go into files of arrays.

        The file appears complete under its name, or not at all. A file that is there and holds anything but scores is
        replaced only with `force`.
        """
        from ._files import save_scores

        save_scores(self, os.fspath(path), force)


def _at(a: Array) -> int:
    return int(a.ctypes.data)
