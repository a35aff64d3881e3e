"""`select_k` and `select_threshold`: a threshold chosen on validation data, with a promise about its risk or its
coverage."""

from __future__ import annotations

import os
from collections.abc import Sequence
from ctypes import POINTER, byref, c_double, c_size_t, cast, create_string_buffer
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _native
from ._arrays import real, reals
from ._measures import GATED, PLAIN
from ._options import ClassGates, DecisionOptions, ThreadedOptions, choice, show_options, split_gates
from ._predictions import Predictions
from ._score import score
from ._tally import as_scores, number, rows_of, tally
from .policy import Policy, as_policy
from .scores import Int32, Scores

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Selection", "decide", "select_k", "select_threshold"]

Multiplicity = Literal["auto", "sequence", "bonferroni", "none"]
MULTIPLICITIES = ("auto", "sequence", "bonferroni", "none")
BOUNDS = ("clopper-pearson", "hoeffding-bentkus", "betting")
SOURCES = ("none", "given", "unlabelled", "set-aside")


@dataclass(frozen=True)
class Selection:
    """A threshold chosen on validation data. `Scores.decide` takes it.

    Attributes
    ----------
    by : str
        ``"k"`` for the decision rule, or the measure's name.
    threshold : float
        k of the rule; or rows with a value below it (``snr``: above it) are kept.
    met : bool
        Whether the target is met. If not, the rest describes the best that can be reached.
    n, kept, errors : int
        Validation rows that are tested, those kept, errors among them (None without labels).
    coverage, risk, risk_bound : float
        kept / n; the mean over the samples that keep a row of the share of errors among the rows they keep (errors /
        kept with one row per sample); and the upper bound of that risk at level `level`.
    level : float
        1 - confidence of that one bound: its share of 1 - `confidence`.
    grid, starts : int
        Thresholds of the grid; starts of the sequence.
    multiplicity : str
        How the chance of a wrong promise was shared among them.
    samples, answered : int
        Samples that are tested, and those that keep a row. The sample is the unit that is drawn.
    set_aside : int
        Validation samples that placed the thresholds and are not tested.
    tested, candidates : int
        Hypotheses tested, over all candidates that share 1 - `confidence`.
    source : str
        Where the thresholds come from: ``"unlabelled"``, ``"set-aside"``, ``"given"`` or ``"none"``.
    bound : str
        ``"clopper-pearson"``, ``"hoeffding-bentkus"`` or ``"betting"``.
    needed : int
        Where a risk is not met: validation samples that would do at the risks found, roughly; 0 when no number would.
    """

    by: str
    threshold: float
    met: bool
    target_risk: float | None
    target_coverage: float | None
    confidence: float
    n: int
    kept: int
    errors: int | None
    coverage: float
    risk: float | None
    risk_bound: float | None
    level: float
    grid: int
    starts: int
    multiplicity: str
    samples: int
    answered: int
    set_aside: int
    tested: int
    candidates: int
    source: str
    bound: str
    needed: int
    reason: str

    @property
    def k(self) -> float:
        """The chosen k of the decision rule."""
        if self.by != "k":
            raise AttributeError(f"chosen by {self.by}: there is a threshold, no k")
        return self.threshold

    def _repr_html_(self) -> str:
        from ._show import selection_html

        return selection_html(self)

    def to_dict(self) -> dict[str, Any]:
        """The keys of ``calibration`` in ``vargate decide --json``."""
        target = "target_risk" if self.target_risk is not None else "target_coverage"
        out: dict[str, Any] = {
            target: getattr(self, target),
            "confidence": self.confidence,
            "n": self.n,
            "kept": self.kept,
        }
        out["coverage"] = number(self.coverage)
        if self.errors is not None:
            out["errors"] = self.errors
            out["risk"] = None if self.risk is None else number(self.risk)
            out["risk_bound"] = None if self.risk_bound is None else number(self.risk_bound)
        out |= {"level": number(self.level), "grid": self.grid}
        if self.target_risk is not None:
            out |= {
                "unit": "sample",
                "samples": self.samples,
                "answered": self.answered,
                "bound": self.bound,
                "thresholds": self.source,
                "set_aside": self.set_aside,
                "candidates": self.candidates,
                "tested": self.tested,
                "starts": self.starts,
                "multiplicity": self.multiplicity,
            }
        return out


