"""One's own prompts: JSON lines of messages, or ShareGPT's form (lines, or one JSON list)."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from proa.errors import FieldError

_ROLES = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant",
          "system": "system", "chatgpt": "assistant", "bing": "assistant"}  # fmt: skip
_ACCEPTED = (
    '{"messages": [{"role", "content"}, …]}, {"prompt": "…"} or ShareGPT\'s {"conversations": […]}'
)
_LIMITS = ("output_tokens", "max_tokens", "max_completion_tokens")


class DatasetRow(msgspec.Struct, frozen=True):
    """The messages to send, the last from the user; `output_tokens` None takes the run's."""

    messages: list[dict[str, Any]]
    output_tokens: int | None = None


def read_dataset(data: bytes, *, name: str) -> list[DatasetRow]:
    """All rows of a file.

    Raises:
        FieldError: a row of another form, or none.
    """
    rows = [_row(where, fields) for where, fields in _objects(data, name)]
    if not rows:
        raise FieldError(name, "", f"at least one row of {_ACCEPTED}")
    return rows


def _objects(data: bytes, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if data.lstrip().startswith(b"["):
        items = _decoded(name, data)
        pairs = ((f"{name}[{n}]", item) for n, item in enumerate(items))
    else:
        lines = ((n, line) for n, line in enumerate(data.splitlines(), 1) if line.strip())
        pairs = ((f"{name}:{n}", _decoded(f"{name}:{n}", line)) for n, line in lines)
    for where, item in pairs:
        if not isinstance(item, dict):
            raise FieldError(where, str(item)[:80], _ACCEPTED)
        yield where, item


def _decoded(where: str, data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        raise FieldError(where, data[:80].decode("utf-8", "replace"), _ACCEPTED) from None


def _row(where: str, fields: Mapping[str, Any]) -> DatasetRow:
    messages = fields.get("messages")
    if messages is None and isinstance(fields.get("prompt"), str):
        messages = [{"role": "user", "content": fields["prompt"]}]
    elif messages is None and isinstance(fields.get("conversations"), list):
        messages = _conversation(fields["conversations"])
    fits = isinstance(messages, list) and all(
        isinstance(m, dict) and isinstance(m.get("role"), str) for m in messages
    )
    if not fits or not messages:
        raise FieldError(where, str(dict(fields))[:80], _ACCEPTED)
    limit = next((fields[n] for n in _LIMITS if isinstance(fields.get(n), int)), None)
    return DatasetRow(messages, limit)


def _conversation(turns: list[Any]) -> list[dict[str, Any]] | None:
    """The turns up to the last one of the user, which is what the engine is asked."""
    messages = []
    for turn in turns:
        role = _ROLES.get(str(turn.get("from"))) if isinstance(turn, dict) else None
        if role is None:
            return None
        messages.append({"role": role, "content": str(turn.get("value", ""))})
    while messages and messages[-1]["role"] != "user":
        messages.pop()
    return messages
