"""The pictures of a measurement's report, out of its document and its samples."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proa.bench.gauge_stats import GPU
from proa.bench.run import LevelVisit, RunResult
from proa.cli.bench.plots import (
    LOW,
    Curve,
    CurvePoint,
    Rule,
    Series,
    Violin,
    curves_plot,
    time_plot,
    violins_plot,
)
from proa.cli.bench.report_sections import by_load, load_name
from proa.cli.page.blocks import Block, Plot, Prose
from proa.cli.texts import Texts

Document = Mapping[str, Any]
_MOST_POINTS = 400


def curves(told: Document, texts: Texts) -> list[Block]:
    """Speed, first token and throughput over the load."""
    levels = [level for level in told["levels"] if _load(level)]
    x = texts.say("plot_load" if any(level["users"] for level in levels) else "plot_rate")
    made: list[Block] = []
    for name, key, other in (("speed", "user_tokens_per_s", "p05"), ("ttft", "ttft_s", "p95")):
        found = [
            Curve(name=texts.say(f"name_{text}"), look=look, points=_points(levels, key, statistic))
            for text, look, statistic in (("median", "curve", "p50"), (other, "second", other))
        ]
        shown = [curve for curve in found if curve.points]
        if shown:
            titles = (x, texts.say(f"plot_{name}"))
            svg = curves_plot(shown, titles, rule=slo_rule(told, key, texts))
            made.append(Plot(svg, texts.say(f"caption_{name}")))
    total = points_of(levels, None)
    if total:
        curve = Curve(name=texts.say("plot_aggregate"), look="curve", points=total)
        svg = curves_plot([curve], (x, texts.say("plot_aggregate")))
        made.append(Plot(svg, texts.say("caption_aggregate")))
    return made


def gauges(told: Document, texts: Texts) -> list[Block]:
    """What engine and GPU told, each over the same load as the curves."""
    levels = [level for level in told["levels"] if _load(level)]
    x = texts.say("plot_load" if any(level["users"] for level in levels) else "plot_rate")
    if not any(level["gauges"] for level in levels):
        return [Prose(texts.say("no_gauges"))]
    made: list[Block] = []
    plots = (
        ("kv", (("mean", "kv_use", "mean"), ("most", "kv_use", "most")), 1.0),
        ("requests", (("running", "running", "mean"), ("waiting", "waiting", "mean")), None),
        ("gpu", (("compute", "sm_share", "mean"), ("kernel", "kernel_share", "mean")), 1.0),
        ("power", (("mean", "power_w", "mean"),), None),
    )
    for plot, lines, most in plots:
        found = []
        for look, (name, gauge, statistic) in zip(("curve", "second"), lines, strict=False):
            points = _gauge_points(levels, gauge, statistic)
            if points:
                found.append(Curve(name=texts.say(f"name_{name}"), look=look, points=points))
        if found:
            rule = _power_limit(levels, texts) if plot == "power" else None
            titles = (x, texts.say(f"plot_{plot}"))
            svg = curves_plot(found, titles, height=LOW, most=most, rule=rule)
            made.append(Plot(svg, texts.say(f"caption_{plot}")))
    return made


def violins(result: RunResult, told: Document, texts: Texts) -> list[Block]:
    """The distribution of speed and first token at each load."""
    made: list[Block] = []
    for name, metric in (("speed", "user_tokens_per_s"), ("ttft", "ttft_s")):
        found = []
        for own in by_load(told["levels"]):
            numbers = {level["visit"] for level in own}
            visits = [v for v in result.visits if v.result.label.level in numbers]
            values = [value for visit in visits for value in _values(visit, metric)]
            if values:
                level = own[0]
                label = f"{level['users'] or level['rate'] or ''}" or load_name(level, texts)
                found.append(Violin(label, values))
        if found:
            x = texts.say("plot_load" if told["levels"][0]["users"] else "plot_rate")
            titles = (x, texts.say(f"plot_{name}"))
            svg = violins_plot(found, titles, slo_rule(told, metric, texts))
            made.append(Plot(svg, texts.say(f"caption_violin_{name}")))
    return made


def over_time(result: RunResult, texts: Texts) -> list[Block]:
    """Users, requests in the engine and KV cache from the run's start to its end."""
    if not result.visits or not result.gauges:
        return []
    end_s = max(
        [visit.result.window.end_s for visit in result.visits]
        + [sample.at_s for sample in result.gauges]
    )
    spans = [
        (
            visit.result.window.start_s,
            visit.result.window.end_s,
            f"{visit.level.users or visit.level.rate or ''}",
        )
        for visit in result.visits
    ]
    titles = (texts.say("plot_time"), texts.say("plot_requests"))
    running = _series(result, "running", texts.say("name_running"), "curve time")
    waiting = _series(result, "waiting", texts.say("name_waiting"), "second time")
    made: list[Block] = []
    shown = [one for one in (running, waiting) if one.points]
    if shown:
        svg = time_plot(shown, titles, spans, end_s)
        made.append(Plot(svg, texts.say("caption_time")))
    kv = _series(result, "kv_use", texts.say("plot_kv"), "third time")
    if kv.points:
        titles = (texts.say("plot_time"), texts.say("plot_kv"))
        svg = time_plot([kv], titles, spans, end_s, most=1.0)
        made.append(Plot(svg, texts.say("caption_time_kv")))
    return made


