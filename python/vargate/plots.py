"""Plots on matplotlib: ``pip install 'vargate-uq[plot]'``.

Every function draws into ``ax=`` or makes a figure, and returns the axes. Curves are thinned to a few hundred points
before they are drawn, so that a million samples take a fraction of a second. Styles are left as they are set: colours
suit a light and a dark background, and readers of any colour vision.

    s = vargate.score(p, labels=y)
    vargate.plots.reliability(s)
    vargate.plots.risk_coverage(s, chosen=vargate.select_k(validation, labels, target_risk=0.02))
    vargate.plots.decomposition(s)
    vargate.plots.abstained(s, k=1)
    vargate.plots.ood_histogram(s, other)
    vargate.plots.ood_roc(s, other)
    vargate.plots.diversity("runs/mine")
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _curves, _native
from ._arrays import real
from ._measures import GATED, is_certainty
from ._plots_ood import ood_auroc, ood_histogram, ood_roc
from ._style import axes_for, colour, colour_of, dots, dress, ink, label_of, legend, percent
from .decide import Selection
from .evaluate import Evaluation, evaluate
from .scores import Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "abstained",
    "decomposition",
    "diversity",
    "evaluation",
    "measures",
    "ood_auroc",
    "ood_histogram",
    "ood_roc",
    "ranking",
    "reliability",
    "risk_coverage",
]


def _evaluation(source: Evaluation | Scores) -> Evaluation:
    """The figures of scores, without ranking any measure."""
    _curves.need(source, "source", Evaluation, Scores)
    if isinstance(source, Evaluation):
        return source
    if source.labels is None:
        raise ValueError("labels are needed: score(p, labels=y)")
    return evaluate(_curves.only(source, ("mean", "std", "pred", "second")))


def evaluation(
    e: Evaluation,
    kind: Literal["reliability", "risk_coverage", "ranking", "abstained"] | None = None,
    *,
    ax: Axes | None = None,
) -> Any:
    """One kind of plot of an evaluation, or all that its figures allow in one new figure (a list of axes)."""
    kinds: dict[str, Any] = {
        "reliability": reliability,
        "risk_coverage": risk_coverage,
        "ranking": ranking,
        "abstained": abstained,
    }
    if kind is not None:
        if kind not in kinds:
            raise ValueError(f"kind is {kind!r}, expected one of {', '.join(map(repr, kinds))}")
        return kinds[kind](e, ax=ax)
    if ax is not None:
        raise ValueError("kind is needed with ax: one of " + ", ".join(map(repr, kinds)))
    curves = any(row.curve for row in e.measures.values())
    held = any(row.abstained_by_label is not None for row in e.rule.values())
    there = {"reliability": True, "risk_coverage": curves, "ranking": bool(e.measures), "abstained": held}
    wanted = [draw for name, draw in kinds.items() if there[name]]
    columns = 1 if len(wanted) == 1 else 2
    rows = -(-len(wanted) // columns)
    figure = axes_for(None, (5.2 * columns, 4.2 * rows)).figure
    figure.clear()
    return [draw(e, ax=figure.add_subplot(rows, columns, i + 1)) for i, draw in enumerate(wanted)]


# --- calibration ------------------------------------------------------------------------------------------------------


def _count_strip(ax: Any, low: Any, width: Any, count: Any) -> None:
    """How many predictions each bin has, above the diagram."""
    strip = ax.inset_axes([0, 1.03, 1, 0.16], sharex=ax)
    strip.bar(low, count, width, align="edge", color=colour(ax, "grey"), alpha=0.55, edgecolor="none")
    strip.tick_params(labelbottom=False, bottom=False, labelsize="small")
    strip.set_ylabel("count", fontsize="small")
    strip.spines[["top", "right"]].set_visible(False)
    strip.set_facecolor("none")
    strip.yaxis.get_major_locator().set_params(nbins=2)


def reliability(
    source: Evaluation | Scores,
    *,
    confidence: float = 0.95,
    counts: bool = True,
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Reliability diagram: accuracy against confidence, bin by bin, with intervals and counts.

    Parameters
    ----------
    source : Evaluation, or Scores with labels
    confidence : float
        Of each bin's interval (Wilson's, samples independent).
    counts : bool
        Draw how many predictions each bin holds, above the diagram.
    label : str, optional
        Name in the legend, for several models in the same axes.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    """
    e = _evaluation(source)
    ax = axes_for(ax, (4.6, 4.8) if counts else (4.6, 4.2))
    bins = [b for b in e.reliability if b.count]
    count = np.array([b.count for b in bins], np.float64)
    seen, said = np.array([b.accuracy for b in bins]), np.array([b.confidence for b in bins])
    low, high = _curves.wilson(seen * count, count, confidence)
    first = not any(line.get_gid() == "vargate-reliability" for line in ax.lines)
    place = sum(line.get_gid() == "vargate-reliability" for line in ax.lines)
    shade = colour(ax, ("blue", "vermilion", "green", "purple", "orange", "sky", "grey")[place % 7])
    if first:
        ax.plot([0, 1], [0, 1], color=ink(ax), alpha=0.6, linestyle=(0, (4, 3)), linewidth=1, label="perfect")
    ax.vlines(said, low, high, color=shade, alpha=0.45, linewidth=3)
    name = label or f"accuracy, {100 * confidence:g} % interval"
    (line,) = ax.plot(
        said, seen, color=shade, marker="o", markersize=4.5, linewidth=1.4, label=f"{name}\nECE {e.ece:.3f}"
    )
    line.set_gid("vargate-reliability")
    if counts and first:
        edges = np.array([b.low for b in e.reliability])
        width = np.array([b.high - b.low for b in e.reliability])
        _count_strip(ax, edges, width, np.array([b.count for b in e.reliability]))
    start = 0.5 if e.multilabel else min(min((b.low for b in bins), default=0.0), 0.5)
    ax.set(xlim=(start, 1.005), ylim=(min(start, float(low.min(initial=1.0)) - 0.02), 1.01))
    ax.set(xlabel="confidence (largest mean probability)", ylabel="accuracy in the bin")
    percent(ax.xaxis, 0)
    percent(ax.yaxis, 0)
    dress(ax)
    above = float((count * (seen > said)).sum()) > count.sum() / 2
    legend(ax, "lower right" if above else "upper left")
    return ax


