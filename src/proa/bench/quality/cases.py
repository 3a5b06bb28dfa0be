"""Questions with what is right: JSON lines of one's own, each checked before anything is asked.

{"id": "sum-1", "group": "sums", "prompt": "17 + 25 = ?", "number": 42, "max_tokens": 16}
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from proa.bench.quality.checks import Check, checked
from proa.errors import FieldError

_ACCEPTED = 'JSON with "prompt" or "messages", and exact, contains, regex or number (or none)'
_MAX_TOKENS = 128


class QualityCase(msgspec.Struct, frozen=True, kw_only=True):
    """One question; `group` is what it is counted with."""

    id: str
    messages: list[dict[str, Any]]
    check: Check = Check()
    group: str = ""
    max_tokens: int = _MAX_TOKENS


class _Row(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    id: str | int | None = None
    group: str = ""
    prompt: str | None = None
    messages: list[dict[str, Any]] | None = None
    max_tokens: int = _MAX_TOKENS
    exact: str | None = None
    contains: str | None = None
    regex: str | None = None
    number: float | None = None
    tolerance: float = 0.0


def read_cases(data: bytes, *, name: str) -> list[QualityCase]:
    """All rows of a file.

    Raises:
        FieldError: a row of another form, an id twice, or no row.
    """
    cases: dict[str, QualityCase] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            case = _case(f"{name}:{number}", line, number)
            if case.id in cases:
                raise FieldError(f"{name}:{number}", case.id, "an id that no row before it has")
            cases[case.id] = case
    if not cases:
        raise FieldError(name, "", f"at least one row of {_ACCEPTED}")
    return list(cases.values())


def _case(where: str, line: bytes, number: int) -> QualityCase:
    try:
        row = msgspec.json.decode(line, type=_Row)
    except (msgspec.MsgspecError, RecursionError) as error:
        shown = line[:80].decode("utf-8", "replace")
        raise FieldError(where, shown, f"{_ACCEPTED} ({error})") from None
    messages = row.messages
    if messages is None and row.prompt is not None:
        messages = [{"role": "user", "content": row.prompt}]
    if not messages or (row.prompt is not None and row.messages is not None):
        raise FieldError(where, line[:80].decode("utf-8", "replace"), _ACCEPTED)
    if row.max_tokens < 1:
        raise FieldError(f"{where}.max_tokens", row.max_tokens, "1 or more")
    check = Check(
        exact=row.exact, contains=row.contains, regex=row.regex, number=row.number,
        tolerance=row.tolerance,
    )  # fmt: skip
    return QualityCase(
        id=str(number if row.id is None else row.id),
        messages=messages,
        check=checked(check, where),
        group=row.group,
        max_tokens=row.max_tokens,
    )


def case_lines(cases: Sequence[QualityCase]) -> bytes:
    """The cases as such a file."""
    return b"".join(msgspec.json.encode(_fields(case)) + b"\n" for case in cases)


def _fields(case: QualityCase) -> dict[str, Any]:
    check: dict[str, Any] = msgspec.to_builtins(case.check)
    fields = {"id": case.id, "group": case.group, "messages": case.messages}
    return fields | {"max_tokens": case.max_tokens} | check
