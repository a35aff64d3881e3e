"""`evaluate`: accuracy, calibration and the value of each uncertainty measure, given the labels."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from ctypes import POINTER, byref, c_double, cast, create_string_buffer
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import real, whole
from ._figures import (
    RANKING,
    ClassFigures,
    Finding,
    ImageFigures,
    Interval,
    LabelFigures,
    Lead,
    Points,
    Ranking,
    ReliabilityBin,
    RuleFigures,
    intervals_of,
)
from ._maps import find_map
from ._options import FigureOptions, ScoringOptions, compared, show_options, thread_count
from ._score import score
from ._sites import site_axes
from ._summary import Verdict, judge
from ._tally import (
    as_scores,
    certain_names,
    chosen_columns,
    extra_columns,
    measure_list,
    number,
    points,
    tally,
    without_ignored,
)
from .scores import Scores

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Unpack

__all__ = ["RANKING", "ClassFigures", "Evaluation", "Finding", "ImageFigures", "Interval", "LabelFigures", "Lead"]
__all__ += ["Ranking", "ReliabilityBin", "RuleFigures", "best_of", "evaluate", "evaluation_of"]

DEFAULT_BINS = 15
_WHOLE = ["accuracy", "f1_macro", "f1_micro", "subset_accuracy"]
_WHOLE += ["ece", "ece_macro", "ece_adaptive", "ece_classwise", "mce", "nll", "brier"]
_MULTILABEL_ONLY = ("f1_micro", "subset_accuracy", "ece_macro")


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Every figure of ``vargate evaluate``. Undefined ones are NaN (None in `to_dict`).

    `measures` maps a measure's name (``"tu"``, ``"gtu@1"``) to its `Ranking`, `best` a figure to the measure that is
    best at it, `rule` a gate setting to what the decision rule does there. With a bootstrap, `intervals` maps a figure
    to its ends; a figure for which no interval that holds its level is known has none. `ece_expected` is the ECE that a
    perfectly calibrated model would show on average with these samples, `ece_p_value` the chance of one as large as
    seen, `ece_debiased` the ECE less what chance adds to it, `mce_rows` the size of the bin that decides MCE, `notes`
    what a reader of the figures must know. `findings` says in plain words whether the ensemble is diverse and
    calibrated, which measure to use for errors and whether its lead is noise (`lead`), and what abstaining buys.
    `classes` are the names of the classes, where they were given.

    Of label maps every site is a row: `sites` is their shape (N, H, W), `ignored` counts those left out, `miou` is the
    mean intersection over union, and `images` has a row for each image.
    """

    n: int
    m: int
    c: int
    multilabel: bool
    bins: int
    accuracy: float
    f1_macro: float
    f1_micro: float
    subset_accuracy: float
    ece: float
    ece_macro: float
    ece_adaptive: float
    ece_classwise: float
    mce: float
    nll: float
    brier: float
    measures: dict[str, Ranking]
    best: dict[str, str]
    rule: dict[str, RuleFigures]
    per_class: list[ClassFigures]
    confusion: npt.NDArray[np.int64] | None
    reliability: list[ReliabilityBin]
    per_label: list[LabelFigures] = field(default_factory=list)
    ece_expected: float = np.nan
    ece_p_value: float = np.nan
    ece_debiased: float = np.nan
    mce_rows: int = 0
    errors: int = 0
    notes: tuple[str, ...] = ()
    intervals: dict[str, Interval] | None = None
    bootstrap: int = 0
    confidence: float = 0.95
    seed: int = 1
    classes: tuple[str, ...] | None = None
    findings: tuple[Finding, ...] = ()
    lead: Lead | None = None
    class_measure: str | None = None
    miou: float = np.nan
    sites: tuple[int, ...] | None = None
    ignored: int = 0
    images: tuple[ImageFigures, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The keys of ``vargate evaluate --json`` but for ``schema``, ``command`` and ``file``."""
        out: dict[str, Any] = {name: getattr(self, name) for name in ("n", "m", "c", "multilabel", "bins")}
        for name in _WHOLE:
            if self.multilabel or name not in _MULTILABEL_ONLY:
                out[name] = number(getattr(self, name))
        for name in ("ece_expected", "ece_p_value", "ece_debiased"):
            out[name] = number(getattr(self, name))
        out |= {"mce_rows": self.mce_rows, "errors": self.errors}
        if self.intervals is not None:
            out["intervals"] = intervals_of(self.intervals)
            out |= {"bootstrap": self.bootstrap, "confidence": self.confidence, "seed": self.seed}
        out["notes"] = list(self.notes)
        out["measures"] = {name: ranking.to_dict() for name, ranking in self.measures.items()}
        out["best"] = dict(self.best)
        out["rule"] = {name: rule.to_dict() for name, rule in self.rule.items()}
        out["lead"] = self.lead.to_dict() if self.lead else {}
        if self.class_measure is not None:
            out["class_measure"] = self.class_measure
        out["per_class"] = [row.to_dict() for row in self.per_class]
        for row, name in zip(out["per_class"], self.classes or (), strict=False):
            at_end = row.pop("intervals", None)
            row |= {"name": name} | ({} if at_end is None else {"intervals": at_end})
        if self.confusion is not None:
            out["confusion"] = self.confusion.tolist()
        out["reliability"] = [row.to_dict() for row in self.reliability]
        if self.per_label:
            out["per_label"] = [row.to_dict() for row in self.per_label]
        if self.sites is not None:
            out |= {"miou": number(self.miou), "sites": list(self.sites), "ignored": self.ignored}
            out["images"] = [row.to_dict() for row in self.images]
        out["advice"] = self.advice
        out["findings"] = [finding.to_dict() for finding in self.findings]
        return out

    @property
    def advice(self) -> dict[str, dict[str, Any]]:
        """What to use: under ``"measure"``, ``"k"`` and ``"calibrator"`` what is advised (``use``, None where nothing
        is), whether it is ``clear`` or another's lead may be noise, and ``why``."""
        return {
            finding.about: {"use": finding.choice, "clear": finding.verdict == "clear", "why": finding.text}
            for finding in self.findings
            if finding.about in ("measure", "k", "calibrator")
        }

    def to_pandas(self, what: Literal["measures", "classes", "confusion", "images"] = "measures") -> pd.DataFrame:
        """One row per measure; or one row per class, or the confusion matrix (rows true, columns predicted), by the
        names of the classes where they were given; or of label maps one row per image."""
        from ._tables import evaluation_table

        return evaluation_table(self, what)

    def __str__(self) -> str:
        unit = "samples" if self.sites is None else f"sites of {len(self.images)} images"
        lines = [f"{self.n} {unit}, {self.m} members, {self.c} classes"]
        named = [*_WHOLE, "miou"]
        lines.append(
            ", ".join(f"{name} {getattr(self, name):.4g}" for name in named if not np.isnan(getattr(self, name)))
        )
        lines += self.notes
        lines.append(f"{'measure':<10}" + "".join(f"{name:>13}" for name in RANKING))
        # Where all are equal, the first is no better than the others.
        distinct = {name for name in RANKING if len({getattr(r, name) for r in self.measures.values()}) > 1}
        best = {name: measure for name, measure in self.best.items() if name in distinct}
        for measure, ranking in self.measures.items():
            marks = [(getattr(ranking, name), "*" if best.get(name) == measure else " ") for name in RANKING]
            lines.append(f"{measure:<10}" + "".join(f"{value:>12.4g}{mark}" for value, mark in marks))
        for k, rule in self.rule.items():
            lines.append(f"k = {k}: coverage {rule.coverage:.4g}, accuracy on the kept {rule.accuracy:.4g}")
        lines += [finding.text for finding in self.findings]
        return "\n".join(lines)

    def __repr__(self) -> str:
        figures = f"accuracy {self.accuracy:.4g}, ECE {self.ece:.4g}, NLL {self.nll:.4g}"
        return f"<vargate.Evaluation: {self.n} samples, {figures}; {len(self.measures)} measures>"

    def plot(
        self, kind: Literal["reliability", "risk_coverage", "ranking", "abstained"] | None = None, *, ax: Any = None
    ) -> Any:
        """Draws the figures with matplotlib: one `kind` into `ax`, or without it all of them in a new figure.

        ``"risk_coverage"`` needs an evaluation made with ``curve=``; `vargate.plots` has every option.

        Returns
        -------
        matplotlib Axes, or a list of them
        """
        from .plots import evaluation

        return evaluation(self, kind, ax=ax)

    def _repr_html_(self) -> str:
        from ._show import evaluation_html

        return evaluation_html(self)


# --- from the library's struct ----------------------------------------------------------------------------------------


def _ends(row: Any, names: Sequence[str]) -> dict[str, Interval]:
    """The intervals there are."""
    ends = {name: (getattr(row, name).low, getattr(row, name).high) for name in names}
    return {name: (low, high) for name, (low, high) in ends.items() if not np.isnan(low)}


def _point_ends(points: Sequence[float], estimates: Any, count: int) -> Points:
    return {
        _native.k_name(points[i]): (estimates[i].low, estimates[i].high)
        for i in range(count)
        if not np.isnan(estimates[i].low)
    }


def _notes(e: Any) -> tuple[str, ...]:
    room = create_string_buffer(_native.MAX_NOTES * _native.NOTE_SIZE)
    count = _native.lib.vg_evaluation_notes(room, byref(e))
    return tuple(room.raw[i * _native.NOTE_SIZE :].split(b"\0", 1)[0].decode() for i in range(count))


def _findings(e: Any, verdict: Verdict | None) -> tuple[Finding, ...]:
    rows = (_native.Finding * _native.MAX_FINDINGS)()
    judged = None
    if verdict is not None and verdict.name != "unknown":
        judged = _native.Verdict(_native.size(_native.Verdict), 1, verdict.name.encode())
        judged.text = verdict.text.encode()
    count = _native.lib.vg_evaluation_findings(rows, byref(e), byref(judged) if judged is not None else None)
    return tuple(map(_finding, rows[:count]))


def _finding(row: Any) -> Finding:
    return Finding(row.about.decode(), row.verdict.decode(), row.choice.decode() or None, row.text.decode())


def _calibrator(s: Scores, labels: npt.NDArray[np.int64], threads: int | None) -> Finding:
    """Which calibrator of the mean the samples support."""
    found = _native.Finding()
    mean, classes = np.ascontiguousarray(s.mean), np.ascontiguousarray(labels)
    _native.check(
        _native.lib.vg_calibrator_finding(
            byref(found), mean.ctypes.data, classes.ctypes.data, *mean.shape, thread_count(threads)
        )
    )
    return _finding(found)


def _lead(e: Any) -> Lead | None:
    lead = e.lead
    if lead.leader >= e.measure_count:
        return None
    leader = e.measures[lead.leader].name.decode()
    if lead.rival >= e.measure_count:
        return Lead(leader)
    ends = (lead.difference.low, lead.difference.high)
    rival = e.measures[lead.rival].name.decode()
    return Lead(leader, rival, lead.difference.value, ends, lead.p_value, lead.corrected)


def _classes(e: Any) -> list[ClassFigures]:
    out = []
    for c in range(e.classes):
        row, more = e.per_class[c], e.class_figures[c]
        out.append(
            ClassFigures(
                *(row.support, row.predicted, row.true_positive, row.precision, row.recall, row.f1),
                more.uncertainty,
                more.abstained if e.rule_count else None,
                _ends(more, ("recall", "precision")) if e.resamples else None,
                None if np.isnan(e.miou.value) else more.iou,
            )
        )
    return out


def _ranking(e: Any, r: Any, intervals: bool) -> Ranking:
    return Ranking(
        **{name: getattr(r, name).value for name in RANKING},
        risk_at_coverage={_native.k_name(e.coverages[i]): r.risk_at[i].value for i in range(e.coverage_count)},
        coverage_at_risk={_native.k_name(e.risks[i]): r.coverage_at[i].value for i in range(e.risk_count)},
        curve=r.curve[: e.curve_points] if r.curve else None,
        intervals=_ends(r, RANKING) if intervals else None,
        risk_intervals=_point_ends(e.coverages, r.risk_at, e.coverage_count) if intervals else None,
        coverage_intervals=_point_ends(e.risks, r.coverage_at, e.risk_count) if intervals else None,
    )


def _rankings(e: Any, rows: Any, intervals: bool) -> dict[str, Ranking]:
    return {rows[i].name.decode(): _ranking(e, rows[i], intervals) for i in range(e.measure_count)}


def _class(row: Any) -> ClassFigures:
    return ClassFigures(row.support, row.predicted, row.true_positive, row.precision, row.recall, row.f1)


def _rule(e: Any, row: Any) -> RuleFigures:
    return RuleFigures(
        row.coverage.value,
        row.accuracy.value,
        row.kept,
        row.kept_errors,
        row.abstained,
        row.abstained_errors,
        row.abstained_correct,
        row.abstained_by_label[: e.classes] if row.abstained_by_label else None,
        row.abstained_by_prediction[: e.classes] if row.abstained_by_prediction else None,
        _ends(row, ("coverage", "accuracy")) if e.resamples else None,
    )


def best_of(figures: dict[str, Any], names: Sequence[str], higher: Sequence[str]) -> dict[str, str]:
    """The first measure that is best at each figure; a figure undefined for all is left out."""
    best: dict[str, str] = {}
    for name in names:
        values = {measure: getattr(row, name) for measure, row in figures.items() if not np.isnan(getattr(row, name))}
        if values:
            best[name] = (max if name in higher else min)(values, key=values.__getitem__)
    return best


def evaluation_of(
    e: Any, members: int, classes: tuple[str, ...] | None = None, figures: _native.ScoreSummary | None = None
) -> Evaluation:
    """The library's evaluation as an object."""
    measures = _rankings(e, e.measures, e.resamples > 0)
    confusion = None
    if e.confusion:
        confusion = np.ctypeslib.as_array(e.confusion, (e.classes, e.classes)).astype(np.int64)
    return Evaluation(
        n=e.n,
        m=members,
        c=e.classes,
        multilabel=e.task != 0,
        bins=e.bins,
        **{name: getattr(e, name).value for name in _WHOLE},
        measures=measures,
        best=best_of(measures, RANKING, RANKING[3:]),
        rule={e.rule[i].name.decode(): _rule(e, e.rule[i]) for i in range(e.rule_count)},
        per_class=_classes(e),
        confusion=confusion,
        reliability=[
            ReliabilityBin(b.low, b.high, b.count, b.confidence, b.accuracy)
            for b in (e.reliability[i] for i in range(e.bins))
        ],
        per_label=[
            LabelFigures(_class(r.positive), r.accuracy, r.ece, r.nll, r.brier, _rankings(e, r.measures, False))
            for r in (e.labels[i] for i in range(e.label_count))
        ],
        ece_expected=e.calibration.expected,
        ece_p_value=e.calibration.p_value,
        ece_debiased=e.calibration.debiased,
        mce_rows=e.calibration.mce_rows,
        errors=e.errors,
        notes=_notes(e),
        intervals=_ends(e, [name for name in (*_WHOLE, "miou") if e.label_count or name not in _MULTILABEL_ONLY])
        if e.resamples
        else None,
        bootstrap=e.resamples,
        confidence=e.confidence,
        seed=e.seed,
        classes=classes,
        findings=_findings(e, judge(figures, e.rows - e.errors, e.rows) if figures is not None else None),
        lead=_lead(e),
        class_measure=e.measures[e.class_measure].name.decode() if e.class_measure < e.measure_count else None,
        miou=e.miou.value,
    )


def evaluate(
    p: Any,
    labels: Any = None,
    *,
    bins: int = DEFAULT_BINS,
    bootstrap: int = 0,
    seed: int = 1,
    confidence: float = 0.95,
    coverages: Sequence[float] = (0.8, 0.9, 0.95),
    risks: Sequence[float] = (0.01, 0.05),
    curve: int = 0,
    threads: int | None = None,
    extra: Mapping[str, Any] | None = None,
    extra_certainty: str | Collection[str] = (),
    ignore: int | None = None,
    **scoring: Unpack[ScoringOptions],
) -> Evaluation:
    """Accuracy, calibration, selective prediction and error detection.

    Parameters
    ----------
    p : Scores or array_like (N, M, C)
        Predictions as `score` takes them, with its options as further keyword arguments, or their scores with ``mean``
        and ``std``. Images and volumes (``axes="NMCHW"``; an array, a list with one array per member, or a file) are
        evaluated site by site in memory that does not grow with their number; a file is not loaded. Of `Scores` of
        images there are no tests and no intervals: these draw images, not sites, and need the predictions.
    labels : array_like of int, or path
        True classes (N,), 0/1 (N, C) in multilabel mode, or label maps (N, H, W) of images. May be left out when the
        scores, or the file, have them.
    bins : int
        Of the calibration errors.
    bootstrap : int
        Resamples for intervals; 0: none. `seed` and `confidence` belong to it.
    coverages, risks : sequence of float
        Coverages whose risk is reported, risks whose coverage is; at most 8 each.
    curve : int
        Points of each measure's risk-coverage curve; 0: none.
    threads : int, optional
        None or 0: one per core.
    extra : mapping of names to array_like (N,), or (N, C) in multilabel mode, optional
        Values of your own that are ranked beside the measures, larger where less certain; for those named in
        `extra_certainty` larger where more certain.
    ignore : int, optional
        Of label maps: the label of sites that are left out of every figure, often 255.
    **scoring
        Options of `score`. ``measures`` says what is ranked, also of scores: ``"gtu@1"`` that one alone.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import numpy as np, vargate
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet(np.ones(3), size=(500, 8))
    >>> e = vargate.evaluate(p, p.mean(axis=1).argmax(axis=1))
    >>> e.accuracy, e.measures["gmu"].aurc
    (1.0, 0.0)
    """
    if site_axes(p, scoring.get("axes")) is not None:
        from ._images import Asked, evaluate_images  # which makes an Evaluation

        asked_for = Asked(bins, bootstrap, seed, confidence, tuple(coverages), tuple(risks), curve, threads, ignore)
        return evaluate_images(p, labels, asked_for, extra, scoring)
    if ignore is not None:
        p, labels = without_ignored(p, labels, ignore)
    if not isinstance(p, Scores):
        logits = scoring.get("logits", getattr(p, "logits", False))
        given = scoring.get("calibration_map", scoring.get("temperature"))
        scoring.setdefault("measures", compared(bool(logits) and find_map(given) is None))
    asked = scoring.pop("measures", None) if isinstance(p, Scores) else scoring["measures"]
    if threads is not None and not isinstance(p, Scores):
        s = as_scores(p, labels, {**scoring, "threads": threads})
    else:
        s = as_scores(p, labels, scoring)
    if s.labels is None:
        raise ValueError("labels are needed: true classes (N,), or 0/1 (N, C) in multilabel mode")
    if s.sites is not None and bootstrap:
        raise ValueError("bootstrap would draw sites of these Scores, not images; pass predictions with axes instead")
    ks = _native.doubles(s._k)
    at_coverages, at_risks = points(coverages, "coverages"), points(risks, "risks")
    c_coverages, c_risks = _native.doubles(at_coverages), _native.doubles(at_risks)
    pointer = POINTER(c_double)
    o = _native.EvaluateOptions(
        _native.size(_native.EvaluateOptions),
        cast(ks, pointer),
        len(ks),
        cast(c_coverages, pointer),
        len(c_coverages),
        cast(c_risks, pointer),
        len(c_risks),
        whole(curve, "curve", 0),
        whole(bootstrap, "bootstrap", 0),
        whole(seed, "seed", 0),
        real(confidence, "confidence"),
        thread_count(threads),
        _native.progress,
        None,
    )
    columns = chosen_columns(s.columns(), asked)
    columns |= extra_columns(extra, s.labels.shape, columns)
    listed = measure_list(columns, certain_names(extra_certainty, extra))
    out = POINTER(_native.Evaluation)()
    with tally(s, s.labels, bins=bins, bootstrap=bool(bootstrap > 0)) as counted:
        with _native.Interruptible():
            _native.check(_native.lib.vg_evaluate(byref(out), counted, listed, len(columns), byref(o)))
        try:
            found = evaluation_of(out.contents, s.m, s.classes, s._figures)
        finally:
            _native.lib.vg_evaluation_free(out)
    if s.sites is not None:  # the tests behind the other findings assume independent rows, which sites are not
        return replace(found, findings=tuple(f for f in found.findings if f.about == "diversity"))
    if found.multilabel:  # calibrators are compared on independent samples
        return found
    return replace(found, findings=(*found.findings, _calibrator(s, s.labels, threads)))


_FIGURE_DEFAULTS = {
    name: inspect.signature(evaluate).parameters[name].default for name in FigureOptions.__annotations__
}
show_options(evaluate, score)


def take_figure_options(options: dict[str, Any]) -> dict[str, Any]:
    """Those of `options` that are `FigureOptions`, taken out and checked; those that are not given as `evaluate` has
    them."""
    how = {name: options.pop(name, default) for name, default in _FIGURE_DEFAULTS.items()}
    how |= {name: whole(how[name], name, 0) for name in ("bootstrap", "seed", "curve")}
    how |= {name: points(how[name], name) for name in ("coverages", "risks")}
    how["confidence"] = real(how["confidence"], "confidence")
    return how