# --- selective prediction ---------------------------------------------------------------------------------------------


def _risk_curves(source: Evaluation | Scores, by: Sequence[str] | None) -> tuple[dict[str, Any], float]:
    """The curves to draw by name, and the share of errors."""
    _curves.need(source, "source", Scores, Evaluation)
    if isinstance(source, Evaluation):
        known = {name: row.curve for name, row in source.measures.items() if row.curve}
        if not known:
            raise ValueError("this evaluation has no curves: evaluate(..., curve=256), or plot the Scores")
        wanted = (
            list(by) if by is not None else [name for name in ("gmu", "tu", "eu") if name in known] or list(known)[:3]
        )
        missing = [name for name in wanted if name not in known]
        if missing:
            raise ValueError(f"by: {missing[0]!r} was not ranked, expected {', '.join(known)}")
        return {name: np.array(known[name]) for name in wanted}, 1 - source.accuracy
    errors = _curves.error_marks(source)
    wanted = list(by) if by is not None else ["rule", *_curves.plain_measures(source, ("gmu", "tu", "eu"))]
    curves = {}
    for name in wanted:
        if name == "rule":
            curves[name] = _curves.risk_curve(source.margin_ratio(), errors, True)
        else:
            curves[name] = _curves.risk_curve(_column(source, name), errors, is_certainty(name))
    return curves, float(errors.mean()) if len(errors) else np.nan


def _column(s: Scores, name: str) -> Any:
    _curves.need(s, "s", Scores)
    try:
        return np.ascontiguousarray(s[name], np.float64)
    except KeyError:
        raise ValueError(f"{name!r} was not computed, expected one of {', '.join(s.columns())}") from None


