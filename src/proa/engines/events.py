"""Errors inside a response of status 200: the first or a later event of a stream.

Engines answer overload, and break, with an error object as an event. The forms:

    OpenAI, vLLM       {"error": {"message", "type", "code": 503 | "503" | "name" | null}}
    SGLang, flat       {"object": "error", "message", "code"}
    TGI                {"error": {"message", "http_status_code"}} or {"error": "", "error_type"}
    Triton, Ollama     {"error": "message"}
    Anthropic          {"type": "error", "error": {"type", "message"}}
    Responses API      {"type": "response.failed", "response": {"error": {"code", "message"}}}
                       {"type": "error", "code", "message"}
"""

import msgspec

_UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_NO_ERROR = (b"", b"null", b"{}", b'""')


class StreamError(msgspec.Struct, frozen=True):
    """An error object in a stream: the status it stands for, and its bytes as they came."""

    status: int
    message: str
    data: bytes


class _Error(msgspec.Struct):
    message: object = None
    type: object = None
    code: object = None
    http_status_code: object = None


class _Response(msgspec.Struct):
    error: msgspec.Raw = msgspec.Raw(b"")


class _Event(msgspec.Struct):
    """Only the top-level fields that can make an event an error; the rest is skipped over."""

    error: msgspec.Raw = msgspec.Raw(b"")
    object_: object = msgspec.field(default=None, name="object")
    type: object = None
    error_type: object = None
    message: object = None
    code: object = None
    response: msgspec.Raw = msgspec.Raw(b"null")


_event = msgspec.json.Decoder(_Event)
_error = msgspec.json.Decoder(_Error)
_response = msgspec.json.Decoder(_Response | None)
_text = msgspec.json.Decoder(str)

_STATUS_BY_NAME = {
    # Anthropic and OpenAI error types
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 503,
    # OpenAI error codes
    "context_length_exceeded": 400,
    "invalid_prompt": 400,
    "model_not_found": 404,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "server_is_overloaded": 503,
    "slow_down": 503,
    # vLLM and SGLang
    "badrequesterror": 400,
    "notfounderror": 404,
    "service unavailable": 503,
    "service_unavailable": 503,
    "internalservererror": 500,
    # llama.cpp
    "unavailable_error": 503,
    "exceed_context_size_error": 400,
    "not_supported_error": 501,
    # TGI
    "overloaded": 429,
    "validation": 422,
    "template_error": 422,
    "tool_error": 422,
    "generation": 424,
    "incomplete_generation": 500,
}
_STATUS_BY_TEXT = (
    ("Exceeds maximum queue size", 503),  # Triton
    ("server busy", 503),  # Ollama
)


def error_in_event(event_data: bytes) -> StreamError | None:
    """The error that an SSE event's data or an NDJSON line is, None where it is none.

    Only a top-level error counts, never the word in generated text. Cheap for other
    events: without `"error"` or `response.failed` in the bytes nothing is decoded.
    """
    if b'"error"' not in event_data and b"response.failed" not in event_data:
        return None
    try:
        return _find(_event.decode(event_data), event_data)
    except _UNREADABLE:
        return None


def _find(event: _Event, data: bytes) -> StreamError | None:
    if event.type == "response.failed":
        response = _response.decode(event.response) or _Response()
        found = _from_value(bytes(response.error), event, data)
        return found or StreamError(500, "response failed", data)
    found = _from_value(bytes(event.error), event, data)
    if found is None and "error" in (event.object_, event.type):
        return _from_object(_Error(event.message, event.type, event.code), data)
    return found


def _from_value(value: bytes, event: _Event, data: bytes) -> StreamError | None:
    """An error value of either form; null, "", {} and other values are no errors."""
    if value in _NO_ERROR or value[:1] not in (b"{", b'"'):
        return None
    if value[:1] == b"{":
        return _from_object(_error.decode(value), data)
    message = _text.decode(value)
    named = _named_status(event.error_type) or _status(event.code)
    by_text = (status for sign, status in _STATUS_BY_TEXT if sign in message)
    return StreamError(named or next(by_text, 500), message, data)


def _from_object(error: _Error, data: bytes) -> StreamError:
    numeric = _status(error.http_status_code) or _status(error.code)
    status = numeric or _named_status(error.code) or _named_status(error.type) or 500
    return StreamError(status, error.message if isinstance(error.message, str) else "", data)


def _status(code: object) -> int | None:
    """An HTTP error status given as a number or as digits."""
    if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3:
        code = int(code)
    return code if isinstance(code, int) and 400 <= code <= 599 else None


def _named_status(name: object) -> int | None:
    return _STATUS_BY_NAME.get(name.lower()) if isinstance(name, str) else None
