"""Phrases of a measurement in the reader's language: SLO bounds, and what the bench itself said."""

import re
from functools import cache

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


@cache
def _forms() -> list[tuple[str, re.Pattern[str]]]:
    """The English forms with a group for each value."""
    return [
        (key, re.compile(re.sub(r"\\\{\d\\\}", "(.+?)", re.escape(form))))
        for key, form in texts_of("bench_report")["en"].items()
        if key.startswith(_PREFIX)
    ]
