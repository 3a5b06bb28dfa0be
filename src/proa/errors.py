"""The one error tree, cut by whose fault it is, and the one table to API errors and exit codes."""

from typing import ClassVar, NamedTuple


class ProaError(Exception):
    """Base of every error that proa raises on purpose; the message is for a person."""

    exit_code: ClassVar[int] = 1


class OwnFault(ProaError):
    """proa itself failed: a broken promise between its parts, a lost worker."""


class InputError(ProaError):
    """What the user gave is wrong, and only the user can mend it."""

    exit_code = 2


class ConfigError(InputError):
    """A setting that cannot be used.

    `key` is dotted as in the file, with an index into lists
    (`engines[1].url`); `value` is printed, so never give it a secret.
    """

    def __init__(self, file: str, key: str, value: object, accepted: str) -> None:
        super().__init__(f"{file}: {key} = {value!r}: accepted is {accepted}")
        self.file = file
        self.key = key
        self.value = value
        self.accepted = accepted


class FieldError(InputError):
    """A number or a name of a plan that cannot be used; `field` as in a scenario file."""

    def __init__(self, field: str, value: object, accepted: str) -> None:
        super().__init__(f"{field} = {value!r}: accepted is {accepted}")
        self.field = field
        self.value = value
        self.accepted = accepted


class UpstreamError(ProaError):
    """An engine, or another program that proa talks to, failed."""

    exit_code = 3


class PromiseError(ProaError):
    """Everything ran, but what was promised was not met."""

    exit_code = 4


class ApiError(NamedTuple):
    """How one status is told to clients of the OpenAI and of the Anthropic API."""

    status: int
    type: str
    code: str
    anthropic_type: str


_INVALID = "invalid_request_error"

API_ERRORS: dict[int, ApiError] = {
    error.status: error
    for error in (
        ApiError(400, _INVALID, "bad_request", _INVALID),
        ApiError(401, "authentication_error", "invalid_api_key", "authentication_error"),
        ApiError(403, "permission_error", "forbidden", "permission_error"),
        ApiError(404, "not_found_error", "model_not_found", "not_found_error"),
        ApiError(405, _INVALID, "method_not_allowed", _INVALID),
        ApiError(408, "timeout_error", "request_timeout", "timeout_error"),
        ApiError(413, _INVALID, "request_too_large", "request_too_large"),
        ApiError(414, _INVALID, "uri_too_long", _INVALID),
        ApiError(415, _INVALID, "unsupported_media_type", _INVALID),
        ApiError(417, _INVALID, "expectation_failed", _INVALID),
        ApiError(429, "rate_limit_error", "rate_limit_exceeded", "rate_limit_error"),
        ApiError(431, _INVALID, "header_fields_too_large", _INVALID),
        ApiError(500, "api_error", "internal_error", "api_error"),
        ApiError(501, "api_error", "not_implemented", "api_error"),
        ApiError(502, "api_error", "upstream_error", "api_error"),
        ApiError(503, "overloaded_error", "service_unavailable", "overloaded_error"),
        ApiError(504, "timeout_error", "upstream_timeout", "timeout_error"),
        ApiError(505, _INVALID, "http_version_not_supported", _INVALID),
        ApiError(508, "api_error", "loop_detected", "api_error"),
    )
}


def api_error(status: int) -> ApiError:
    """The table's row, or for a status outside it the row of its class (400 or 500)."""
    return API_ERRORS.get(status) or API_ERRORS[400 if 400 <= status < 500 else 500]


def openai_error_body(status: int, message: str, code: str | None = None) -> bytes:
    """`{"error": {"message", "type", "param", "code"}}`; `code` replaces the table's."""
    row = api_error(status)
    error = {"message": message, "type": row.type, "param": None, "code": code or row.code}
    return _json({"error": error})


def anthropic_error_body(status: int, message: str) -> bytes:
    """`{"type": "error", "error": {"type", "message"}}`, as `/v1/messages` answers."""
    error = {"type": api_error(status).anthropic_type, "message": message}
    return _json({"type": "error", "error": error})


def ollama_error_body(message: str) -> bytes:
    """`{"error": message}`, as `/api/*` answers."""
    return _json({"error": message})


def _json(value: object) -> bytes:
    import msgspec  # here: `proa --help` needs the error tree and not this

    return msgspec.json.encode(value)
