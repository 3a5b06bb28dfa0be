"""SVG by hand: a frame with axes, and the marks of a plot; colours come from the page's style."""

import math
from collections.abc import Sequence
from html import escape

import msgspec

WIDTH, HEIGHT = 680, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 36, 40, 56


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """From 0 to `most` in steps that a person would choose; `unit` is its title."""

    most: float
    title: str
    step: float

    def ticks(self) -> list[float]:
        return [self.step * index for index in range(round(self.most / self.step) + 1)]


def axis(highest: float, title: str, parts: int = 5) -> Axis:
    """An axis up to `highest` or more, in steps of 1, 2, 2.5 or 5 times a power of ten."""
    highest = max(highest, 1e-9)
    raw = highest / parts
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= raw * 0.999)
    return Axis(most=step * math.ceil(highest / step * 0.9999), title=title, step=step)


class Frame:
    """The drawing area between two axes; y grows upwards, as in a plot."""

    def __init__(self, x: Axis, y: Axis) -> None:
        self.x_axis, self.y_axis = x, y
        self._parts: list[str] = []
        self._top_parts: list[str] = []

    def x(self, value: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * value / self.x_axis.most

    def y(self, value: float) -> float:
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / self.y_axis.most

    def add(self, part: str, *, on_top: bool = False) -> None:
        (self._top_parts if on_top else self._parts).append(part)

    def bar(
        self, centre: float, width: float, span: tuple[float, float], look: str, told: str
    ) -> None:
        """One part of a bar, over the values of `span`; `told` shows under the pointer."""
        low, high = self.y(span[0]), self.y(span[1])
        self.add(
            f'<rect class="{look}" x="{centre - width / 2:.1f}" y="{high:.1f}" '
            f'width="{width:.1f}" height="{max(low - high, 0):.1f}">'
            f"<title>{escape(told)}</title></rect>"
        )

    def line(self, points: Sequence[tuple[float, float]], look: str) -> None:
        """A line through points given in the axes' units."""
        path = " ".join(f"{self.x(px):.1f},{self.y(py):.1f}" for px, py in points)
        self.add(f'<polyline class="{look}" points="{path}"/>')

    def dot(self, at: tuple[float, float], look: str, told: str, radius: float = 4.5) -> None:
        self.add(
            f'<circle class="{look}" cx="{self.x(at[0]):.1f}" cy="{self.y(at[1]):.1f}" '
            f'r="{radius:g}"><title>{escape(told)}</title></circle>',
            on_top=True,
        )

    def across(self, value: float, look: str, told: str) -> None:
        """A horizontal line with its label at the left end, above it."""
        at = self.y(value)
        self.add(_line(look, (_LEFT, at), (WIDTH - _RIGHT, at)))
        self.add(text(_LEFT + 4, at - 6, told, f"label {look}-text"), on_top=True)

    def upright(self, value: float, look: str, told: str) -> None:
        """A vertical line with its label at the top, on the side with more room."""
        at = self.x(value)
        self.add(_line(look, (at, _TOP), (at, HEIGHT - _BOTTOM)))
        is_late = value > self.x_axis.most * 0.6
        place = at - 6 if is_late else at + 6
        side = "label end" if is_late else "label"
        self.add(text(place, _TOP + 12, told, f"{side} {look}-text"), on_top=True)

    def drawn(self, told: str, x_labels: Sequence[tuple[float, str]] | None = None) -> str:
        """The whole picture; `told` is what a screen reader says."""
        ticks = x_labels or [(tick, number(tick)) for tick in self.x_axis.ticks()]
        parts = [
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(told)}">',
            *self._y_ticks(),
            *(text(self.x(at), HEIGHT - _BOTTOM + 18, name, "tick middle") for at, name in ticks),
            *self._parts,
            _line("axis", (_LEFT, HEIGHT - _BOTTOM), (WIDTH - _RIGHT, HEIGHT - _BOTTOM)),
            *self._top_parts,
            text((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 12, self.x_axis.title, "title middle"),
            text(12, 18, self.y_axis.title, "title"),
            "</svg>",
        ]
        return "\n".join(parts)

    def _y_ticks(self) -> list[str]:
        parts = []
        for tick in self.y_axis.ticks():
            at = self.y(tick)
            parts.append(_line("grid", (_LEFT, at), (WIDTH - _RIGHT, at)))
            parts.append(text(_LEFT - 8, at + 4, number(tick), "tick end"))
        return parts


def _line(look: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    """From one place of the picture to another, in its own units."""
    return (
        f'<line class="{look}" x1="{start[0]:.1f}" y1="{start[1]:.1f}" '
        f'x2="{end[0]:.1f}" y2="{end[1]:.1f}"/>'
    )


def text(x: float, y: float, told: str, look: str) -> str:
    """Words at a place; `look` has `middle` or `end` where they are not to start there."""
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}">{escape(told)}</text>'


def number(value: float) -> str:
    """A tick's number, without digits that say nothing."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.6g}"
