"""Limits on what a request asks for: tools that it may offer, texts that it may not hold."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from proa.errors import FieldError
from proa.guard.detectors import linear_pattern
from proa.guard.policy import GuardRule
from proa.guard.texts import BodyTexts

if TYPE_CHECKING:
    import re2


class BrokenLimit(msgspec.Struct, frozen=True):
    """`tool`: its name, as the client wrote it. `pattern`: the index of the blocked pattern."""

    tool: str | None = None
    pattern: int | None = None


def broken_limit(
    path: bytes, body: bytes, rule: GuardRule, content_type: bytes = b""
) -> BrokenLimit | None:
    """The first limit that a request breaks; a rule without such limits costs nothing.

    Raises:
        UnreadableBody: the body cannot be searched and may not pass.
    """
    if not rule.blocked_patterns and not rule.allowed_tools:
        return None
    texts = BodyTexts(path, body, content_type)
    pattern = _hit((each.text for each in texts), rule.blocked_patterns)
    if pattern is not None:
        return BrokenLimit(pattern=pattern)
    allowed = rule.allowed_tools
    tool = next((name for name in texts.tools if allowed and name not in allowed), None)
    return None if tool is None else BrokenLimit(tool=tool)


def check_pattern(pattern: str, field: str) -> None:
    """
    Raises:
        FieldError: RE2 cannot take the pattern, so it could not be searched in linear time.
    """
    try:
        linear_pattern(pattern)
    except FieldError as refused:
        raise FieldError(field, refused.value, refused.accepted) from None


def _hit(texts: Iterable[str], patterns: Sequence[str]) -> int | None:
    compiled = [_compiled(pattern) for pattern in patterns]
    for text in texts:
        for index, pattern in enumerate(compiled):
            if pattern.search(text):
                return index
    return None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> "re2._Regexp":
    return linear_pattern(pattern)
