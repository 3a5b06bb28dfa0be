"""A plan's document → the page that text, Markdown and HTML are printed from."""

from collections.abc import Iterator, Mapping
from typing import Any

from proa.cli.page.blocks import Page, Section
from proa.cli.plan import figures as f
from proa.cli.plan import sections as common
from proa.cli.plan import sections_money as money
from proa.cli.plan import sections_place as place
from proa.cli.plan.texts import PlanTexts

Document = Mapping[str, Any]


def page_of(document: Document, texts: PlanTexts, *, is_html: bool = False) -> Page:
    """The whole page; pictures, and the clause in both languages, are only in HTML."""
    return Page(
        language=texts.language,
        title=_title(document, texts),
        status=texts.say(document["status"]),
        lead=tuple(_lead(document, texts)),
        sections=tuple(_sections(document, texts, is_html)),
    )


def _sections(document: Document, texts: PlanTexts, is_html: bool) -> Iterator[Section]:
    memory: list[Any] = []
    speed: list[Any] = []
    choices: list[Any] = []
    if is_html:
        from proa.cli.plan import pictures as draw

        memory += draw.memory_picture(document, texts)
        speed += draw.speed_picture(document, texts)
        choices += draw.explore_picture(document, texts)
    yield from common.remarks(document, texts)
    yield from money.frontier(document, texts)
    yield from money.explore(document, texts, choices)
    yield from common.demand(document, texts)
    yield from common.context(document, texts, memory)
    yield from common.model(document, texts)
    yield from common.levers(document, texts)
    yield from place.models(document, texts)
    yield from place.memory(document, texts)
    yield from place.performance(document, texts, speed)
    yield from place.other_gpus(document, texts)
    yield from place.engine(document, texts)
    yield from money.cost(document, texts)
    yield from money.alternatives(document, texts)
    yield from money.promise(document, texts, all_languages=is_html)


def _title(document: Document, texts: PlanTexts) -> str:
    demand, model = document["demand"], document["model"]
    parts = []
    if document["reverse"]:
        told = document["reverse"]
        parts.append(texts.say("gpus_told", gpus=told["gpus"], gpu=told["gpu"]))
    elif demand["users"]:
        parts.append(texts.say("title_users", users=f.count(demand["users"])))
    elif demand["design_sessions"]:
        parts.append(texts.say("title_sessions", sessions=f.count(demand["design_sessions"])))
    if model["id"]:
        parts.append(model["id"])
    return texts.say("title_for", what=", ".join(parts)) if parts else texts.say("title")


def _lead(document: Document, texts: PlanTexts) -> Iterator[tuple[str, str]]:
    """The few numbers that a plan comes down to."""
    placed, demand = document["placement"], document["demand"]
    if placed["gpus"] is not None:
        yield texts.say("lead_gpus"), _gpus(placed, texts)
    if demand["design_sessions"] is not None:
        told = texts.say("sessions_told", value=f.count(demand["design_sessions"]))
        yield texts.say("lead_sessions"), told
    chosen = _chosen_lever(document)
    if chosen is not None:
        precision = texts.say("weights_and_kv", weights=chosen["weights"], kv=chosen["kv"])
        yield texts.say("lead_memory"), f"{f.both_units(chosen['total_bytes'])}\n{precision}"
    yield from _speed(document, texts)
    costs = _costs(document["cost"], texts)
    if costs:
        yield texts.say("lead_cost"), "\n".join(costs)


def _speed(document: Document, texts: PlanTexts) -> Iterator[tuple[str, str]]:
    told, placed = document["performance"], document["placement"]
    if told["user_tokens_per_s"] is None:
        return
    demand = document["demand"]
    decoding = texts.say(
        "decoding",
        value=f.rate(told["user_tokens_per_s"] * demand["design_sessions"]),
        needed=f.rate(demand["decode_tokens_per_s"]),
    )
    whole = texts.say("with_waiting", value=f.rate(told["aggregate_tokens_per_s"]))
    each = texts.say("for_each", value=f.rate(told["user_tokens_per_s"]))
    yield texts.say("lead_speed"), f"{each}\n{decoding}\n{whole}"
    p95 = texts.say("p95_within", value=f.seconds(told["ttft_p95_s"]))
    mean = texts.say("mean_of", value=f.seconds(told["ttft_s"]))
    yield texts.say("lead_ttft"), f"{p95}\n{mean}"
    binding = texts.say(told["binding"])
    limit = texts.say("up_to", sessions=f.count(placed["max_sessions"]), binding=binding)
    yield texts.say("lead_limit"), limit if placed["meets"] else texts.say("not_met")


def _costs(cost: Document, texts: PlanTexts) -> list[str]:
    keys = ("hardware", "electricity_per_month", "cloud_per_month")
    return [
        texts.say(f"lead_{key}", value=f.money(cost[key], cost["currency"]))
        for key in keys
        if cost[key] is not None
    ]


def _gpus(placed: Document, texts: PlanTexts) -> str:
    layout = texts.say(
        "layout_told",
        tp=placed["tensor_parallel"],
        pp=placed["pipeline_parallel"],
        replicas=f.count(placed["replicas"]),
    )
    return f"{texts.say('gpus_told', gpus=f.count(placed['gpus']), gpu=placed['gpu'])}\n{layout}"


def _chosen_lever(document: Document) -> Document | None:
    """The row of the lever table that the plan takes."""
    model, tokens = document["model"], document["context"]["context_tokens"]
    wanted = (model.get("weights"), model.get("kv_dtype"), tokens)
    rows = document["levers"]
    return next(
        (row for row in rows if (row["weights"], row["kv"], row["context_tokens"]) == wanted), None
    )
