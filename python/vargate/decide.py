"""`select_k` and `select_threshold`: a threshold chosen on validation data, with a promise about its risk or its coverage."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import POINTER, byref, c_double, cast
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _native
from ._arrays import reals
from ._options import FILE_ORDER, choice
from ._tally import as_scores, measure_list, number, tally
from .scores import Scores

__all__ = ["Selection", "select_k", "select_threshold"]

MULTIPLICITIES = ("auto", "sequence", "bonferroni", "none")


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
        Validation rows, those kept, errors among them (None without labels).
    coverage, risk, risk_bound : float
        kept / n, errors / kept, and the upper bound of the risk at level `level`.
    level : float
        1 - confidence of that one bound: its share of 1 - `confidence`.
    grid, starts : int
        Settings tried; starts of the sequence.
    multiplicity : str
        How the chance of a wrong promise was shared among them.
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

    @property
    def k(self) -> float:
        """The chosen k of the decision rule."""
        if self.by != "k":
            raise AttributeError(f"chosen by {self.by}: there is a threshold, no k")
        return self.threshold

    def to_dict(self) -> dict[str, Any]:
        """The keys of ``calibration`` in ``vargate decide --json``."""
        target = "target_risk" if self.target_risk is not None else "target_coverage"
        out: dict[str, Any] = {target: getattr(self, target), "confidence": self.confidence, "n": self.n, "kept": self.kept}
        out["coverage"] = number(self.coverage)
        if self.errors is not None:
            out["errors"] = self.errors
            out["risk"] = None if self.risk is None else number(self.risk)
            out["risk_bound"] = None if self.risk_bound is None else number(self.risk_bound)
        return out | {"level": number(self.level), "grid": self.grid}


def select_k(
    p: Any,
    labels: Any = None,
    *,
    target_risk: float | None = None,
    target_coverage: float | None = None,
    confidence: float = 0.95,
    grid: Sequence[float] | None = None,
    multiplicity: str = "auto",
    starts: int = 0,
    must_meet: bool = True,
    **scoring: Any,
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
        ks to try, fixed before the data was seen. Default: 121 from 0.01 to 10,000.
    multiplicity : {"auto", "sequence", "bonferroni", "none"}
        How the chance of a wrong promise is shared among them.
    starts : int
        Of the sequence; 0: one for every 4 points.
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
    return _select(
        p,
        labels,
        "k",
        target_risk,
        target_coverage,
        confidence,
        grid,
        multiplicity,
        starts,
        must_meet,
        {"measures": "pred", **scoring},
    )


def select_threshold(
    p: Any,
    labels: Any = None,
    *,
    by: str = "gmu",
    target_risk: float | None = None,
    target_coverage: float | None = None,
    confidence: float = 0.95,
    grid: Sequence[float] | None = None,
    multiplicity: str = "auto",
    starts: int = 0,
    must_meet: bool = True,
    **scoring: Any,
) -> Selection:
    """A threshold of the measure `by` (gated ones with their setting, ``"gtu@2"``), chosen as `select_k` chooses k.

    Examples
    --------
    >>> import numpy as np, vargate
    >>> p = np.random.default_rng(0).dirichlet([6, 2, 1], size=(1000, 5))
    >>> vargate.select_threshold(p, by="gtu@2", target_coverage=0.9).kept
    900
    """
    stem, at, gate = by.partition("@")
    if stem not in FILE_ORDER[:14] or bool(at) != (stem in FILE_ORDER[8:14]):
        raise ValueError(f"by is {by!r}, expected a measure: {', '.join(FILE_ORDER[:8])}, or gtu@2 and the like")
    if at and "k" not in scoring:
        try:
            scoring["k"] = float(gate)
        except ValueError:
            raise ValueError(f"by is {by!r}, expected a number after @") from None
    return _select(
        p,
        labels,
        by,
        target_risk,
        target_coverage,
        confidence,
        grid,
        multiplicity,
        starts,
        must_meet,
        {"measures": stem, **scoring},
    )


def _select(
    p: Any,
    labels: Any,
    by: str,
    target_risk: float | None,
    target_coverage: float | None,
    confidence: float,
    grid: Sequence[float] | None,
    multiplicity: str,
    starts: int,
    must_meet: bool,
    scoring: dict[str, Any],
) -> Selection:
    if (target_risk is None) == (target_coverage is None):
        raise ValueError("expected one of target_risk and target_coverage")
    if isinstance(p, Scores):
        scoring = {name: value for name, value in scoring.items() if name not in ("measures", "k")}
    s = as_scores(p, labels, scoring)
    truth = s.labels
    if truth is None:
        if target_risk is not None:
            raise ValueError("labels are needed to choose by risk")
        truth = np.zeros((s.n, s.c) if s.multilabel else s.n, np.int64)
    points = _native.doubles(() if grid is None else reals(grid, "grid"))
    o = _native.SelectOptions(
        _native.size(_native.SelectOptions),
        target_risk or 0.0,
        target_coverage or 0.0,
        confidence,
        None if grid is None else cast(points, POINTER(c_double)),
        len(points),
        choice("multiplicity", multiplicity, MULTIPLICITIES),
        starts,
    )
    for name, value in (("target_risk", target_risk), ("target_coverage", target_coverage)):
        if value is not None and not 0 < value <= 1:
            raise ValueError(f"{name} is {value!r}, expected a number in (0, 1]")
    found = _native.Selection(_native.size(_native.Selection))
    with tally(s, truth, confusion=0) as counted:
        lib = _native.lib
        errors, rows = lib.vg_tally_errors(counted), lib.vg_tally_rows(counted)
        if by == "k":
            _native.check(lib.vg_select_k(byref(found), lib.vg_tally_ratio(counted), errors, rows, byref(o)))
        else:
            column = s[by]
            listed = measure_list({by: column})
            _native.check(lib.vg_select_threshold(byref(found), listed, errors, rows, byref(o)))
    labelled = s.labels is not None
    chosen = selection(found, by, target_risk, target_coverage, confidence, labelled)
    if must_meet and not chosen.met:
        raise ValueError(_missed(chosen))
    return chosen


def selection(
    found: _native.Selection,
    by: str,
    target_risk: float | None,
    target_coverage: float | None,
    confidence: float,
    labelled: bool,
) -> Selection:
    """What the library found, as a `Selection`; without labels there are no errors to speak of."""
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
    )


def _missed(s: Selection) -> str:
    what = "k" if s.by == "k" else "threshold"
    reached = f"{s.by} {'=' if s.by == 'k' else '>' if s.by == 'snr' else '<'} {_native.k_name(s.threshold)}"
    if s.target_risk is not None:
        return (
            f"no {what} meets a risk of {s.target_risk:g} with {100 * s.confidence:g} % confidence; the best reachable is {reached}: "
            f"risk at most {s.risk_bound:.4g} (found {s.errors} errors in {s.kept} kept, coverage {100 * s.coverage:.2f} %)"
        )
    share = 100 * (s.target_coverage or 0)
    return f"no {what} keeps {share:g} % of the samples; the best reachable is {reached}: coverage {100 * s.coverage:.2f} %"
