"""What happens to a header on its way through: forward it, drop it, or read it.

Clients spell names in few ways, so the decision is looked up by the raw bytes and
learned once per spelling; the table of learned spellings is bounded.
"""

FORWARD = 0
DROP = 1
READ = 2

_LEARNED_MAX = 1024

HOP_BY_HOP = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate",
     b"proxy-authorization", b"te", b"trailer", b"transfer-encoding", b"upgrade")
)  # fmt: skip
REQUEST_READ = frozenset(
    (b"host", b"content-length", b"transfer-encoding", b"connection", b"expect", b"upgrade",
     b"authorization", b"x-api-key", b"content-encoding", b"content-type", b"origin",
     b"access-control-request-method", b"x-request-id", b"x-forwarded-for",
     b"x-forwarded-proto", b"x-forwarded-host", b"forwarded", b"via", b"x-proa-priority",
     b"x-proa-deadline-ms")
)  # fmt: skip
REQUEST_DROP = HOP_BY_HOP | {b"accept-encoding", b"http2-settings"}
RESPONSE_READ = frozenset(
    (b"content-length", b"content-type", b"transfer-encoding", b"connection", b"retry-after")
)
RESPONSE_DROP = HOP_BY_HOP | {b"x-request-id", b"x-proa-engine", b"x-proa-decision"}
_RESPONSE_DROP_PREFIX = b"access-control-"


class HeaderTable:
    """Maps raw header names to (action, lower-case name); one table per direction."""

    def __init__(
        self, read: frozenset[bytes], drop: frozenset[bytes], drop_prefix: bytes | None = None
    ) -> None:
        self._read = read
        self._drop = drop
        self._drop_prefix = drop_prefix
        self._learned: dict[bytes, tuple[int, bytes]] = {}
        self.get = self._learned.get

    def learn(self, name: bytes) -> tuple[int, bytes]:
        """The action for a name that `get` did not know."""
        lower = name.lower()
        if lower in self._read:
            action = READ
        elif lower in self._drop or (self._drop_prefix and lower.startswith(self._drop_prefix)):
            action = DROP
        else:
            action = FORWARD
        if len(self._learned) < _LEARNED_MAX and len(name) <= 64:
            self._learned[name] = (action, lower)
        return action, lower


REQUEST_HEADERS = HeaderTable(REQUEST_READ, REQUEST_DROP)
RESPONSE_HEADERS = HeaderTable(RESPONSE_READ, RESPONSE_DROP, _RESPONSE_DROP_PREFIX)


def connection_tokens(value: bytes) -> list[bytes]:
    """Lower-case members of a Connection header."""
    return [t for t in (part.strip().lower() for part in value.split(b",")) if t]


def without_named(lines: list[bytes], names: list[bytes]) -> list[bytes]:
    """Header lines less those whose name a Connection header lists (RFC 9110 section 7.6.1)."""
    unwanted = frozenset(names)
    return [line for line in lines if line[: line.index(b":")].lower() not in unwanted]
