"""Phrases of a measurement in the reader's language: SLO bounds, remarks, reasons, loads."""

from collections.abc import Mapping, Sequence

from proa.bench.limits import Reason
from proa.bench.remark import Remark
from proa.cli.bench.tables import number
from proa.cli.texts import Texts

_MARKS = {">=": "≥", "<=": "≤"}


def bound_told(bound: str, texts: Texts) -> str:
    """`user_tokens_per_s>=30` as a person says it."""
    mark = ">=" if ">=" in bound else "<="
    name, _, value = bound.partition(mark)
    return texts.say(f"bound_{name}", mark=_MARKS[mark], value=value)


def remark_told(code: str, values: Mapping[str, float], texts: Texts) -> str:
    """A remark of a document; seconds are at hand as milliseconds, too."""
    thousandth = {f"{name[:-2]}_ms": value * 1e3 for name, value in values.items() if _is_s(name)}
    return texts.say(f"told_{code}", **values, **thousandth)


def remarks_told(remarks: Sequence[Remark], texts: Texts) -> list[str]:
    """Each in a phrase."""
    return [remark_told(remark.code, remark.values, texts) for remark in remarks]


def load_told(users: int | None, rate: float | None, texts: Texts) -> str:
    """`24 users`, a rate, or the trace."""
    if users is not None:
        return texts.say("load_user" if users == 1 else "load_users", users=users)
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


def _is_s(name: str) -> bool:
    return name.endswith("_s")
