"""Cross-origin answers for browsers, when `[cors] allow_origins` names any."""

_ALLOW = (
    b"access-control-allow-methods: GET, POST, PUT, PATCH, DELETE\r\n"
    b"access-control-allow-headers: authorization, content-type, x-api-key, x-request-id, "
    b"anthropic-version, anthropic-beta, openai-organization, openai-project\r\n"
    b"access-control-max-age: 600\r\n"
)
_EXPOSE = (
    b"access-control-expose-headers: x-request-id, x-proa-engine, x-proa-decision, retry-after\r\n"
)


class Cors:
    """The configured origins; `*` allows any."""

    def __init__(self, allow_origins: tuple[str, ...]) -> None:
        self._any = "*" in allow_origins
        self._origins = frozenset(origin.encode() for origin in allow_origins)

    def allows(self, origin: bytes | None) -> bool:
        return origin is not None and (self._any or origin in self._origins)

    def answer_lines(self, origin: bytes | None) -> bytes:
        """Header lines for an ordinary answer."""
        if origin is None or not self.allows(origin):
            return b"vary: origin\r\n"
        return b"access-control-allow-origin: " + origin + b"\r\nvary: origin\r\n" + _EXPOSE

    def preflight_lines(self) -> bytes:
        """Header lines that answer a preflight, besides those of `answer_lines`."""
        return _ALLOW
