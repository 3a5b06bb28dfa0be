"""The bill of a plan as a document."""

from typing import Any

import msgspec

from proa.cli.plan.demand import step_document
from proa.cli.plan.money import Bill

Json = dict[str, Any]
_KEYS = (
    "currency",
    "hardware",
    "power_w",
    "kwh_per_month",
    "electricity_per_month",
    "electricity_per_year",
    "depreciation_per_month",
    "per_tokens_per_s",
    "per_million_tokens",
    "cloud_per_day",
    "cloud_per_month",
    "electricity_in_cloud_days",
    "break_even_months",
)
_ROOM = ("peak_w", "facility_w", "kwh_per_year", "btu_per_hour", "amperes", "rack_units")


def cost_document(bill: Bill, language: str) -> Json:
    """Amounts in one currency, and what the room has to give; null where nothing tells it."""
    plan, drawn = bill.cost, bill.power
    told: Json = {key: None if plan is None else getattr(plan, key) for key in _KEYS}
    told["break_even"] = None if plan is None else plan.break_even.say(language)
    told["room"] = None if drawn is None else {key: getattr(drawn, key) for key in _ROOM}
    told["steps"] = [step_document(step, language) for step in plan.steps] if plan else []
    return told


def alternatives_document(rows: tuple[msgspec.Struct, ...], language: str) -> list[Json]:
    """Every way to spend the money, in one currency."""
    told = []
    for row in rows:
        document = msgspec.structs.asdict(row)
        document["name"] = document["name"].say(language)
        told.append(document)
    return told