def _operating_point(s: Scores, chosen: Selection | float) -> tuple[float, float]:
    """Coverage of the rule or threshold on these samples, and the risk among the kept."""
    said = s.decide(chosen)
    kept = said >= 0
    share = float(kept.mean()) if kept.size else np.nan
    wrong = float((said[kept] != np.asarray(s.labels)[kept]).mean()) if kept.any() else 0.0
    return share, wrong


def _mark_choice(ax: Any, source: Evaluation | Scores, chosen: Selection | float) -> float:
    """Draws the operating point, its promise and the target; gives the largest risk drawn."""
    selection = chosen if isinstance(chosen, Selection) else None
    highest = 0.0
    if selection is not None and selection.target_risk is not None:
        style = {"color": ink(ax), "alpha": 0.7, "linestyle": (0, (2, 2)), "linewidth": 1}
        ax.axhline(selection.target_risk, label=f"target risk {selection.target_risk:.3g}", **style)
        highest = selection.target_risk
    if isinstance(source, Scores):
        where = _operating_point(source, chosen)
    elif selection is not None:
        where = (selection.coverage, selection.risk or 0.0)
    else:
        row = source.rule[_native.k_name(real(chosen, "chosen"))]
        where = (row.coverage, 1 - row.accuracy)
    value = selection.threshold if selection is not None else float(chosen)  # type: ignore[arg-type]
    name = f"k = {value:.3g}" if selection is None or selection.by == "k" else f"{selection.by} at {value:.3g}"
    text = f"chosen {name}: keeps {100 * where[0]:.1f} %, risk {100 * where[1]:.2f} %"
    ax.plot(*where, marker="*", markersize=14, linestyle="none", color=colour(ax, "vermilion"), zorder=5, label=text)
    ax.axvline(where[0], color=colour(ax, "vermilion"), alpha=0.35, linewidth=1)
    return max(highest, where[1])


