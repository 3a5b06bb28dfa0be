"""A head that comes back: the same bytes, but for the digits of its one Content-Length."""

_LENGTH_LINE = b"\r\ncontent-length: "
_DIGITS_MAX = 15
NEVER = b"\0"  # which no head begins with


class KnownHead:
    """The base of what is remembered of a connection's or an engine's last head.

    Only heads whose Content-Length stands alone on a line of its own are kept, as
    the bytes `before` its digits and `after` them, the empty line included.
    """

    __slots__ = ("_after_bytes", "_before_bytes", "after", "before")

    def __init__(self) -> None:
        self.before = NEVER
        self.after = b""
        self._before_bytes = self._after_bytes = 0

    def keep(self, head: bytes) -> bool:
        """Take a head that was read and found right; false where it can't be known again."""
        at = head.lower().find(_LENGTH_LINE) + len(_LENGTH_LINE)
        end = head.find(b"\r", at)
        if at < len(_LENGTH_LINE) or not head[at:end].isdigit():
            return False
        self.before, self.after = head[:at], head[end:]
        self._before_bytes, self._after_bytes = at, len(head) - end
        return True

    def whole_body(self, data: bytes) -> bytes | None:
        """The body of a message that is all in `data`, with nothing after it, under this head."""
        if not data.startswith(self.before):
            return None
        start = self._before_bytes
        end = data.find(b"\r", start, start + _DIGITS_MAX)
        if end < 0 or not data.startswith(self.after, end):
            return None
        body = data[end + self._after_bytes :]
        return body if data[start:end] == b"%d" % len(body) else None

    def length(self, data: bytes) -> tuple[int, int] | None:
        """Where the head at the beginning of `data` ends, and its Content-Length."""
        if not data.startswith(self.before):
            return None
        end = data.find(b"\r", self._before_bytes)
        digits = data[self._before_bytes : end]
        if not digits.isdigit() or len(digits) > _DIGITS_MAX:
            return None
        if not data.startswith(self.after, end):
            return None
        return end + self._after_bytes, int(digits)
