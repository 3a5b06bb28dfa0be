"""The pictures of a plan: memory against context, sessions against speed, the Pareto front."""

from collections.abc import Sequence
from html import escape

import msgspec

from proa.cli.page.svg import HEIGHT, Axis, Frame, axis

GB = 1e9


class MemoryBar(msgspec.Struct, frozen=True, kw_only=True):
    """Memory at one length of context, in bytes, by part from the bottom up."""

    label: str
    parts: tuple[int, ...]


class SpeedPoint(msgspec.Struct, frozen=True, kw_only=True):
    """What each user gets while so many sessions run."""

    sessions: float
    user_tokens_per_s: float


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration of an exploration, numbered as in its table."""

    cost: float
    speed: float
    label: str
    number: int


def memory_plot(
    bars: Sequence[MemoryBar],
    names: Sequence[str],
    limit: tuple[int, str] | None,
    titles: tuple[str, str],
) -> str:
    """Stacked bars and the line of what the GPUs have; `names` are the parts, from the bottom up.

    `limit` is that line in bytes and its label, None where there are no GPUs to speak of;
    `titles` those of the x and y axes.
    """
    ends = [] if limit is None else [limit[0]]
    highest = max([sum(bar.parts) for bar in bars] + ends) / GB * 1.06
    frame = Frame(Axis(most=len(bars), title=titles[0], step=1), axis(highest, titles[1]))
    width = min(64.0, 440.0 / len(bars))
    labels = []
    for index, bar in enumerate(bars):
        base = 0.0
        at = index + 0.5
        labels.append((at, bar.label))
        for part, (name, size) in enumerate(zip(names, bar.parts, strict=True)):
            told = f"{bar.label} · {name}: {size / GB:,.1f} GB = {size / 2**30:,.1f} GiB"
            frame.bar(frame.x(at), width, (base, base + size / GB), f"part{part}", told)
            base += size / GB
        over = " over-text" if limit is not None and sum(bar.parts) > limit[0] else ""
        frame.add(_above(frame, at, base, f"{base:,.0f}", over), on_top=True)
    if limit is not None:
        frame.across(limit[0] / GB, "limit", limit[1])
    return _legend(names) + frame.drawn(titles[1], labels)


def speed_plot(
    points: Sequence[SpeedPoint],
    wanted: tuple[float, float],
    labels: tuple[str, str, str, str],
    most_sessions: tuple[float, str] | None = None,
) -> str:
    """The curve of speed for each user, with what is wanted: sessions and tokens per second.

    `labels`: x axis, y axis, the line of the sessions, the line of the speed. `most_sessions` is
    where memory ends, with its label.
    """
    farthest = max([point.sessions for point in points] + [wanted[0] * 1.15])
    highest = max([point.user_tokens_per_s for point in points] + [wanted[1]]) * 1.08
    frame = Frame(axis(farthest, labels[0], 8), axis(highest, labels[1]))
    if most_sessions is not None and most_sessions[0] < frame.x_axis.most:
        _shade(frame, most_sessions[0])
        frame.upright(most_sessions[0], "limit", most_sessions[1])
    frame.across(wanted[1], "wanted", labels[3])
    frame.upright(wanted[0], "wanted", labels[2])
    frame.line([(point.sessions, point.user_tokens_per_s) for point in points], "curve")
    for point in points:
        told = f"{point.sessions:,.0f} · {point.user_tokens_per_s:,.1f} tok/s"
        frame.dot((point.sessions, point.user_tokens_per_s), "curve-dot", told, 3.0)
    return frame.drawn(labels[1])


def choices_plot(front: Sequence[Choice], titles: tuple[str, str]) -> str:
    """Cost against speed of the configurations that nothing beats, numbered as in their table."""
    frame = Frame(
        axis(max(each.cost for each in front) * 1.08, titles[0], 6),
        axis(max(each.speed for each in front) * 1.1, titles[1]),
    )
    for each in front:
        frame.dot((each.cost, each.speed), "front-dot", each.label, 8.5)
        frame.add(
            _above(frame, each.cost, each.speed, str(each.number), " inside", 4.0), on_top=True
        )
    return frame.drawn(titles[1])


def _above(frame: Frame, x: float, y: float, told: str, look: str, down: float = -6.0) -> str:
    return (
        f'<text class="label middle{look}" x="{frame.x(x):.1f}" '
        f'y="{frame.y(y) + down:.1f}">{escape(told)}</text>'
    )


def _shade(frame: Frame, start: float) -> None:
    left, right = frame.x(start), frame.x(frame.x_axis.most)
    top, bottom = frame.y(frame.y_axis.most), frame.y(0)
    frame.add(
        f'<rect class="beyond" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
        f'height="{min(bottom, HEIGHT) - top:.1f}"/>'
    )


def _legend(names: Sequence[str]) -> str:
    items = "".join(
        f'<span><i class="part{index}"></i>{escape(name)}</span>'
        for index, name in enumerate(names)
    )
    return f'<div class="legend">{items}</div>\n'
