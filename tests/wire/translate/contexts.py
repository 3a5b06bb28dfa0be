"""A context for translations, and streams cut in every way."""

import json
from collections.abc import Callable
from typing import Any

from proa.domain.dialect import ChatTemplate, TritonFields
from proa.wire.sse import event_data, split_events
from proa.wire.translate.base import Context, Translation

CHATML = ChatTemplate(
    system="<S>{content}</S>",
    user="<U>{content}</U>",
    assistant="<A>{content}</A>",
    generation="<A>",
)


def context(**given: Any) -> Context:
    values: dict[str, Any] = {
        "answer_id": "r1",
        "created_s": 1_700_000_000,
        "count_tokens": lambda text: len(text.split()),
        "input_tokens": 7,
        "template": CHATML,
        "triton": TritonFields(),
    }
    return Context(**values | given)


def body(**fields: Any) -> bytes:
    return json.dumps(fields, ensure_ascii=False).encode()


def chat(*contents: str, **fields: Any) -> bytes:
    """A chat of user messages, `fields` beside it."""
    messages = [{"role": "user", "content": content} for content in contents or ("hi",)]
    return body(**{"model": "m", "messages": messages} | fields)


def fed(translation: Translation, *parts: bytes) -> bytes:
    """All that a client gets for a stream that arrives in these parts."""
    return b"".join([*map(translation.feed, parts), translation.finish()])


def events(stream: bytes) -> list[Any]:
    """The data of all events, decoded; the mark of the end as it is."""
    found = [event_data(event) for event, _ in split_events(stream)]
    return [data.decode() if data == b"[DONE]" else json.loads(data) for data in found if data]


def same_however_cut(make: Callable[[], Translation], stream: bytes) -> bytes:
    """What the whole stream gives, having checked that each cut and single bytes give it too."""
    whole = fed(make(), stream)
    for at in range(len(stream) + 1):
        assert fed(make(), stream[:at], stream[at:]) == whole, at
    assert fed(make(), *(stream[i : i + 1] for i in range(len(stream)))) == whole
    return whole
