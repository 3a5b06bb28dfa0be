"""Chat answers as vLLM-like engines write them, for scripted replies."""

from collections.abc import Sequence

JsonObject = dict[str, object]


def usage(prompt_tokens: int = 11, completion_tokens: int = 3) -> JsonObject:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def chat_completion(text: str = "Hello from a script.", *, model: str = "scripted") -> JsonObject:
    """A whole answer to `/v1/chat/completions`."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return _object("chat.completion", model, [choice]) | {"usage": usage()}


def chat_events(
    pieces: Sequence[str] = ("Hello", " from", " a script."),
    *,
    model: str = "scripted",
    with_usage: bool = True,
) -> list[JsonObject]:
    """The events of a streamed answer, `[DONE]` excluded: role, pieces, finish, usage."""
    deltas: list[JsonObject] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in pieces]
    events = [_chunk(model, delta, None) for delta in deltas]
    events.append(_chunk(model, {}, "stop"))
    if with_usage:
        events.append(_object("chat.completion.chunk", model, []) | {"usage": usage()})
    return events


def error_event(code: int = 503, message: str = "The queue is full.") -> JsonObject:
    """What vLLM sends as first event of a 200 stream when it refuses the request."""
    return {"error": {"message": message, "type": "Service Unavailable", "code": code}}


def _chunk(model: str, delta: JsonObject, finish_reason: str | None) -> JsonObject:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return _object("chat.completion.chunk", model, [choice])


def _object(kind: str, model: str, choices: list[JsonObject]) -> JsonObject:
    return {
        "id": "chatcmpl-scripted",
        "object": kind,
        "created": 1_700_000_000,
        "model": model,
        "choices": choices,
    }