def decide(
    p: Any,
    k: float | Selection | ClassGates = 1.0,
    *,
    policy: Policy | str | os.PathLike[str] | None = None,
    threads: int | None = None,
    **scoring: Unpack[DecisionOptions],
) -> Int32:
    """The decision rule: the predicted class of each sample, or -1 where the members do not separate the classes.

    Parameters
    ----------
    p : Scores or array_like (N, M, C)
        Predictions as `score` takes them, with its options as further keyword arguments, or their scores.
    k : float, Selection, or GateFit or the path of its .json file
        Gate setting, > 0, or what `select_k` or `select_threshold` chose; a k for every class, as in `score`.
    policy : Policy or path, optional
        What ``vargate decide --save`` wrote, instead of `k`: its temperature and conventions are applied, and
        predictions of another ensemble are refused.

    Returns
    -------
    ndarray (N,) int32; multilabel (N, C)

    Examples
    --------
    >>> import vargate
    >>> vargate.decide([[[0.8, 0.2], [0.6, 0.4]], [[0.9, 0.1], [0.9, 0.1]]], k=3)
    array([-1,  0], dtype=int32)
    """
    if isinstance(p, Scores):
        if scoring:
            raise TypeError(f"scoring options ({', '.join(scoring)}) are for arrays; these scores are made already")
        return p.decide(k, policy=policy)  # type: ignore[arg-type]
    chosen, class_k = split_gates(k, scoring.get("class_k"))
    if class_k is not None:
        scoring = {**scoring, "class_k": class_k}
    if policy is not None:
        chosen = as_policy(policy)
        own = chosen.options()
        clash = sorted(name for name in scoring if name in own)
        if clash:
            raise TypeError(f"the policy has its own {', '.join(clash)}")
        scoring = {**own, **scoring}
    needed, gates = ["pred", "second", "mean", "std"], 1.0
    if hasattr(chosen, "by") and chosen.by != "k":
        stem, at, gate = chosen.by.partition("@")
        needed, gates = ["pred", stem], float(gate) if at else 1.0
    take = p.score if isinstance(p, Predictions) else partial(score, p)
    made = take(k=gates, threads=threads, measures=needed, **scoring)
    return made.decide(chosen) if policy is None else made.decide(policy=chosen)


class SelectionOptions(ThreadedOptions, total=False):
    """The options of `select_k`, which `select_threshold` takes as well."""

    target_risk: float | None
    target_coverage: float | None
    confidence: float
    grid: Sequence[float] | None
    multiplicity: Multiplicity
    starts: int
    to_decide: Any
    must_meet: bool


def select_k(
    p: Any,
    labels: Any = None,
    *,
    target_risk: float | None = None,
    target_coverage: float | None = None,
    confidence: float = 0.95,
    grid: Sequence[float] | None = None,
    multiplicity: Multiplicity = "auto",
    starts: int = 0,
    to_decide: Any = None,
    must_meet: bool = True,
    **scoring: Unpack[ThreadedOptions],
) -> Selection:
    """k of the decision rule, chosen on validation data.

    Parameters
    ----------
    p : Scores or array_like (N, M, C)
        Validation predictions as `score` takes them, with its options as further keyword arguments, or their scores.
    labels : array_like of int
        True classes; a coverage can be chosen without.
    target_risk : float
        The k of largest coverage whose risk is below this with `confidence`, corrected for every k tried.
    target_coverage : float
        The most selective k that keeps at least this share. One of the two targets is given.
    grid : sequence of float, optional
        ks to try, fixed before the data was seen. Default: 40 quantiles of the margin ratios of `to_decide`, or of some
        validation samples that are set aside for it.
    multiplicity : {"auto", "sequence", "bonferroni", "none"}
        How the chance of a wrong promise is shared among them.
    starts : int
        Of the sequence; 0: 3 on quantiles, one for every 4 points of a grid.
    to_decide : Scores or array_like (N, M, C), optional
        The predictions that will be decided on, scored as `p` is; no labels are needed. Thresholds are then quantiles
        of theirs, and all validation samples are tested.
    must_meet : bool
        Raise ValueError when the target cannot be met; otherwise the result says so in `met`.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import numpy as np, vargate
    >>> p = np.random.default_rng(0).dirichlet([6, 2, 1], size=(1000, 5))
    >>> chosen = vargate.select_k(p, target_coverage=0.75)
    >>> chosen.met, chosen.coverage >= 0.75
    (True, True)
    >>> float((vargate.score(p).decide(chosen) >= 0).mean()) == chosen.coverage
    True
    """
    target = Target(target_risk, target_coverage, confidence, grid, multiplicity, starts)
    return _select(p, labels, ["k"], target, to_decide, must_meet, scoring)


