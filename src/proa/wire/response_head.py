"""Heads and chunks that the gateway writes to clients."""

from http import HTTPStatus

_REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}
STATUS_LINES = [
    b"HTTP/1.1 %d %b\r\n" % (code, _REASONS.get(code, b"Unknown")) for code in range(1000)
]  # fmt: skip
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n"
CLOSE = b"connection: close\r\n"
KEEP_ALIVE_10 = b"connection: keep-alive\r\n"
LAST_CHUNK = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """`data`, which is not empty, as one chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)