def risk_coverage(
    source: Scores | Evaluation,
    *,
    by: Sequence[str] | None = None,
    chosen: Selection | float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Risk-coverage curves: the share of errors among the kept samples when the most uncertain ones are refused.

    Parameters
    ----------
    source : Scores with labels, or an Evaluation made with ``curve=``
    by : sequence of str, optional
        Measures to refuse by, ``"gtu@2"``, ...; ``"rule"`` is the decision rule as k grows (Scores only). By
        default the rule, `gmu`, `tu` and `eu`, as far as they were computed.
    chosen : Selection or float, optional
        What `select_k` or `select_threshold` chose, or a k: marked with its coverage and risk on these samples.
    ax : matplotlib Axes, optional
    """
    if by is not None and isinstance(by, str):
        by = [by]
    curves, error_rate = _risk_curves(source, by)
    ax = axes_for(ax)
    points = max(len(curve) for curve in curves.values())
    coverage = (np.arange(points) + 1) / points
    ax.axhline(error_rate, color=ink(ax), alpha=0.6, linestyle=(0, (4, 3)), linewidth=1, label="refusing at random")
    ax.fill_between(coverage, _curves.oracle(coverage, error_rate), color=ink(ax), alpha=0.09, linewidth=0)
    for i, (name, curve) in enumerate(curves.items()):
        wide = 2.4 if name == "rule" else 1.5
        share = (np.arange(len(curve)) + 1) / len(curve)
        ax.plot(share, curve, color=colour_of(ax, name, i), linewidth=wide, label=label_of(name))
    top = max(error_rate, *(float(np.nanmax(curve[len(curve) // 20 :])) for curve in curves.values()))
    if chosen is not None:
        top = max(top, _mark_choice(ax, source, chosen))
    ax.set(xlim=(0, 1.01), ylim=(0, 1.12 * top if top > 0 else 0.01))
    ax.set(xlabel="coverage: share of the samples kept", ylabel="risk: errors among the kept")
    percent(ax.xaxis, 0)
    percent(ax.yaxis)
    dress(ax)
    legend(ax, "upper left")
    return ax


def ranking(e: Evaluation, *, figure: str = "error_auroc", most: int = 12, ax: Axes | None = None) -> Axes:
    """How well each measure separates errors from correct predictions: the best `most` by `figure`, with intervals
    where a bootstrap has given them."""
    from matplotlib.ticker import MaxNLocator

    _curves.need(e, "e", Evaluation)
    rows = {name: getattr(row, figure) for name, row in e.measures.items()}
    ends = {name: (row.intervals or {}).get(figure) for name, row in e.measures.items()}
    higher = figure in ("error_auroc", "error_aupr")
    ax = axes_for(ax)
    title = (
        figure.replace("error_auroc", "AUROC of errors").replace("error_aupr", "AUPR of errors").replace("aurc", "AURC")
    )
    dots(ax, rows, ends, higher, most)
    ax.set(xlabel=f"{title} ({'larger' if higher else 'smaller'} is better)")
    ax.xaxis.set_major_locator(MaxNLocator(6))
    return ax


# --- what uncertainty is made of --------------------------------------------------------------------------------------


def _gate(s: Scores, k: float | None) -> str:
    _curves.need(s, "s", Scores)
    if k is not None and k not in s._k:
        raise ValueError(f"k is {k!r}, expected one of those scored: {', '.join(map(_native.k_name, s._k))}")
    return _native.k_name(s._k[0] if k is None else k)


def decomposition(s: Scores, *, k: float | None = None, bins: int = 200, ax: Axes | None = None) -> Axes:
    """Total uncertainty split into its aleatoric and epistemic part, over the samples sorted by it.

    Parameters
    ----------
    s : Scores with ``tu``, ``au`` and ``eu``
    k : float, optional
        Draw the gated forms at this gate setting instead.
    bins : int
        Most points of a curve; each is the mean over as many neighbours as are needed.
    ax : matplotlib Axes, optional
    """
    suffix = "" if k is None else "@" + _gate(s, k)
    names = ("tu", "au", "eu") if k is None else ("gtu", "gau", "geu")
    tu, au, eu = (_column(s, name + suffix).reshape(-1) for name in names)
    share, mean = _curves.group_means({"tu": tu, "au": au, "eu": eu}, tu, bins)
    ax = axes_for(ax)
    words = [label_of(name) if k is None else f"{name.upper()}, k = {_native.k_name(k)}" for name in names]
    shades = [colour_of(ax, "au"), colour_of(ax, "eu")]
    ax.stackplot(share, mean["au"], mean["eu"], colors=shades, alpha=0.55, labels=words[1:], linewidth=0)
    ax.plot(share, mean["tu"], color=ink(ax), linewidth=1.3, label=words[0])
    unit = _curves.unit(s)
    ax.set(xlim=(0, 1), ylim=(0, None), xlabel="samples, from the most to the least uncertain")
    ax.set(ylabel=f"uncertainty ({unit})" if unit else "uncertainty")
    percent(ax.xaxis, 0)
    dress(ax)
    legend(ax, "upper right", reverse=True)
    return ax


def _measure_panel(ax: Any, share: Any, curves: Mapping[str, Any], largest: float, title: str) -> None:
    for i, (name, curve) in enumerate(curves.items()):
        ax.plot(
            share, curve / largest, color=colour_of(ax, name, i), linewidth=1.4, label=name.partition("@")[0].upper()
        )
    ax.set(xlim=(0, 1), ylim=(0, 1.02), ylabel="share of the largest value", title=title)
    percent(ax.xaxis, 0)
    dress(ax)
    legend(ax, "upper right", columns=2)


def measures(
    s: Scores, *, k: float | None = None, bins: int = 200, ax: Axes | Sequence[Axes] | None = None
) -> list[Axes]:
    """The paper's figure: every measure over the samples sorted by falling uncertainty, the gated forms below.

    Parameters
    ----------
    s : Scores
    k : float, optional
        Gate setting of the lower panel, one of those scored; the first by default.
    bins : int
        Most points of a curve.
    ax : matplotlib Axes or two of them, optional
        A single one takes the measures without a gate.

    Returns
    -------
    list of matplotlib Axes
    """
    gate = _gate(s, k)
    plain = _curves.plain_measures(s, ("tu", "au", "eu", "epce", "epkl", "epjs", "gmu"))
    gated = [f"{name}@{gate}" for name in GATED if name in s]
    panels = {title: names for title, names in (("measures", plain), (f"gated, k = {gate}", gated)) if names}
    if not panels:
        raise ValueError("there is no measure to draw among " + ", ".join(s.keys()))
    if ax is None:
        figure = axes_for(None, (6, 2.8 * len(panels))).figure
        figure.clear()
        places = [figure.add_subplot(len(panels), 1, i + 1) for i in range(len(panels))]
    else:
        places = list(ax) if isinstance(ax, (Sequence, np.ndarray)) else [ax]
    drawn = [name for names in list(panels.values())[: len(places)] for name in names]
    columns = {name: _column(s, name).reshape(-1) for name in drawn}
    share, curves = _curves.group_means(columns, columns[drawn[0]], bins)
    largest = max((float(curve.max()) for curve in curves.values() if len(curve)), default=0.0) or 1.0
    for place, (title, names) in zip(places, panels.items(), strict=False):
        _measure_panel(place, share, {name: curves[name] for name in names}, largest, title)
    places[-1].set_xlabel("samples, from the most to the least uncertain")
    return places


# --- training and abstaining ------------------------------------------------------------------------------------------


def diversity(
    run: str | os.PathLike[str] | Sequence[Mapping[str, Any]], *, label: str | None = None, ax: Axes | None = None
) -> Axes:
    """Diversity D of the members over the epochs of a training, with the collapse alarm marked.

    Parameters
    ----------
    run : path, or rows
        A run's folder, its ``metrics.jsonl``, or the rows of one as mappings with ``epoch`` and ``diversity``.
    label : str, optional
        Name in the legend, for several runs in the same axes.
    ax : matplotlib Axes, optional
    """
    from matplotlib.ticker import MaxNLocator

    columns = _curves.training(run)
    ax = axes_for(ax)
    epoch, spread = columns["epoch"], columns["diversity"]
    place = sum(line.get_gid() == "vargate-diversity" for line in ax.lines)
    shade = colour(ax, ("blue", "vermilion", "green", "orange", "purple", "sky", "grey")[place % 7])
    last = spread[~np.isnan(spread)][-1]
    (line,) = ax.plot(epoch, spread, color=shade, linewidth=1.8, label=f"{label or 'diversity'}, ends at {last:.1e}")
    line.set_gid("vargate-diversity")
    raised = np.flatnonzero(columns["collapsed"] == 1)
    if len(raised):
        at = raised[0]
        ax.plot([epoch[at]], [spread[at]], marker="v", markersize=9, color=colour(ax, "orange"), linestyle="none",
                label=f"collapse alarm, epoch {epoch[at]:.0f}", zorder=5)  # fmt: skip
    if np.nanmin(spread) > 0:
        ax.set_yscale("log")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(xlabel="epoch", ylabel="diversity D: mean variance over members")
    dress(ax)
    legend(ax)
    return ax


def _class_names(source: Any, classes: Sequence[str] | None) -> list[str]:
    named = classes if classes is not None else getattr(source, "classes", None)
    if named is None:
        return [str(c) for c in range(source.c)]
    names = [str(name) for name in named]
    if len(names) != source.c:
        raise ValueError(f"classes has {len(names)} names, expected {source.c}")
    return names


def abstained(
    source: Scores | Evaluation,
    k: float | Selection | None = None,
    *,
    classes: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Confusion of the abstained: true classes against the predictions that the rule held back.

    Off the diagonal are errors that abstaining prevented, on it correct answers that it cost. An `Evaluation` knows
    only how many samples of each class were held back: it gives bars.

    Parameters
    ----------
    source : Scores with labels, or Evaluation
    k : float or Selection, optional
        Gate setting of the rule; the first of those scored by default.
    classes : sequence of str, optional
        Names of the classes.
    ax : matplotlib Axes, optional
    """
    _curves.need(source, "source", Scores, Evaluation)
    names = _class_names(source, classes)
    if isinstance(source, Evaluation):
        bars: Axes = _abstained_bars(source, k, names, ax)
        return bars
    if source.multilabel:
        raise ValueError("labels of multilabel predictions are not exclusive: there is no confusion matrix")
    if source.labels is None:
        raise ValueError("labels are needed: score(p, labels=y)")
    chosen = source._k[0] if k is None else k
    held = source.decide(chosen) < 0
    size = source.c
    cells = np.bincount(source.labels[held] * size + source.pred[held], minlength=size * size).reshape(size, size)
    ax = axes_for(ax, (5.4, 4.6))
    _cells(ax, cells)
    step = max(1, size // 20)
    ticks = range(0, size, step)
    turn = 45 if max(map(len, names), default=0) > 3 else 0
    ax.set_xticks(ticks, [names[i] for i in ticks], rotation=turn, ha="right" if turn else "center", fontsize="small")
    ax.set_yticks(ticks, [names[i] for i in ticks], fontsize="small")
    right = int(np.trace(cells))
    value = chosen.threshold if isinstance(chosen, Selection) else real(chosen, "k")
    rule = "k" if not isinstance(chosen, Selection) or chosen.by == "k" else chosen.by
    ax.set(xlabel="prediction held back", ylabel="true class")
    total = int(held.sum())
    ax.set_title(
        f"{total:,} of {source.n:,} abstained at {rule} = {value:.3g}:\n{total - right:,} errors, {right:,} correct",
        fontsize="medium",
    )
    return ax


def _cells(ax: Any, cells: Any) -> None:
    """Counts as cells: errors blue, correct answers orange, deeper where there are more."""
    from matplotlib.colors import to_rgb

    size = len(cells)
    most = max(int(cells.max(initial=0)), 1)
    image = np.zeros((size, size, 4))
    image[..., :3] = to_rgb(colour(ax, "blue"))
    image[np.arange(size), np.arange(size), :3] = to_rgb(colour(ax, "orange"))
    image[..., 3] = np.where(cells > 0, 0.12 + 0.78 * cells / most, 0.0)
    ax.imshow(image, interpolation="nearest", aspect="equal")
    if size <= 20:
        for i, j in np.argwhere(cells > 0):
            ax.text(j, i, f"{cells[i, j]:,}", ha="center", va="center", fontsize=8 if size <= 12 else 6)
    ax.set_xticks(np.arange(size + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(size + 1) - 0.5, minor=True)
    if size <= 60:
        ax.grid(True, which="minor", color=ink(ax), alpha=0.12, linewidth=0.6)
    ax.grid(False, which="major")
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)


def _abstained_bars(e: Evaluation, k: Any, names: list[str], ax: Any) -> Any:
    if isinstance(k, Selection):
        raise ValueError("an evaluation has the rule at its own settings only: pass one of them, or the Scores")
    key = next(iter(e.rule), None) if k is None else _native.k_name(real(k, "k"))
    row = e.rule.get(key) if key is not None else None
    if row is None or row.abstained_by_label is None or row.abstained_by_prediction is None:
        raise ValueError(f"the rule was not evaluated at k = {key}, expected {', '.join(e.rule) or 'a setting of it'}")
    ax = axes_for(ax)
    place = np.arange(e.c)
    ax.bar(place - 0.2, row.abstained_by_label, 0.4, color=colour(ax, "blue"), label="by true class")
    ax.bar(place + 0.2, row.abstained_by_prediction, 0.4, color=colour(ax, "orange"), label="by prediction held back")
    step = max(1, e.c // 20)
    turn = 45 if max(map(len, names), default=0) > 3 else 0
    ax.set_xticks(place[::step], names[::step], rotation=turn, ha="right" if turn else "center", fontsize="small")
    ax.set(xlabel="class", ylabel=f"samples abstained on, k = {key}")
    dress(ax, grid="y")
    legend(ax)
    return ax
