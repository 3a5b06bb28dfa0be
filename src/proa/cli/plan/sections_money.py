"""What a page says of cost, alternatives, exploration, frontier and promise."""

from collections.abc import Mapping, Sequence
from typing import Any

from proa.cli.page.blocks import Block, Code, Grid, Prose, Quote, Section
from proa.cli.plan import figures as f
from proa.cli.plan.sections import steps
from proa.cli.plan.texts import PlanTexts
from proa.planner.text import written

Document = Mapping[str, Any]
_SHOWN = 16
"""Points of a frontier that a page shows; the document has them all."""


def cost(document: Document, texts: PlanTexts) -> list[Section]:
    """Power, heat, electricity, cloud and break-even, each line with its numbers."""
    told = document["cost"]
    if told["currency"] is None:
        return []
    blocks: list[Block] = [steps(told["steps"], texts)] if told["steps"] else []
    room = told["room"]
    if room is not None:
        text = texts.say(
            "room_told",
            peak=f.count(room["peak_w"]),
            btu=f.count(room["btu_per_hour"]),
            amperes=f"{room['amperes']:,.1f}",
            units=texts.say("unknown")
            if room["rack_units"] is None
            else written(room["rack_units"]),
        )
        blocks.append(Prose(text))
    if told["per_million_tokens"] is not None:
        value = f.money(told["per_million_tokens"], told["currency"])
        blocks.append(Prose(texts.say("per_million", value=value)))
    if told["electricity_in_cloud_days"] is not None:
        days = f"{told['electricity_in_cloud_days']:,.1f}"
        blocks.append(Prose(texts.say("cloud_days", days=days)))
    if told["hardware"] is not None and told["cloud_per_month"] is not None:
        blocks.append(Prose(texts.say("break_even", told=told["break_even"])))
    return [Section(texts.say("cost"), tuple(blocks))] if blocks else []


def alternatives(document: Document, texts: PlanTexts) -> list[Section]:
    """Ways to spend the money, in one currency."""
    told = document["alternatives"]
    if told is None:
        return []
    currency = told["currency"]
    grid = Grid(
        (
            *texts.heads("way", "adds", "price", "per_speed", "electricity", "rent"),
            texts.say("total", months=told["months"]),
        ),
        tuple(
            (
                row["name"],
                f.rate(row["tokens_per_s"]),
                f.money(row["price"], currency),
                f.money(row["per_tokens_per_s"], currency),
                f.money(row["electricity_per_month"], currency),
                f.money(row["rent_per_month"], currency),
                f.money(row["total"], currency),
            )
            for row in told["rows"]
        ),
        right=frozenset(range(1, 7)),
    )
    blocks: list[Block] = [grid]
    if told["pair"] is not None:
        pair = told["pair"]
        text = texts.say(
            "pair_told",
            speed=f.rate(pair["tokens_per_s"]),
            main=f.money(pair["main_per_tokens_per_s"], currency),
            aux=f.money(pair["auxiliary_per_tokens_per_s"], currency),
            ratio=f"{pair['price_ratio']:.2f}",
        )
        blocks.append(Prose(text))
    return [Section(texts.say("alternatives"), tuple(blocks))]


def explore(document: Document, texts: PlanTexts, picture: Sequence[Block]) -> list[Section]:
    """The configurations that nothing beats."""
    told = document["explore"]
    if told is None:
        return []
    values = {
        "configurations": f.count(told["configurations"]),
        "meets": f.count(told["meets"]),
        "most": f.count(told["most_gpus"]),
    }
    if not told["front"]:
        return [Section(texts.say("explore"), (Prose(texts.say("explored_none", **values)),))]
    head = ("#", *texts.heads("gpu", "layout", "weights", "kv", "engine", "sessions", "user_speed"))
    grid = Grid(
        head + texts.heads("price", "power", "headroom"),
        tuple(
            (
                str(number),
                f"{row['gpus']} × {row['gpu']}",
                f"TP{row['tensor_parallel']} PP{row['pipeline_parallel']} × {row['replicas']}",
                row["weights"],
                "bf16" if row["kv_dtype"] == "auto" else row["kv_dtype"],
                row["engine"],
                f.count(row["max_sessions"]),
                f.rate(row["user_tokens_per_s"]),
                f.money(row["price"], told["currency"]),
                f"{row['power_w']:,.0f} W",
                f.share(row["headroom"]),
            )
            for number, row in enumerate(told["front"], start=1)
        ),
        right=frozenset({0, 6, 7, 8, 9, 10}),
    )
    blocks: tuple[Block, ...] = (Prose(texts.say("explored", **values)), grid, *picture)
    return [Section(texts.say("explore"), blocks)]


def frontier(document: Document, texts: PlanTexts) -> list[Section]:
    """What given GPUs can promise: the most sessions by context, and the trade-offs."""
    told = document["reverse"]
    if told is None:
        return []
    margin = f.share(told["margin"])
    text = texts.say("frontier_told", gpus=told["gpus"], gpu=told["gpu"], margin=margin)
    blocks: list[Block] = [Prose(text)]
    if told["promises"]:
        blocks.append(_promises(told["promises"], texts))
    else:
        blocks.append(Prose(texts.say("no_promise"), strong=True))
    shown = told["frontier"][:: -(-len(told["frontier"]) // _SHOWN) or 1]
    blocks += [Prose(texts.say("frontier_more")), _promises(shown, texts)]
    return [Section(texts.say("frontier"), tuple(blocks))]


def _promises(rows: Sequence[Document], texts: PlanTexts) -> Grid:
    bound = any(row["binding"] for row in rows)
    names = ("context_column", "sessions", "user_speed", "ttft_p95", "layout", "binding")
    return Grid(
        texts.heads(*(names if bound else names[:-1])),
        tuple(
            (
                f.context_name(row["context_tokens"]),
                f.count(row["sessions"]),
                f.rate(row["user_tokens_per_s"]),
                f.seconds(row["ttft_p95_s"]),
                f"TP{row['tensor_parallel']} PP{row['pipeline_parallel']} × {row['replicas']}",
                *([texts.say(row["binding"])] if bound else []),
            )
            for row in rows
        ),
        right=frozenset(range(4)),
    )


def promise(document: Document, texts: PlanTexts, *, all_languages: bool) -> list[Section]:
    """The run that confirms the plan, the clause, and the table for proa.toml."""
    if document["clause"] is None:
        return []
    first = texts.language
    languages = [first, *(each for each in ("ko", "en") if each != first and all_languages)]
    blocks: list[Block] = []
    for language in languages:
        if len(languages) > 1:
            blocks.append(Prose(texts.say(f"clause_{language}"), strong=True))
        blocks.append(Quote(document["clause"][language].strip(), language))
    return [
        Section(texts.say("verify"), (Code(document["verify_command"]),)),
        Section(texts.say("clause"), tuple(blocks)),
        Section(texts.say("contract"), (Code(document["contract_toml"].strip()),)),
    ]
