"""The plots of a plan, out of its document."""

from collections.abc import Mapping
from typing import Any

from proa.cli.page.blocks import Plot
from proa.cli.plan import figures as f
from proa.cli.plan.plots import (
    Choice,
    MemoryBar,
    SpeedPoint,
    choices_plot,
    memory_plot,
    speed_plot,
)
from proa.cli.plan.texts import PlanTexts

Document = Mapping[str, Any]
_DOTS = 600


def memory_picture(document: Document, texts: PlanTexts) -> list[Plot]:
    """Weights, engine and KV of all sessions by context, with the line of the GPUs."""
    sweep, told, placed = document["context"]["sweep"], document["memory"], document["placement"]
    if not sweep:
        return []
    weights, engine = document["model"]["weights_bytes"], 0
    limit = None
    if told is not None:
        gpus = placed["gpus"]
        weights = told["weights_bytes"] * gpus
        engine = (told["gpu_bytes"] - told["weights_bytes"] - told["kv_cache_bytes"]) * gpus
        size = f.both_units(told["gpu_bytes"] * gpus)
        label = texts.say("plot_limit", gpus=gpus, gpu=placed["gpu"], size=size)
        limit = (told["gpu_bytes"] * gpus, label)
    bars = [
        MemoryBar(
            label=f.context_name(row["context_tokens"]), parts=(weights, engine, row["kv_bytes"])
        )
        for row in sweep
    ]
    names = texts.heads("plot_weights", "plot_overhead", "plot_kv")
    titles = (texts.say("plot_memory_x"), texts.say("plot_memory_y"))
    svg = memory_plot(bars, names, limit, titles)
    sessions = f.count(document["demand"]["design_sessions"])
    return [Plot(svg, texts.say("plot_memory", sessions=sessions))]


def speed_picture(document: Document, texts: PlanTexts) -> list[Plot]:
    """The speed of each user by sessions, with what was asked and where memory ends."""
    told, placed = document["performance"], document["placement"]
    if not told["points"]:
        return []
    points = [
        SpeedPoint(sessions=point["sessions"], user_tokens_per_s=point["user_tokens_per_s"])
        for point in told["points"]
    ]
    sessions = document["demand"]["design_sessions"]
    wanted = document["demand"]["tokens_per_s"]
    end = placed["memory_sessions"]
    labels = (
        texts.say("plot_speed_x"),
        texts.say("plot_speed_y"),
        texts.say("plot_wanted_sessions", sessions=f.count(sessions)),
        texts.say("plot_wanted_speed", speed=f.rate(wanted)),
    )
    svg = speed_plot(
        points,
        (sessions, wanted),
        labels,
        (end, texts.say("plot_memory_end", sessions=f.count(end))),
    )
    return [Plot(svg, texts.say("plot_speed"))]


def explore_picture(document: Document, texts: PlanTexts) -> list[Plot]:
    """Price (or power, where nothing has a price) against speed, the front numbered."""
    told = document["explore"]
    if told is None or not told["front"]:
        return []
    priced = all(row["price"] is not None for row in told["front"])
    key = "price" if priced else "power_w"
    title = texts.say("plot_cost", currency=told["currency"]) if priced else texts.say("plot_power")
    front = [
        Choice(
            cost=row[key],
            speed=row["user_tokens_per_s"],
            label=f"{number}: {row['gpus']} × {row['gpu']}",
            number=number,
        )
        for number, row in enumerate(told["front"], start=1)
    ]
    svg = choices_plot(front, (title, texts.say("plot_speed_y")))
    return [Plot(svg, texts.say("plot_choices"))]
