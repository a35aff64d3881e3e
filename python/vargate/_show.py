"""Results in notebooks: a short table in HTML and one small picture, which need no other package.

Every text that may come from outside (names of sets and measures, notes) is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from . import _curves
from ._svg import Picture

if TYPE_CHECKING:
    from .decide import Selection
    from .evaluate import Evaluation
    from .ood import Ood
    from .scores import Scores

__all__ = ["evaluation_html", "ood_html", "scores_html", "selection_html"]

_MOST = 8  # rows of a table


def _row(cells: Iterable[str], tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _number(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else format(value, ".4g")


def _share(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else format(value, ".2%")


def _block(kind: str, what: str, rows: Sequence[str], picture: str, notes: Iterable[str] = ()) -> str:
    """Title, table and picture side by side, notes below."""
    below = "".join(f"<div>{escape(note)}</div>" for note in notes)
    return (
        f'<div><div><strong>vargate.{kind}</strong>: {escape(what)}</div><div style="display:flex;flex-wrap:wrap;'
        f'align-items:flex-start;gap:1.5em"><table>{"".join(rows)}</table>{picture}</div>{below}</div>'
    )


# --- Scores -----------------------------------------------------------------------------------------------------------


def _scores_picture(s: Scores) -> str:
    names = _curves.plain_measures(s, ("tu", "au", "eu"))
    if not s.n or not names:
        return ""
    columns = {name: s[name].reshape(-1) for name in names}
    x, means = _curves.group_means(columns, columns[names[0]], 60)
    top = float(means[names[0]].max()) or 1.0
    picture = Picture("uncertainty of the samples, sorted")
    if len(names) == 3:
        low, high = means["au"] / top, (means["au"] + means["eu"]) / top
        picture.area(x, np.zeros_like(low), low, "green")
        picture.area(x, low, high, "vermilion")
        picture.legend([("vermilion", "epistemic, EU"), ("green", "aleatoric, AU")])
    picture.line(x, means[names[0]] / top, "currentColor")
    picture.beside(1, f"{top:.2g}")
    picture.beside(0, "0")
    unit = _curves.unit(s)
    said = f"samples by falling {names[0].upper()}" + (f" ({unit})" if unit else "")
    picture.below("0 %", said, "100 %")
    return picture.svg()


def scores_html(s: Scores) -> str:
    """A summary as an HTML table, and the decomposition as a picture."""
    measures = list(s.columns())
    stems = dict.fromkeys(name.partition("@")[0] for name in measures[:_MOST])
    summary = _curves.only(s, [*stems, "pred", "decision"]).summary()  # what is shown, not everything
    what = f"{s.n} samples, {s.m} member{'s' * (s.m != 1)}, {s.c} {'labels' if s.multilabel else 'classes'}"
    rows = [_row(["measure", "mean", "median", "95th pct"], "th")]
    shown = list(summary.measures.items())[:_MOST]
    rows += [_row([name, *(_number(m[key]) for key in ("mean", "median", "p95"))]) for name, m in shown]
    if len(measures) > len(shown):
        rows.append(_row([f"... {len(measures) - len(shown)} more", "", "", ""]))
    notes = []
    for name, rule in (summary.rule or {}).items():
        accuracy = f", accuracy on the kept {_number(rule['accuracy'])}" if "accuracy" in rule else ""
        notes.append(f"k = {name}: abstained {rule['abstained']}{accuracy}")
    figures = f"diversity {_number(summary.diversity)}, k-sensitivity {_number(summary.k_sensitivity)}"
    notes.append(f"{figures}; {summary.verdict_text}")
    return _block("Scores", what, rows, _scores_picture(s), notes)


# --- Evaluation -------------------------------------------------------------------------------------------------------


def _evaluation_picture(e: Evaluation) -> str:
    bins = [b for b in e.reliability if b.count]
    if not bins:
        return ""
    start = 0.5 if e.multilabel else min(0.5, bins[0].low)

    def place(value: float) -> float:
        return (value - start) / (1 - start)

    picture = Picture("reliability: accuracy against confidence")
    most = max(b.count for b in bins)
    for b in bins:
        picture.bar((place(b.low), place(b.high)), (0, 0.25 * b.count / most), "grey")
    picture.line([0, 1], [place(start), 1], "currentColor", dashed=True)
    picture.line([place(b.confidence) for b in bins], [place(b.accuracy) for b in bins], "blue")
    for b in bins:
        picture.dot(place(b.confidence), place(b.accuracy), "blue")
    picture.beside(1, "100 %")
    picture.beside(0, f"{start:.0%}")
    picture.below(f"{start:.0%}", "confidence; blue: accuracy, grey: counts", "100 %")
    return picture.svg()


def evaluation_html(e: Evaluation) -> str:
    """The main figures, the best measures for detecting errors, the rule, and the reliability diagram."""
    ends = e.intervals or {}

    def span(name: str) -> str:
        return "" if name not in ends else " .. ".join(_number(end) for end in ends[name])

    level = f"{100 * e.confidence:g} % interval" if ends else ""
    rows = [_row(["figure", "value", level], "th")]
    rows += [
        _row([name, _number(getattr(e, name)), span(name)]) for name in ("accuracy", "f1_macro", "ece", "nll", "brier")
    ]
    best = sorted(
        (name for name, r in e.measures.items() if not math.isnan(r.error_auroc)),
        key=lambda name: -e.measures[name].error_auroc,
    )[:3]
    rows += [_row([f"error AUROC, {name}", _number(e.measures[name].error_auroc), ""]) for name in best]
    notes = [
        f"k = {k}: coverage {_share(row.coverage)}, accuracy on the kept {_number(row.accuracy)}"
        for k, row in e.rule.items()
    ]
    what = f"{e.n} samples, {e.m} members, {e.c} {'labels' if e.multilabel else 'classes'}, {len(e.measures)} measures"
    return _block("Evaluation", what, rows, _evaluation_picture(e), [*notes, *e.notes])


# --- Ood --------------------------------------------------------------------------------------------------------------


def _ood_picture(figures: dict[str, float], set_name: str) -> str:
    if not figures:
        return ""
    picture = Picture(f"AUROC by measure, {set_name}", 260, 26 + 16 * max(len(figures), 3), left=64)
    low = min(0.5, *figures.values())
    step = 1 / len(figures)
    for i, (name, value) in enumerate(figures.items()):
        middle = 1 - (i + 0.5) * step
        share = (value - low) / (1 - low) if low < 1 else 1.0
        picture.bar((0, share), (middle - 0.32 * step, middle + 0.32 * step), "blue")
        picture.beside(middle, name if len(name) <= 11 else name[:10] + "…")
    picture.below(f"{low:.2g}", "AUROC", "1")
    return picture.svg()


def ood_html(result: Ood) -> str:
    """The best measures of each set, and their AUROC as bars."""
    rows = [_row(["set", "measure", "AUROC", "AUPR out", "FPR95"], "th")]
    pictures = []
    for key, one in result.sets.items():
        order = sorted(
            (name for name, row in one.measures.items() if not math.isnan(row.auroc)),
            key=lambda name: -one.measures[name].auroc,
        )
        few = order[: _MOST if len(result.sets) == 1 else 3]
        for name in few:
            row = one.measures[name]
            rows.append(_row([key, name, _number(row.auroc), _number(row.aupr_out), _number(row.fpr95)]))
        pictures.append(_ood_picture({name: one.measures[name].auroc for name in few}, key))
    what = f"{result.n} samples in distribution; " + ", ".join(f"{key}: {one.n}" for key, one in result.sets.items())
    shown = [f"{len(one.measures)} measures" for one in result.sets.values()][:1]
    return _block(
        "Ood", what, rows, pictures[0] if len(pictures) == 1 else "", [f"best of {shown[0]}"] if shown else []
    )


# --- Selection --------------------------------------------------------------------------------------------------------


def _selection_picture(s: Selection) -> str:
    picture = Picture("what the chosen threshold keeps", 260, 96, left=72)
    if s.target_risk is not None and s.risk is not None and s.risk_bound is not None:
        top = 1.15 * max(s.target_risk, s.risk_bound, s.risk, 1e-12)
        picture.bar((0, s.risk / top), (0.62, 0.88), "blue")
        picture.line([s.risk / top, s.risk_bound / top], [0.75, 0.75], "vermilion")
        picture.dot(s.risk_bound / top, 0.75, "vermilion")
        picture.line([s.target_risk / top] * 2, [0.5, 1], "currentColor", dashed=True)
        picture.beside(0.75, "risk, bound")
        picture.below("0", "dashed: the target risk", f"{top:.2g}")
    picture.bar((0, s.coverage), (0.12, 0.38), "green")
    picture.beside(0.25, "kept")
    picture.words(0.03, 0.25, _share(s.coverage))
    return picture.svg()


def selection_html(s: Selection) -> str:
    """What was chosen, and what is promised of it."""
    rows = [_row(["chosen on validation data", ""], "th")]
    rows.append(_row([f"{'k' if s.by == 'k' else 'threshold of ' + s.by}", _number(s.threshold)]))
    rows.append(_row(["kept", f"{s.kept} of {s.n} ({_share(s.coverage)})"]))
    if s.risk is not None:
        rows.append(_row(["risk among the kept", f"{_share(s.risk)} ({s.errors} errors)"]))
        rows.append(_row([f"upper bound, {100 * s.confidence:g} % confidence", _share(s.risk_bound)]))
    target = (
        f"risk at most {_share(s.target_risk)}"
        if s.target_risk is not None
        else f"coverage {_share(s.target_coverage)}"
    )
    rows.append(_row(["target", f"{target}: {'met' if s.met else 'not met'}"]))
    return _block("Selection", f"by {s.by}", rows, _selection_picture(s), [s.reason] if s.reason else [])
