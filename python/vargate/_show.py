"""`Scores` in notebooks: a table in HTML, and a figure."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native

if TYPE_CHECKING:
    from .scores import Scores

__all__ = ["plot_scores", "scores_html"]


def _row(cells: list[str], tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _number(value: float | None) -> str:
    return "-" if value is None else format(value, ".4g")


def scores_html(s: Scores) -> str:
    """The summary as an HTML table."""
    summary = s.summary()
    what = f"{s.n} samples, {s.m} member{'s' * (s.m != 1)}, {s.c} {'labels' if s.multilabel else 'classes'}"
    rows = [_row(["measure", "mean", "median", "95th pct"], "th")]
    rows += [
        _row([name, *(_number(m[key]) for key in ("mean", "median", "p95"))]) for name, m in summary.measures.items()
    ]
    notes = []
    for name, rule in (summary.rule or {}).items():
        accuracy = f", accuracy on the kept {_number(rule['accuracy'])}" if "accuracy" in rule else ""
        notes.append(f"k = {name}: abstained {rule['abstained']}{accuracy}")
    notes.append(
        f"diversity {_number(summary.diversity)}, k-sensitivity {_number(summary.k_sensitivity)}; {summary.verdict_text}"
    )
    return (
        f"<div><strong>vargate.Scores</strong>: {escape(what)}"
        f"<table>{''.join(rows)}</table>{'<br>'.join(escape(note) for note in notes)}</div>"
    )


def _curves(s: Scores, names: list[str], groups: list[Any]) -> dict[str, Any]:
    return {name: np.array([s[name].reshape(-1)[group].mean() for group in groups]) for name in names}


def plot_scores(s: Scores, k: float | None, bins: int) -> Any:
    """Measures over the samples sorted by falling uncertainty; every curve is divided by the largest value of any."""
    import matplotlib.pyplot as plt

    if k is not None and k not in s._k:
        raise ValueError(f"k is {k!r}, expected one of those scored: {', '.join(map(_native.k_name, s._k))}")
    gate = _native.k_name(s._k[0] if k is None else k)
    plain = [name for name in ("tu", "au", "eu", "epce", "epkl", "epjs", "gmu") if name in s]
    gated = [f"{name}@{gate}" for name in ("gtu", "gau", "geu", "gepce", "gepkl", "gepjs") if name in s]
    panels = {title: names for title, names in (("measures", plain), (f"gated, k = {gate}", gated)) if names}
    first = next(iter((*plain, *gated)), None)
    if first is None:
        raise ValueError("there is no measure to draw among " + ", ".join(s))
    order = np.argsort(-s[first].reshape(-1), kind="stable")
    groups = np.array_split(order, min(bins, len(order))) if len(order) else []
    curves = {title: _curves(s, names, groups) for title, names in panels.items()}
    largest = max((float(c.max()) for panel in curves.values() for c in panel.values() if len(c)), default=0.0) or 1.0
    share = (np.arange(len(groups)) + 0.5) / max(len(groups), 1)
    figure = plt.figure(figsize=(6, 2.8 * len(panels)), layout="constrained")
    axes = [figure.add_subplot(len(panels), 1, i + 1) for i in range(len(panels))]
    for ax, (title, panel) in zip(axes, curves.items(), strict=True):
        for name, curve in panel.items():
            ax.plot(share, curve / largest, label=name, linewidth=1.2)
        ax.set(ylim=(0, 1.02), ylabel="share of the largest", title=title)
        ax.legend(frameon=False, ncols=2, fontsize="small")
        ax.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("samples, from the most to the least uncertain")
    return axes
