"""Plots of out-of-distribution detection, for `vargate.plots`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _curves
from ._measures import is_certainty
from ._style import axes_for, colour, colour_of, dots, dress, ink, label_of, legend, percent
from .ood import Ood, _by_sample, detect
from .scores import Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ood_auroc", "ood_histogram", "ood_roc"]


def _sides(id: Scores, ood: Scores | Mapping[str, Scores]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """One value per sample of every measure: in distribution, and of each other set by name."""
    sets = ood if isinstance(ood, Mapping) else {"out of distribution": ood}
    if not sets:
        raise ValueError("ood is empty, expected at least one set")
    for name, s in (("id", id), *(("ood", s) for s in sets.values())):
        _curves.need(s, name, Scores)
    return _by_sample(id.columns(), id), {name: _by_sample(s.columns(), s) for name, s in sets.items()}


def _named(columns: Mapping[str, Any], name: str) -> Any:
    if name not in columns:
        raise ValueError(f"{name!r} was not computed, expected one of {', '.join(columns)}")
    return np.ascontiguousarray(columns[name], np.float64)


def ood_histogram(
    id: Scores,
    ood: Scores | Mapping[str, Scores],
    *,
    by: str = "eu",
    bins: int = 60,
    log: bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """How one measure is distributed in and out of distribution.

    Parameters
    ----------
    id, ood : Scores
        In-distribution samples; others, or a mapping of names to several sets.
    by : str
        The measure.
    bins : int
    log : bool, optional
        Logarithmic axis; by default where the values span more than two orders of magnitude. Values of 0 or less are
        then counted in the first bin.
    ax : matplotlib Axes, optional
    """
    from matplotlib.ticker import LogLocator

    inside, sets = _sides(id, ood)
    sides = {"in distribution": _named(inside, by), **{name: _named(c, by) for name, c in sets.items()}}
    pooled = np.concatenate(list(sides.values()))
    positive = pooled[pooled > 0]
    low, high = np.quantile(positive, [0.005, 1.0]) if len(positive) else (0.0, 1.0)
    log = bool(len(positive) and high > 100 * low) if log is None else log
    if log:
        edges = np.geomspace(low, high * (1 + 1e-9), bins + 1)
    else:
        edges = np.linspace(min(float(pooled.min(initial=0)), 0), float(pooled.max(initial=1)), bins + 1)
    ax = axes_for(ax)
    shades = ("blue", "vermilion", "orange", "green", "purple", "sky", "grey")
    for i, (name, values) in enumerate(sides.items()):
        count, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
        said = name
        if i:
            said += f", AUROC {detect(sides['in distribution'], values, certainty=is_certainty(by)).auroc:.3f}"
        shade = colour(ax, shades[i % len(shades)])
        height = count / max(len(values), 1)
        ax.stairs(height, edges, fill=True, color=shade, alpha=0.28)
        ax.stairs(height, edges, color=shade, linewidth=1.4, label=f"{said}\n({len(values):,} samples)")
    if log:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(numticks=7))
    unit = _curves.unit(id) if by in ("tu", "au", "eu") else ""
    ax.set(xlabel=label_of(by) + (f" ({unit})" if unit else ""), ylabel="share of the samples in a bin")
    ax.set_xlim(edges[0], edges[-1])
    percent(ax.yaxis)
    dress(ax)
    legend(ax)
    return ax


def ood_roc(
    id: Scores,
    ood: Scores | Mapping[str, Scores],
    *,
    by: str | Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """ROC curves of detecting out-of-distribution samples, the positive class.

    Parameters
    ----------
    id, ood : Scores
        As in `ood_histogram`.
    by : str or sequence of str, optional
        Measures; by default `tu`, `eu` and `gmu`, as far as they were computed, or with several sets the first of them.
    ax : matplotlib Axes, optional
    """
    inside, sets = _sides(id, ood)
    names = (
        [name for name in ("eu", "tu", "gmu") if name in inside] if by is None else [by] if isinstance(by, str) else by
    )
    names = list(names) or list(inside)[:1]
    if len(sets) > 1:
        names = names[:1] if by is None else names
    ax = axes_for(ax, (4.8, 4.4))
    ax.plot([0, 1], [0, 1], color=ink(ax), alpha=0.6, linestyle=(0, (4, 3)), linewidth=1, label="chance")
    shades = ("blue", "vermilion", "orange", "green", "purple", "sky", "grey")
    for i, (key, outside) in enumerate(sets.items()):
        for j, name in enumerate(names):
            a, b, certainty = _named(inside, name), _named(outside, name), is_certainty(name)
            figures = detect(a, b, certainty=certainty)
            false, true = _curves.roc(a, b, certainty)
            shade = colour_of(ax, name, j) if len(sets) == 1 else colour(ax, shades[i % len(shades)])
            dash = "-" if len(sets) == 1 else ("-", "--", ":", "-.")[j % 4]
            said = (f"{key}, " if len(sets) > 1 else "") + f"{label_of(name)}: AUROC {figures.auroc:.3f}"
            ax.plot(false, true, color=shade, linestyle=dash, linewidth=1.6, label=said)
            ax.plot([figures.fpr95], [0.95], marker="o", markersize=4, color=shade)
    ax.axhline(0.95, color=ink(ax), alpha=0.3, linewidth=0.8)
    ax.annotate("95 % detected", (1, 0.95), (0, -9), textcoords="offset points", ha="right", fontsize=7, alpha=0.8)
    ax.set(
        xlim=(-0.01, 1.01), ylim=(-0.01, 1.02), xlabel="in-distribution samples flagged", ylabel="OOD samples detected"
    )
    percent(ax.xaxis, 0)
    percent(ax.yaxis, 0)
    dress(ax)
    legend(ax, "lower right")
    return ax


def ood_auroc(result: Ood, *, figure: str = "auroc", most: int = 12, ax: Axes | None = None) -> Axes:
    """The measures of an `Ood` result by AUROC (or ``"aupr_out"``, ``"fpr95"``, ...), with intervals where a bootstrap
    has given them; of the first set where there are several."""
    _curves.need(result, "result", Ood)
    name, one = next(iter(result.sets.items()))
    rows = {measure: getattr(row, figure) for measure, row in one.measures.items()}
    ends = {measure: (row.intervals or {}).get(figure) for measure, row in one.measures.items()}
    higher = figure not in ("fpr95", "detection_error")
    ax = axes_for(ax)
    dots(ax, rows, ends, higher, most)
    words = {
        "auroc": "AUROC",
        "aupr_out": "AUPR, OOD positive",
        "aupr_in": "AUPR, ID positive",
        "fpr95": "FPR at 95 % TPR",
    }
    ax.set(xlabel=f"{words.get(figure, figure)}, {name} ({'larger' if higher else 'smaller'} is better)")
    return ax
