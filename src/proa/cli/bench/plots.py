"""The pictures of a measurement: curves over the load, violins, gauges over time."""

import math
from collections.abc import Sequence

import msgspec

from proa.cli.page.svg import Axis, Frame, Point, axis, legend, stroke

LOW, TALL = 210, 330
_STEPS = 48
_HALF_WIDTH = 0.42


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One visit on a curve; `interval` of `value`, None where there is none."""

    load: float
    value: float
    interval: tuple[float, float] | None = None


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """Points of all visits; the line goes through the mean of each load's."""

    name: str
    look: str
    points: Sequence[CurvePoint]


class Rule(msgspec.Struct, frozen=True):
    """What must be kept: a value and its label."""

    value: float
    label: str


class Violin(msgspec.Struct, frozen=True):
    """The distribution of one load's requests."""

    label: str
    values: Sequence[float]


class Series(msgspec.Struct, frozen=True):
    """A gauge over time."""

    name: str
    look: str
    points: Sequence[Point]


def curves_plot(
    curves: Sequence[Curve],
    titles: tuple[str, str],
    *,
    rule: Rule | None = None,
    height: int = TALL,
    most: float | None = None,
    names: bool = False,
) -> str:
    """Curves over the load with error bars; x has a tick at each load that was measured.

    A single curve is named where `names`.

    `titles` are those of x and y; `most` is the end of y where it is known (a share).
    """
    points = [point for curve in curves for point in curve.points]
    loads = sorted({point.load for point in points})
    tops = [max(p.value, p.interval[1] if p.interval else 0.0) for p in points]
    wanted = [rule.value] if rule else []
    y = axis(max(tops + wanted) * 1.08, titles[1], 5 if height > LOW else 3)
    if most is not None:
        y = Axis(most=most, title=titles[1], step=most / 4)
    frame = Frame(_load_axis(loads, titles[0]), y, height=height)
    if rule is not None:
        frame.across(rule.value, "wanted", rule.label)
    for curve in curves:
        _curve(frame, curve)
    keys = [(f"key {curve.look}-key", curve.name) for curve in curves]
    labels = [(load, f"{load:g}") for load in _spaced(loads)]
    named = legend(keys) if names or len(keys) > 1 else ""
    return named + frame.drawn(titles[1], labels)


def violins_plot(
    violins: Sequence[Violin], titles: tuple[str, str], rule: Rule | None = None
) -> str:
    """A violin for each load: its width is the density, the line in it the median."""
    wanted = [rule.value] if rule else []
    highest = max([value for violin in violins for value in violin.values] + wanted)
    x = Axis(most=len(violins), title=titles[0], step=1)
    frame = Frame(x, axis(highest * 1.05, titles[1]), height=TALL)
    if rule is not None:
        frame.across(rule.value, "wanted", rule.label)
    for index, violin in enumerate(violins):
        _violin(frame, index + 0.5, violin)
    labels = [(index + 0.5, violin.label) for index, violin in enumerate(violins)]
    return frame.drawn(titles[1], labels)


def time_plot(
    series: Sequence[Series],
    titles: tuple[str, str],
    spans: Sequence[tuple[float, float, str]],
    end_s: float,
    *,
    most: float | None = None,
) -> str:
    """Gauges over the run's time; `spans` are the levels' windows with their names."""
    values = [value for one in series for _, value in one.points]
    y = axis(max(values, default=1.0) * 1.05, titles[1], 3)
    if most is not None:
        y = Axis(most=most, title=titles[1], step=most / 4)
    frame = Frame(axis(end_s, titles[0], 8), y, height=LOW)
    for start_s, stop_s, name in spans:
        frame.band(start_s, stop_s, "span", name)
    for one in series:
        frame.line(one.points, one.look)
    keys = [(f"key {one.look.split()[0]}-key", one.name) for one in series]
    return (legend(keys) if len(keys) > 1 else "") + frame.drawn(titles[1])


def _load_axis(loads: Sequence[float], title: str) -> Axis:
    made = axis(max(loads) * 1.05, title)
    return Axis(most=max(loads) * 1.08, title=title, step=made.step)


def _spaced(loads: Sequence[float]) -> list[float]:
    """Loads that have room for their labels, the highest one always."""
    room = max(loads) / 16
    kept: list[float] = []
    for load in reversed(loads):
        if not kept or kept[-1] - load >= room:
            kept.append(load)
    return kept[::-1]


def _curve(frame: Frame, curve: Curve) -> None:
    by_load: dict[float, list[float]] = {}
    for point in curve.points:
        by_load.setdefault(point.load, []).append(point.value)
        if point.interval is not None:
            frame.error_bar(point.load, *point.interval, f"{curve.look}-error")
    line = [(load, sum(own) / len(own)) for load, own in sorted(by_load.items())]
    if len(line) > 1:
        frame.line(line, curve.look)
    for point in curve.points:
        told = f"{curve.name} · {point.load:g}: {_number(point.value)}"
        if point.interval is not None:
            told += f" ({_number(point.interval[0])} – {_number(point.interval[1])})"
        frame.dot((point.load, point.value), f"{curve.look}-dot", told, 3.6)


def _violin(frame: Frame, at: float, violin: Violin) -> None:
    ordered = sorted(violin.values)
    median = ordered[(len(ordered) - 1) // 2]
    told = f"{violin.label}: {_number(median)} (n = {len(ordered)})"
    outline = density(ordered)
    if outline:
        unit = (frame.x(1) - frame.x(0)) * _HALF_WIDTH
        widest = max(width for _, width in outline)
        right = [(frame.x(at) + unit * w / widest, frame.y(v)) for v, w in outline]
        left = [(frame.x(at) - unit * w / widest, frame.y(v)) for v, w in reversed(outline)]
        frame.shape(right + left, "violin", told)
        half = min(unit, 16.0)
    else:
        half = 16.0
        for value in ordered:
            frame.dot((at, value), "violin-dot", told, 2.0)
    x, y = frame.x(at), frame.y(median)
    frame.add(stroke("median", (x - half, y), (x + half, y)), on_top=True)


def density(ordered: Sequence[float]) -> list[Point]:
    """Value and density at even steps over sorted values; empty for few or equal ones.

    A Gaussian kernel of Silverman's width, over at most 400 quantiles; none beyond the data.
    """
    count = len(ordered)
    if count < 8 or ordered[-1] <= ordered[0]:
        return []
    kept = [ordered[i * (count - 1) // 399] for i in range(400)] if count > 400 else list(ordered)
    mean = sum(kept) / len(kept)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in kept) / (len(kept) - 1))
    quarter = ordered[count * 3 // 4] - ordered[count // 4]
    spread = min(deviation, quarter / 1.34) if quarter > 0 else deviation
    span = ordered[-1] - ordered[0]
    width = max(0.9 * spread * len(kept) ** -0.2, span / 200)
    steps = [ordered[0] + span * step / _STEPS for step in range(_STEPS + 1)]
    return [(at, sum(math.exp(-(((at - v) / width) ** 2) / 2) for v in kept)) for at in steps]


def _number(value: float) -> str:
    return f"{value:,.4g}"
