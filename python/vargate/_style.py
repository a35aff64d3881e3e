"""How the plots look: axes that keep the user's style, and colours that readers of any colour vision can distinguish.

Text, frames and backgrounds come from matplotlib's settings, so that a dark style stays dark. Line colours are those of
the report page (Okabe and Ito's palette), in the form that stands out from the background.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = [
    "LABELS",
    "axes_for",
    "colour",
    "colour_of",
    "dots",
    "dress",
    "ink",
    "label_of",
    "legend",
    "percent",
    "pyplot",
]

_LIGHT = {
    "blue": "#0072b2",
    "orange": "#e69f00",
    "green": "#009e73",
    "vermilion": "#d55e00",
    "purple": "#b7578c",
    "sky": "#3aa0dc",
    "grey": "#7b8894",
}
_DARK = {
    "blue": "#56b4e9",
    "orange": "#e69f00",
    "green": "#1fc495",
    "vermilion": "#f0803c",
    "purple": "#e29cc5",
    "sky": "#f0e442",
    "grey": "#8795a2",
}
# One colour per measure in every plot; gated forms share it.
_OF = {
    "tu": "blue",
    "au": "green",
    "eu": "vermilion",
    "gmu": "orange",
    "epkl": "purple",
    "epjs": "sky",
    "epce": "grey",
    "snr": "purple",
    "rule": "grey",
}
_SPARE = ("blue", "orange", "green", "vermilion", "purple", "sky", "grey")
LABELS = {
    "tu": "TU, total",
    "au": "AU, aleatoric",
    "eu": "EU, epistemic",
    "gmu": "GMU, gated margin",
    "snr": "SNR, margin over spread",
    "rule": "decision rule",
}


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'vargate-uq[plot]'") from None
    return plt


def axes_for(ax: Any, size: tuple[float, float] = (5.2, 3.9)) -> Any:
    """`ax` itself, or the axes of a new figure."""
    if ax is not None:
        return ax
    figure = pyplot().figure(figsize=size, layout="constrained")
    return figure.add_subplot()


def is_dark(ax: Any) -> bool:
    """Whether the axes' background is darker than middle grey."""
    from matplotlib.colors import to_rgba

    face = to_rgba(ax.get_facecolor())
    if face[3] < 0.5:
        face = to_rgba(ax.figure.get_facecolor())
    if face[3] < 0.5:
        return False
    return 0.2126 * face[0] + 0.7152 * face[1] + 0.0722 * face[2] < 0.4


def colour(ax: Any, name: str) -> str:
    """A colour of the palette on the background of `ax`."""
    return (_DARK if is_dark(ax) else _LIGHT)[name]


def colour_of(ax: Any, measure: str, place: int = 0) -> str:
    """The colour of a measure; `place` distinguishes those that have none of their own."""
    stem = measure.partition("@")[0]
    named = _OF.get(stem) or (_OF.get(stem[1:]) if stem.startswith("g") else None)
    return colour(ax, named or _SPARE[place % len(_SPARE)])


def ink(ax: Any) -> Any:
    """The colour of text on `ax`."""
    return ax.xaxis.label.get_color()


def label_of(measure: str) -> str:
    """What a legend says of a measure."""
    stem, at, gate = measure.partition("@")
    return LABELS.get(measure) or (f"{stem.upper()}, k = {gate}" if at else stem.upper())


def percent(axis: Any, decimals: int | None = None) -> None:
    """Shares as per cent."""
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1.0, decimals=decimals))


def dress(ax: Any, *, grid: str | None = "both") -> None:
    """Frame and grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(True, axis=grid, color=ink(ax), alpha=0.13, linewidth=0.8)


def legend(ax: Any, where: str = "best", *, columns: int = 1, reverse: bool = False) -> None:
    """A legend that stays readable over lines."""
    ax.legend(
        loc=where, ncols=columns, reverse=reverse, fontsize="small", frameon=True, framealpha=0.8, edgecolor="none",
        fancybox=False,
    )  # fmt: skip


def dots(ax: Any, rows: Mapping[str, float], ends: Mapping[str, Any], higher: bool, most: int) -> None:
    """One value per line, the best at the top."""
    order = sorted((name for name in rows if not np.isnan(rows[name])), key=rows.__getitem__, reverse=higher)[:most][
        ::-1
    ]
    spread = max(map(rows.__getitem__, order), default=0.0) - min(map(rows.__getitem__, order), default=0.0)
    decimals = 3 if spread > 0.02 else 4
    for place, name in enumerate(order):
        shade = colour_of(ax, name, place)
        if ends.get(name):
            ax.plot(ends[name], [place, place], color=shade, alpha=0.45, linewidth=3, solid_capstyle="butt")
        ax.plot([rows[name]], [place], marker="o", markersize=6, color=shade)
        text = f"{rows[name]:.{decimals}f}"
        ax.annotate(text, (rows[name], place), (0, 6), textcoords="offset points", ha="center", fontsize=7)
    ax.set_yticks(range(len(order)), [label_of(name) for name in order], fontsize="small")
    ax.set_ylim(-0.6, len(order) - 0.2)
    ax.margins(x=0.08)
    dress(ax, grid="x")
