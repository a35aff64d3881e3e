"""Small pictures for notebooks, as SVG text made without matplotlib.

Text and axes take the colour of the surrounding text, so that they can be read on a light and on a dark page. Every
word from outside is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import numpy.typing as npt

__all__ = ["COLOURS", "Picture"]

Float64 = npt.NDArray[np.float64]
COLOURS = {"blue": "#2b8cc4", "orange": "#e69f00", "green": "#009e73", "vermilion": "#d55e00", "grey": "#8391a0"}
_LEFT, _TOP, _BOTTOM, _RIGHT = 36, 8, 26, 8


class Picture:
    """A frame of 0..1 by 0..1 with lines, areas, bars and words in it; points outside are cut to its edges."""

    def __init__(self, title: str, width: int = 260, height: int = 150, left: int = _LEFT) -> None:
        self.width, self.height, self.left = width, height, left
        self._title = title
        self._parts: list[str] = []

    def _x(self, x: float) -> float:
        return round(self.left + min(max(x, 0.0), 1.0) * (self.width - self.left - _RIGHT), 1)

    def _y(self, y: float) -> float:
        return round(_TOP + (1 - min(max(y, 0.0), 1.0)) * (self.height - _TOP - _BOTTOM), 1)

    def _points(self, x: Sequence[float] | Float64, y: Sequence[float] | Float64) -> str:
        return " ".join(f"{self._x(a)},{self._y(b)}" for a, b in zip(x, y, strict=True))

    def line(
        self, x: Sequence[float] | Float64, y: Sequence[float] | Float64, colour: str, *, dashed: bool = False
    ) -> None:
        """A line; the colour is a name of `COLOURS`, or ``"currentColor"``."""
        dash = ' stroke-dasharray="4 3" opacity="0.6"' if dashed else ""
        shade = COLOURS.get(colour, colour)
        self._parts.append(
            f'<polyline points="{self._points(x, y)}" fill="none" stroke="{shade}" stroke-width="1.5"{dash}/>'
        )

    def area(self, x: Float64, low: Float64, high: Float64, colour: str) -> None:
        """What lies between two curves."""
        outline = f"{self._points(x, high)} {self._points(x[::-1], low[::-1])}"
        self._parts.append(f'<polygon points="{outline}" fill="{COLOURS[colour]}" opacity="0.55"/>')

    def dot(self, x: float, y: float, colour: str) -> None:
        self._parts.append(f'<circle cx="{self._x(x)}" cy="{self._y(y)}" r="2.6" fill="{COLOURS[colour]}"/>')

    def bar(self, x: tuple[float, float], y: tuple[float, float], colour: str) -> None:
        """A box from (x0, y0) to (x1, y1)."""
        left, right, low, high = self._x(x[0]), self._x(x[1]), self._y(y[0]), self._y(y[1])
        self._parts.append(
            f'<rect x="{left}" y="{high}" width="{round(max(right - left, 0.5), 1)}" '
            f'height="{round(max(low - high, 0.5), 1)}" fill="{COLOURS[colour]}" opacity="0.75"/>'
        )

    def words(self, x: float, y: float, text: str, *, anchor: str = "start") -> None:
        """Words inside the frame."""
        self._parts.append(_text(self._x(x), self._y(y) + 3, text, anchor))

    def beside(self, y: float, text: str) -> None:
        """Words left of the frame, ending at it."""
        self._parts.append(_text(self.left - 4, self._y(y) + 3, text, "end"))

    def below(self, left: str, middle: str, right: str) -> None:
        """Words under the frame: what is at its ends, and what the axis is."""
        y, middle_x = self.height - _BOTTOM + 11, (self.left + self.width - _RIGHT) / 2
        self._parts += [_text(self.left, y, left, "start"), _text(self.width - _RIGHT, y, right, "end")]
        self._parts.append(_text(middle_x, self.height - 4, middle, "middle"))

    def legend(self, entries: Sequence[tuple[str, str]], x: float = 0.62) -> None:
        """Colours and their names, at the upper right."""
        for i, (colour, name) in enumerate(entries):
            y = 0.94 - 0.11 * i
            shade = COLOURS.get(colour, colour)
            self._parts.append(
                f'<rect x="{self._x(x) - 10}" y="{self._y(y) - 4}" width="7" height="7" fill="{shade}"/>'
            )
            self.words(x, y, name)

    def svg(self) -> str:
        """The picture."""
        x, y = self._x(0), self._y(0)
        frame = f'<path d="M{x} {self._y(1)}V{y}H{self._x(1)}" fill="none" stroke="currentColor" opacity="0.5"/>'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" role="img" '
            f'viewBox="0 0 {self.width} {self.height}" font-family="sans-serif" font-size="9" fill="currentColor">'
            f"<title>{escape(self._title)}</title>{frame}{''.join(self._parts)}</svg>"
        )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{round(x, 1)}" y="{round(y, 1)}" text-anchor="{anchor}">{escape(text)}</text>'
