"""What an event of any API tells of: whose text it carries on, and what ends with it."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from proa.guard.json_text import JsonPlace, Path

TrackName: TypeAlias = tuple[object, ...]
"""First the choice, then the field with the indices of what it belongs to."""

_OLLAMA = frozenset((("message", "content"), ("message", "thinking"), ("response",), ("thinking",)))
_FLAT = frozenset((("content",), ("text_output",), ("token", "text"), ("delta",)))
_IDLE_TYPES = frozenset(("ping", "response.in_progress", "response.queued"))


class EventFacts(msgspec.Struct, gc=False, kw_only=True):
    """`lanes`: the choices that the event tells of, `finished`: those that it ends.

    `is_border`: all text so far stands before it. `is_idle`: a heartbeat, it may overtake.
    `name`: of the track that a string of the event carries on, None for a text of its own.
    `is_json`: that track is a JSON document. `grows`: its text repeats what came before.
    """

    name: Callable[[JsonPlace], TrackName | None]
    lanes: frozenset[int] = frozenset((0,))
    finished: frozenset[int] = frozenset()
    is_border: bool = False
    is_idle: bool = False
    is_json: bool = False
    grows: bool = False


def facts_of(event: object) -> EventFacts:
    """The facts of a decoded event; of what is not known, every string is a text of its own."""
    if not isinstance(event, dict):
        return EventFacts(name=_none, is_border=True)
    choices = event.get("choices")
    if isinstance(choices, list) and choices:
        return _of_choices(choices)
    type_ = event.get("type")
    if isinstance(type_, str) and "choices" not in event:
        return _of_typed(event, type_)
    return _of_flat(event)


def _of_choices(choices: list[Any]) -> EventFacts:
    told = [choice if isinstance(choice, dict) else {} for choice in choices]
    lanes = [_index(choice, spot) for spot, choice in enumerate(told)]
    ends = [lane for lane, choice in zip(lanes, told, strict=True) if choice.get("finish_reason")]

    def name(place: JsonPlace) -> TrackName | None:
        path, spots = place.path, place.spots
        if path[:2] != ("choices", "[]") or path[2:3] not in (("delta",), ("text",)):
            return None
        inner: tuple[object, ...] = spots[1:]
        if path[3:5] == ("tool_calls", "[]"):
            call = told[spots[0]]["delta"]["tool_calls"][spots[1]]
            inner = (_index(call, spots[1]), *spots[2:])
        return lanes[spots[0]], path, inner

    return EventFacts(name=name, lanes=frozenset(lanes), finished=frozenset(ends))


def _of_typed(event: Mapping[str, Any], type_: str) -> EventFacts:
    """Events of the Anthropic and of the Responses API."""
    if type_ in _IDLE_TYPES:
        return EventFacts(name=_none, is_idle=type_ == "ping", is_border=type_ != "ping")
    if type_ == "content_block_delta":
        index = event.get("index")
        return EventFacts(name=_named(lambda path: path[0] == "delta", index))
    if type_.endswith(".delta") and "audio.delta" not in type_:
        place = (type_, *(event.get(key) for key in _RESPONSE_PLACE))
        is_json = "arguments" in type_ or "tool_call_input" in type_
        return EventFacts(name=_named(lambda path: path == ("delta",), place), is_json=is_json)
    return EventFacts(name=_none, is_border=True)


_RESPONSE_PLACE = ("item_id", "output_index", "content_index", "summary_index")


def _of_flat(event: Mapping[str, Any]) -> EventFacts:
    """Ollama's lines, and the events of engines' own APIs."""
    known = _OLLAMA if "done" in event else _FLAT
    is_end = bool(event.get("done") or event.get("stop") or event.get("generated_text"))
    has_text = any(path[0] in event for path in known)
    return EventFacts(
        name=_named(known.__contains__, None),
        finished=frozenset((0,)) if is_end else frozenset(),
        is_border=not has_text,
        grows="text" in event and "output_ids" in event and not _is_finished(event),
    )


def _is_finished(event: Mapping[str, Any]) -> bool:
    meta = event.get("meta_info")
    return isinstance(meta, dict) and bool(meta.get("finish_reason"))


def _named(holds: Callable[[Path], bool], place: object) -> Callable[[JsonPlace], TrackName | None]:
    def name(of: JsonPlace) -> TrackName | None:
        return (0, of.path, place, of.spots) if of.path and holds(of.path) else None

    return name


def _none(place: JsonPlace) -> TrackName | None:
    return None


def _index(of: object, default: int) -> int:
    index = of.get("index") if isinstance(of, dict) else None
    return index if isinstance(index, int) else default
