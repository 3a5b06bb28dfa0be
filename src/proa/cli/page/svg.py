"""SVG by hand: a frame with axes, and the marks of a plot; colours come from the page's style."""

import math
from collections.abc import Sequence
from html import escape

import msgspec

WIDTH, HEIGHT = 680, 380
LEFT, RIGHT, TOP, BOTTOM = 64, 36, 40, 56
Point = tuple[float, float]


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

    def __init__(self, x: Axis, y: Axis, *, height: int = HEIGHT) -> None:
        self.x_axis, self.y_axis, self.height = x, y, height
        self._parts: list[str] = []
        self._top_parts: list[str] = []

    def x(self, value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * value / self.x_axis.most

    def y(self, value: float) -> float:
        return self.height - BOTTOM - (self.height - TOP - BOTTOM) * value / self.y_axis.most

    def add(self, part: str, *, on_top: bool = False) -> None:
        (self._top_parts if on_top else self._parts).append(part)

    def bar(self, centre: float, width: float, span: Point, look: str, told: str) -> None:
        """One part of a bar, over the values of `span`; `told` shows under the pointer."""
        low, high = self.y(span[0]), self.y(span[1])
        self.add(
            f'<rect class="{look}" x="{centre - width / 2:.1f}" y="{high:.1f}" '
            f'width="{width:.1f}" height="{max(low - high, 0):.1f}">'
            f"<title>{escape(told)}</title></rect>"
        )

    def band(self, start: float, end: float, look: str, told: str = "") -> None:
        """All of the height between two values of x."""
        left, right = self.x(start), self.x(end)
        top, bottom = self.y(self.y_axis.most), self.y(0)
        self.add(
            f'<rect class="{look}" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
            f'height="{bottom - top:.1f}"><title>{escape(told)}</title></rect>'
        )

    def line(self, points: Sequence[Point], look: str) -> None:
        """A line through points given in the axes' units."""
        path = " ".join(f"{self.x(px):.1f},{self.y(py):.1f}" for px, py in points)
        self.add(f'<polyline class="{look}" points="{path}"/>')

    def shape(self, points: Sequence[Point], look: str, told: str) -> None:
        """A closed shape; its points are places of the picture, not values."""
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        self.add(f'<polygon class="{look}" points="{path}"><title>{escape(told)}</title></polygon>')

    def dot(self, at: Point, look: str, told: str, radius: float = 4.5) -> None:
        self.add(
            f'<circle class="{look}" cx="{self.x(at[0]):.1f}" cy="{self.y(at[1]):.1f}" '
            f'r="{radius:g}"><title>{escape(told)}</title></circle>',
            on_top=True,
        )

    def error_bar(self, x: float, low: float, high: float, look: str) -> None:
        """An upright line with short ends over an interval."""
        at, bottom, top = self.x(x), self.y(low), self.y(min(high, self.y_axis.most))
        self.add(stroke(look, (at, bottom), (at, top)))
        for end in (bottom, top):
            self.add(stroke(look, (at - 4, end), (at + 4, end)))

    def across(self, value: float, look: str, told: str) -> None:
        """A horizontal line with its label at the left end, above it."""
        at = self.y(value)
        self.add(stroke(look, (LEFT, at), (WIDTH - RIGHT, at)))
        self.add(text(LEFT + 4, at - 6, told, f"label {look}-text"), on_top=True)

    def upright(self, value: float, look: str, told: str) -> None:
        """A vertical line with its label at the top, on the side with more room."""
        at = self.x(value)
        self.add(stroke(look, (at, TOP), (at, self.height - BOTTOM)))
        is_late = value > self.x_axis.most * 0.6
        place = at - 6 if is_late else at + 6
        side = "label end" if is_late else "label"
        self.add(text(place, TOP + 12, told, f"{side} {look}-text"), on_top=True)

    def drawn(self, told: str, x_labels: Sequence[tuple[float, str]] | None = None) -> str:
        """The whole picture; `told` is what a screen reader says."""
        ticks = x_labels or [(tick, number(tick)) for tick in self.x_axis.ticks()]
        ground = self.height - BOTTOM
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts = [
            f'<svg viewBox="0 0 {WIDTH} {self.height}" role="img" aria-label="{escape(told)}">',
            *self._y_ticks(),
            *(text(self.x(at), ground + 18, name, "tick middle") for at, name in ticks),
            *self._parts,
            stroke("axis", (LEFT, ground), (WIDTH - RIGHT, ground)),
            *self._top_parts,
            text(middle, self.height - 12, self.x_axis.title, "title middle"),
            text(12, 18, self.y_axis.title, "title"),
            "</svg>",
        ]
        return "\n".join(parts)

    def _y_ticks(self) -> list[str]:
        parts = []
        for tick in self.y_axis.ticks():
            at = self.y(tick)
            parts.append(stroke("grid", (LEFT, at), (WIDTH - RIGHT, at)))
            parts.append(text(LEFT - 8, at + 4, number(tick), "tick end"))
        return parts


def stroke(look: str, start: Point, end: Point) -> str:
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


def legend(items: Sequence[tuple[str, str]]) -> str:
    """Looks and their names, before a picture."""
    told = "".join(f'<span><i class="{look}"></i>{escape(name)}</span>' for look, name in items)
    return f'<div class="legend">{told}</div>\n'