def select_threshold(
    p: Any, labels: Any = None, *, by: str | Sequence[str] = "gmu", **options: Unpack[SelectionOptions]
) -> Selection:
    """A threshold of the measure `by` (gated ones with their setting, ``"gtu@2"``), chosen as `select_k` chooses k.

    Several measures in `by`, ``"k"`` among them if wanted, compete for the largest coverage at a target risk; 1 -
    `confidence` is shared among them, which accounts for the choice. The other options are `select_k`'s.

    Examples
    --------
    >>> import numpy as np, vargate
    >>> p = np.random.default_rng(0).dirichlet([6, 2, 1], size=(1000, 5))
    >>> vargate.select_threshold(p, by="gtu@2", target_coverage=0.9).kept
    900
    """
    names = [by] if isinstance(by, str) else list(by)
    if not names:
        raise ValueError("by is empty, expected a measure")
    gates = set()
    for name in names:
        stem, at, gate = name.partition("@")
        if name != "k" and (stem not in (GATED if at else PLAIN)):
            raise ValueError(f"by is {name!r}, expected a measure: {', '.join(PLAIN)}, or gtu@2, ...")
        if at:
            try:
                gates.add(float(gate))
            except ValueError:
                raise ValueError(f"by is {name!r}, expected a number after @") from None
    own: Any = {name: value for name, value in options.items() if name not in ThreadedOptions.__annotations__}
    scoring: Any = {name: value for name, value in options.items() if name not in own}
    if gates and "k" not in scoring:
        scoring["k"] = sorted(gates)
    to_decide, must_meet = own.pop("to_decide", None), bool(own.pop("must_meet", True))
    return _select(p, labels, names, _target(**own), to_decide, must_meet, scoring)


def _target(
    target_risk: Any = None, target_coverage: Any = None, confidence: Any = 0.95, grid: Any = None, **rest: Any
) -> Target:
    return Target(target_risk, target_coverage, confidence, grid, **rest)


@dataclass(frozen=True)
class Target:
    """The requirements of a selection."""

    risk: float | None
    coverage: float | None
    confidence: float
    grid: Sequence[float] | None = None
    multiplicity: str = "auto"
    starts: int = 0

    def __post_init__(self) -> None:
        for name in ("risk", "coverage"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, real(getattr(self, name), f"target_{name}"))
        object.__setattr__(self, "confidence", real(self.confidence, "confidence"))


def options_of(target: Target, rows_per_sample: int) -> tuple[_native.SelectOptions, Any]:
    """The library's options, and the grid they refer to, which must outlive them."""
    for name, value in (("target_risk", target.risk), ("target_coverage", target.coverage)):
        if value is not None and not 0 < value <= 1:
            raise ValueError(f"{name} is {value!r}, expected a number in (0, 1]")
    points = _native.doubles(() if target.grid is None else reals(target.grid, "grid"))
    o = _native.SelectOptions(struct_size=_native.size(_native.SelectOptions), seed=1)
    o.target_risk, o.target_coverage, o.confidence = target.risk or 0.0, target.coverage or 0.0, target.confidence
    if target.grid is not None:
        o.grid, o.grid_count = cast(points, POINTER(c_double)), len(points)
    o.multiplicity, o.starts = choice("multiplicity", target.multiplicity, MULTIPLICITIES), target.starts
    o.rows_per_sample = rows_per_sample
    return o, points


def _values(s: Scores, name: str) -> Any:
    """A candidate's values: margin ratios for the rule."""
    return s.margin_ratio().reshape(-1) if name == "k" else np.ascontiguousarray(s[name]).reshape(-1)


