"""What a page says of placement: memory of a GPU, speed by sessions, other GPUs, the engine."""

from collections.abc import Mapping, Sequence
from typing import Any

from proa.cli.page.blocks import Block, Bullets, Grid, Prose, Section
from proa.cli.plan import figures as f
from proa.cli.plan.texts import PlanTexts

Document = Mapping[str, Any]


def memory(document: Document, texts: PlanTexts) -> list[Section]:
    """One GPU after the engine's start, a line for each part with its source."""
    told, placed = document["memory"], document["placement"]
    if told is None:
        return []
    text = texts.say(
        "engine_profile",
        engine=" ".join(filter(None, (placed["engine"], placed["engine_version"]))),
        profile=placed["engine_profile"],
        sessions=f"{told['max_concurrency']:,.1f}",
        context=f"{told['max_model_len']:,}",
    )
    rows = tuple(_memory_row(line, texts) for line in told["lines"])
    head = texts.heads("memory_line", "gb", "gib", "source")
    total = (texts.say("gpu_bytes"), f.gb(told["gpu_bytes"]), f.gib(told["gpu_bytes"]), "")
    grid = Grid(head, (*rows, total), right=frozenset({1, 2}))
    return [Section(texts.say("memory_section"), (Prose(text), grid))]


def performance(document: Document, texts: PlanTexts, picture: Sequence[Block]) -> list[Section]:
    """Speed and waiting from one session up to beyond what was asked."""
    told, placed = document["performance"], document["placement"]
    if not told["points"]:
        return []
    counts = [point["sessions"] for point in told["points"]]
    wanted = document["demand"]["design_sessions"]
    grid = Grid(
        texts.heads("sessions", "user_speed", "all_speed", "ttft_mean", "ttft_p95"),
        tuple(
            (
                f.count(point["sessions"]),
                f.rate(point["user_tokens_per_s"]),
                f.rate(point["aggregate_tokens_per_s"]),
                f.seconds(point["ttft_s"]),
                f.seconds(point["ttft_p95_s"]),
            )
            for point in told["points"]
        ),
        right=frozenset(range(5)),
        marked=counts.index(wanted) if wanted in counts else None,
    )
    limits = texts.say(
        "limits_told",
        memory=f.count(placed["memory_sessions"]),
        speed=_limit(placed["speed_sessions"], texts),
        ttft=_limit(placed["ttft_sessions"], texts),
    )
    blocks: tuple[Block, ...] = (Prose(limits), grid, *picture)
    return [Section(texts.say("performance"), blocks)]


def other_gpus(document: Document, texts: PlanTexts) -> list[Section]:
    """What the same need takes on other GPUs."""
    rows = document["other_gpus"]
    if not rows:
        return []
    names = [row["gpu"] for row in rows]
    chosen = document["placement"]["gpu"]
    grid = Grid(
        texts.heads("gpu", "gpus", "layout", "most_sessions", "user_speed", "binding", "price"),
        tuple(
            (
                row["gpu"],
                f.count(row["gpus"]),
                f"TP{row['tensor_parallel']} PP{row['pipeline_parallel']} × {row['replicas']}",
                f.count(row["max_sessions"]),
                f.rate(row["user_tokens_per_s"]),
                texts.say(row["binding"]),
                f.money(row["price"], row["currency"]),
            )
            for row in rows
        ),
        right=frozenset({1, 3, 4, 6}),
        marked=names.index(chosen) if chosen in names else None,
    )
    return [Section(texts.say("other_gpus"), (grid,))]


def engine(document: Document, texts: PlanTexts) -> list[Section]:
    """The engine advised, and others that suit."""
    told = document["engine"]
    if told is None:
        return []
    reasons = [
        Prose(texts.say("engine_told", engine=told["engine"], reason=reason))
        for reason in told["reasons"]
    ]
    others = tuple(f"{each['engine']}: {each['reason']}" for each in told["alternatives"])
    blocks: tuple[Block, ...] = (*reasons, *([Bullets(others)] if others else []))
    return [Section(texts.say("engine"), blocks)]


def models(document: Document, texts: PlanTexts) -> list[Section]:
    """Several models on one GPU, each with its own share."""
    told = document["models"]
    if told is None:
        return []
    rows = tuple(
        (
            row["model"],
            f.gb(row["weights_bytes"]),
            f.gb(row["engine_bytes"]),
            f.gb(row["kv_bytes"]),
            f.gb(row["total_bytes"]),
            f.gib(row["total_bytes"]),
            f"{row['gpu_memory_utilization']:.3f}",
            f"{f.count(row['sessions'])} × {f.context_name(row['context_tokens'])}",
            f.rate(row["user_tokens_per_s"]),
            f.rate(row["shared_user_tokens_per_s"]),
        )
        for row in told["rows"]
    )
    head = texts.heads(
        "model", "weights", "overhead", "kv", "total_gb", "total_gib", "share", "sessions", "alone",
        "together",
    )  # fmt: skip
    text = texts.say(
        "models_fit" if told["fits"] else "models_full",
        gpu=told["gpu"],
        used=f.both_units(told["total_bytes"]),
        of=f.both_units(told["gpu_bytes"]),
    )
    blocks = (Prose(text, strong=True), Grid(head, rows, right=frozenset(range(1, 10))))
    return [Section(texts.say("models"), (*blocks, Prose(texts.say("warn_models_share"))))]


def _memory_row(line: Document, texts: PlanTexts) -> tuple[str, ...]:
    name = _named(line["name"], texts)
    if line["bytes"] is None:
        told = texts.say("inside", of=_named(line["inside"] or "", texts))
        return (name, f.NONE, f.NONE, f"{told}. {line['source']}")
    return (name, f"{line['bytes'] / 1e9:,.2f}", f"{line['bytes'] / 2**30:,.2f}", line["source"])


def _named(name: str, texts: PlanTexts) -> str:
    """A part by the plan's own word for it, where there is one."""
    key = f"mem_{name}"
    return texts.say(key) if texts.has(key) else name.replace("_", " ")


def _limit(count: int | None, texts: PlanTexts) -> str:
    return texts.say("not_asked") if count is None else f.count(count)
