"""Phrases of a measurement in the reader's language: SLO bounds, and what the bench itself said."""

import re
from collections.abc import Mapping, Sequence
from functools import cache

from proa.bench.limits import Reason
from proa.cli.bench.tables import number
from proa.cli.texts import Texts, texts_of

_PREFIX = "told_"
_MARKS = {">=": "≥", "<=": "≤"}


def bound_told(bound: str, texts: Texts) -> str:
    """`user_tokens_per_s>=30` as a person says it."""
    mark = ">=" if ">=" in bound else "<="
    name, _, value = bound.partition(mark)
    return texts.say(f"bound_{name}", mark=_MARKS[mark], value=value)


def in_language(text: str, texts: Texts) -> str:
    """A reason or a warning, which documents hold in English; as it is where it is not known."""
    for key, form in _forms():
        found = form.fullmatch(text)
        if found is not None:
            return texts.say(key).format(*found.groups())
    return text


def load_told(users: int | None, rate: float | None, texts: Texts) -> str:
    """`24 users`, a rate, or the trace."""
    if users is not None:
        return texts.say("load_users", users=users)
    return texts.say("load_trace") if rate is None else texts.say("load_rate", rate=rate)


def reason_told(limit: str, evidence: Mapping[str, float | None], texts: Texts) -> str:
    """A reason of the boundary with the numbers that it goes by."""
    told = {}
    for name, value in evidence.items():
        told[name] = number(value, 0 if value is not None and value == round(value) else 1)
        told[f"{name}_ms"] = number(value, 1, 1e3)
        told[f"{name}_pct"] = number(value, 0, 100)
    return texts.say(f"reason_{limit}", **told)


def reasons_told(reasons: Sequence[Reason], texts: Texts) -> list[str]:
    """All reasons, after a line that says where they hold."""
    if not reasons:
        return []
    first = reasons[0]
    key = "reason_over" if first.is_over else "reason_highest"
    said = [texts.say(key, load=load_told(first.users, first.rate, texts))]
    return said + [f"  {reason_told(each.limit, each.evidence, texts)}" for each in reasons]


@cache
def _forms() -> list[tuple[str, re.Pattern[str]]]:
    """The English forms with a group for each value."""
    return [
        (key, re.compile(re.sub(r"\\\{\d\\\}", "(.+?)", re.escape(form))))
        for key, form in texts_of("bench_report")["en"].items()
        if key.startswith(_PREFIX)
    ]
