"""What the gateway itself says: error bodies and in-band error events, in each API's form."""

import msgspec

from proa.errors import anthropic_error_body, ollama_error_body, openai_error_body
from proa.wire.surface import Api

JSON = b"content-type: application/json\r\n"


def error_body(api: Api, status: int, message: str, code: str | None = None) -> bytes:
    """The body of a refused or failed request."""
    if api is Api.ANTHROPIC:
        return anthropic_error_body(status, message)
    if api in (Api.OLLAMA, Api.TRITON):
        return ollama_error_body(message)
    return openai_error_body(status, message, code)


def engine_error_body(api: Api, status: int, body: bytes) -> bytes:
    """An engine's error body: JSON stays as it is, other text is kept as the message."""
    try:
        msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError, ValueError):
        text = body.decode("utf-8", "replace").strip()
        return error_body(api, status, text or "the engine gave no reason")
    return body


def error_event(api: Api, status: int, message: str, *, ndjson: bool) -> bytes:
    """The event that ends a stream which broke after its status was sent."""
    if ndjson:
        return ollama_error_body(message) + b"\n"
    if api is Api.ANTHROPIC:
        return b"event: error\ndata: " + anthropic_error_body(status, message) + b"\n\n"
    if api is Api.RESPONSES:
        error = msgspec.json.decode(openai_error_body(status, message))["error"]
        event = {
            "type": "error",
            "code": error["code"],
            "message": message,
            "param": None,
            "error": error,
        }
        return b"event: error\ndata: " + msgspec.json.encode(event) + b"\n\n"
    if api is Api.TRITON:
        return b"data: " + ollama_error_body(message) + b"\n\n"
    return b"data: " + openai_error_body(status, message) + b"\n\n"
