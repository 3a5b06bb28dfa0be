"""A head that comes back: the same bytes, but for the digits of its one Content-Length."""

_LENGTH_LINE = b"\r\ncontent-length: "
_DIGITS_MAX = 15
NEVER = b"\0"  # which no head begins with


class KnownHead:
    """The base of what is remembered of a connection's or an engine's last head.

    Only heads whose Content-Length stands alone on a line of its own are kept, as
    the bytes `before` its digits and `after` them, the empty line included.
    """

    __slots__ = ("after", "before")

    def __init__(self) -> None:
        self.before = NEVER
        self.after = b""

    def keep(self, head: bytes) -> bool:
        """Take a head that was read and found right; false where it can't be known again."""
        at = head.lower().find(_LENGTH_LINE) + len(_LENGTH_LINE)
        end = head.find(b"\r", at)
        if at < len(_LENGTH_LINE) or not head[at:end].isdigit():
            return False
        self.before, self.after = head[:at], head[end:]
        return True

    def whole_body(self, data: bytes) -> bytes | None:
        """The body of a message that is all in `data`, with nothing after it, under this head."""
        before = self.before
        if not data.startswith(before):
            return None
        start = len(before)
        end = data.find(b"\r", start, start + _DIGITS_MAX)
        after = self.after
        if end < 0 or not data.startswith(after, end):
            return None
        body = data[end + len(after) :]
        return body if data[start:end] == b"%d" % len(body) else None

    def length(self, data: bytes) -> tuple[int, int] | None:
        """Where the head at the beginning of `data` ends, and its Content-Length."""
        before, after = self.before, self.after
        if not data.startswith(before):
            return None
        end = data.find(b"\r", len(before))
        digits = data[len(before) : end]
        if not data.startswith(after, end) or not digits.isdigit() or len(digits) > _DIGITS_MAX:
            return None
        return end + len(after), int(digits)