def _series(result: RunResult, gauge: str, name: str, look: str) -> Series:
    """Summed over engines that are asked at the same moment; few enough points for a page."""
    by_source: dict[str, list[tuple[float, float]]] = {}
    for sample in result.gauges:
        if sample.name == gauge and not sample.source.startswith(GPU):
            by_source.setdefault(sample.source, []).append((sample.at_s, sample.value))
    if not by_source:
        return Series(name, look, [])
    rows = zip(*by_source.values(), strict=False)
    if gauge == "kv_use":
        points = [(row[0][0], max(value for _, value in row)) for row in rows]
    else:
        points = [(row[0][0], sum(value for _, value in row)) for row in rows]
    step = max(1, -(-len(points) // _MOST_POINTS))
    return Series(name, look, points[::step])


def _load(level: Document) -> float:
    return float(level["users"] or level["rate"] or 0.0)


def points_of(levels: Sequence[Document], metric: str | None) -> list[CurvePoint]:
    """Medians of a metric with their intervals; None is the throughput of all users."""
    loaded = [level for level in levels if _load(level)]
    if metric is not None:
        return _points(loaded, metric, "p50")
    return [
        CurvePoint(load=_load(level), value=level["aggregate_tokens_per_s"])
        for level in loaded
        if level["aggregate_tokens_per_s"] is not None
    ]


def _points(levels: Sequence[Document], key: str, statistic: str) -> list[CurvePoint]:
    return [
        CurvePoint(
            load=_load(level),
            value=level[key][statistic],
            interval=_interval(level[key].get(f"{statistic}_interval")),
        )
        for level in levels
        if level[key][statistic] is not None
    ]


def _interval(told: Sequence[float] | None) -> tuple[float, float] | None:
    return None if told is None else (told[0], told[1])


def slo_rule(told: Document, metric: str, texts: Texts) -> Rule | None:
    """The SLO's line of a metric."""
    slo = told["conditions"]["slo"]
    for bound in slo["bounds"] if slo else ():
        name, mark, value = bound.partition(">=" if ">=" in bound else "<=")
        if name == metric:
            shown = f"{'≥' if mark == '>=' else '≤'} {value}"
            return Rule(float(value), texts.say("slo_line", bound=shown))
    return None


def _gauge_points(levels: Sequence[Document], gauge: str, statistic: str) -> list[CurvePoint]:
    """Of all sources that tell it: shares as their greatest, amounts as their sum."""
    made = []
    for level in levels:
        told = [own[gauge][statistic] for own in level["gauges"].values() if gauge in own]
        if told:
            is_share = gauge.endswith(("_use", "_share"))
            made.append(CurvePoint(load=_load(level), value=max(told) if is_share else sum(told)))
    return made


def _power_limit(levels: Sequence[Document], texts: Texts) -> Rule | None:
    points = _gauge_points(levels, "power_limit_w", "mean")
    if not points:
        return None
    value = points[0].value
    return Rule(value, texts.say("power_limit", value=value))


def _values(visit: LevelVisit, metric: str) -> Iterator[float]:
    for sample in visit.result.samples:
        if sample.is_warmup or sample.is_filler or sample.is_stopped:
            continue
        value = getattr(sample, metric)
        if sample.failure is None and value is not None:
            yield value
