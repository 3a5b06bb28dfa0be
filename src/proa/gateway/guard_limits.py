"""How many tokens a guarded request may bring and ask for, and which engines may have it."""

from collections.abc import Sequence

import msgspec

from proa.guard.policy import GuardRule
from proa.routing.decision import Refusal, RouteMatch

_OLLAMA = "num_predict"
_LIMITS: dict[str, tuple[str, tuple[str, ...]]] = {
    "/v1/chat/completions": ("max_tokens", ("max_tokens", "max_completion_tokens")),
    "/v1/completions": ("max_tokens", ("max_tokens",)),
    "/v1/messages": ("max_tokens", ("max_tokens",)),
    "/v1/responses": ("max_output_tokens", ("max_output_tokens",)),
    "/api/chat": (_OLLAMA, ()),
    "/api/generate": (_OLLAMA, ()),
}
"""Of each path that generates: the field that is set where no limit was asked for, and all that
are read. Ollama has it among its options."""

_loose = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_whole_number = msgspec.json.Decoder(int | None).decode
_encode = msgspec.json.encode


def too_long(rule: GuardRule, input_tokens: int | None) -> Refusal | None:
    """Above `max_input_tokens`; the number is None where a body has no prompt."""
    limit = rule.max_input_tokens
    if not limit or input_tokens is None or input_tokens <= limit:
        return None
    told = f"the prompt has about {input_tokens} tokens, allowed are {limit} (input_too_long)"
    return Refusal(400, "input_too_long", told)


def limited(path: str, body: bytes, limit: int) -> bytes | Refusal:
    """The body with a limit on the answer's tokens: the client's, or ours where it has none.

    A limit above ours, or one that is no whole number, is refused.
    """
    if path.startswith("/v2/models/"):
        return _refused(f"on this path no limit of {limit} output tokens can be set")
    known = _LIMITS.get(path)
    if known is None:
        return body
    ours, theirs = known
    try:
        fields = _loose(body)
        if ours == _OLLAMA:
            return _with_option(body, fields, limit)
        asked = [_whole_number(fields[name]) for name in theirs if name in fields]
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return _refused(f"the limit on output tokens cannot be read, allowed is up to {limit}")
    given = [value for value in asked if value is not None]
    if any(not 0 <= value <= limit for value in given):
        return _refused(f"{max(given)} output tokens are asked for, allowed are {limit}")
    if given:
        return body
    if ours in fields:  # null
        return _replaced(fields, ours, limit)
    return _first(body, ours, limit)


def _with_option(body: bytes, fields: dict[str, msgspec.Raw], limit: int) -> bytes | Refusal:
    raw = fields.get("options")
    options = {} if raw is None or bytes(raw) == b"null" else _loose(raw)
    asked = _whole_number(options[_OLLAMA]) if _OLLAMA in options else None
    if asked is not None and asked > limit:
        return _refused(f"{asked} output tokens are asked for, allowed are {limit}")
    if asked is not None and asked >= 0:
        return body
    options[_OLLAMA] = msgspec.Raw(_encode(limit))
    fields["options"] = msgspec.Raw(_encode(options))
    return _encode(fields)


def _replaced(fields: dict[str, msgspec.Raw], name: str, limit: int) -> bytes:
    return _encode(fields | {name: msgspec.Raw(_encode(limit))})


def _first(body: bytes, name: str, limit: int) -> bytes:
    """The field before all others: nothing else of the body changes."""
    start = body.index(b"{") + 1
    comma = b"" if body[start:].lstrip()[:1] == b"}" else b","
    return b'%b"%b":%d%b%b' % (body[:start], name.encode(), limit, comma, body[start:])


def _refused(told: str) -> Refusal:
    return Refusal(400, "output_limit", f"{told} (output_limit)")


def kept(match: RouteMatch, names: Sequence[str]) -> RouteMatch | Refusal:
    """The match with the engines of these names only, its fallback's if it has none of them."""
    pool = tuple(i for i in match.pool if match.choices[i].engine in names)
    fallback = None if match.fallback is None else kept(match.fallback, names)
    following = fallback if isinstance(fallback, RouteMatch) else None
    if not pool:
        return following or _nobody(match, names)
    preferred = tuple(i for i in match.preferred if i in pool)
    contexts = {i: match.contexts[i] for i in pool if i in match.contexts}
    return msgspec.structs.replace(
        match,
        pool=pool,
        preferred=() if len(preferred) == len(pool) else preferred,
        contexts=contexts,
        least_context_tokens=min(contexts.values(), default=None),
        fallback=following,
    )


def _nobody(match: RouteMatch, names: Sequence[str]) -> Refusal:
    told = f"personal data stays on {', '.join(names)}, of which none serves this request now"
    return Refusal(503, "pii_no_engine", f"{told} (pii_no_engine)", 1, match.waiting)