def _select(
    p: Any, labels: Any, names: list[str], target: Target, to_decide: Any, must_meet: bool, scoring: Any
) -> Selection:
    if (target.risk is None) == (target.coverage is None):
        raise ValueError("expected one of target_risk and target_coverage")
    stems = [name.partition("@")[0] for name in names if name != "k"]

    def scores_of(q: Any, truth: Any) -> Scores:
        ready = isinstance(q, Scores)
        how: Any = {name: value for name, value in scoring.items() if not (ready and name in ("measures", "k"))}
        if not ready:
            how = {"measures": stems or ["pred"], **how}
        return as_scores(q, truth, how)

    s = scores_of(p, labels)
    other = None if to_decide is None or target.risk is None else scores_of(to_decide, None)
    truth = s.labels
    if truth is None:
        if target.risk is not None:
            raise ValueError("labels are needed to choose by risk")
        truth = np.zeros((s.n, s.c) if s.multilabel else s.n, np.int64)
    o, _points = options_of(target, s.c if s.multilabel else 1)
    listed = (_native.Candidate * len(names))()
    columns = [(_values(s, name), None if other is None else _values(other, name)) for name in names]
    found, chosen = _native.Selection(_native.size(_native.Selection)), c_size_t()
    with tally(s, truth, confusion=0) as counted:
        lib, held = _native.lib, rows_of(counted)
        for entry, name, (values, unlabelled) in zip(listed, names, columns, strict=True):
            entry.measure = _native.Measure(name.encode(), values.ctypes.data, 1, name in ("k", "snr"))
            entry.rule, entry.errors = name == "k", held.errors
            if unlabelled is not None:
                entry.unlabelled, entry.unlabelled_rows = unlabelled.ctypes.data, len(unlabelled)
        _native.check(lib.vg_select_among(byref(found), byref(chosen), listed, len(names), held.rows, byref(o)))
    best = selection(found, names[chosen.value], target.risk, target.coverage, target.confidence, s.labels is not None)
    if must_meet and not best.met:
        raise ValueError(_missed(best))
    return best


def selection(
    found: _native.Selection,
    by: str,
    target_risk: float | None,
    target_coverage: float | None,
    confidence: float,
    labelled: bool,
) -> Selection:
    """What the library found, as a `Selection`; without labels no errors are counted."""
    reason = create_string_buffer(400)
    _native.lib.vg_selection_reason(reason, len(reason), byref(found))
    return Selection(
        by=by,
        threshold=found.threshold,
        met=bool(found.met),
        target_risk=target_risk,
        target_coverage=target_coverage,
        confidence=confidence,
        n=found.rows,
        kept=found.kept,
        errors=found.errors if labelled else None,
        coverage=found.coverage,
        risk=found.risk if labelled else None,
        risk_bound=found.risk_bound if labelled else None,
        level=found.level,
        grid=found.grid_count,
        starts=found.starts,
        multiplicity=MULTIPLICITIES[found.multiplicity],
        samples=found.samples,
        answered=found.answered,
        set_aside=found.set_aside,
        tested=found.tested,
        candidates=found.candidates,
        source=SOURCES[found.source],
        bound=BOUNDS[found.bound],
        needed=found.needed,
        reason=reason.value.decode(),
    )


def _missed(s: Selection) -> str:
    what = "k" if s.by == "k" else "threshold"
    reached = f"{s.by} {'=' if s.by == 'k' else '>' if s.by == 'snr' else '<'} {_native.k_name(s.threshold)}"
    if s.target_risk is not None:
        return (
            f"no {what} meets a risk of {s.target_risk:g} with {100 * s.confidence:g} % confidence; "
            f"the best reachable is {reached}: risk at most {s.risk_bound:.4g} "
            f"(found {s.errors} errors in {s.kept} kept, coverage {100 * s.coverage:.2f} %); {s.reason}"
        )
    share = 100 * (s.target_coverage or 0)
    best = f"the best reachable is {reached}: coverage {100 * s.coverage:.2f} %"
    return f"no {what} keeps {share:g} % of the samples; {best}"


show_options(decide, score, without=("p", "labels", "ids", "k", "measures", "classes", "threads"))
show_options(select_k, score)
show_options(select_threshold, select_k)
