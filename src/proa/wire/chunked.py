"""Chunked bodies: a decoder that stops at the exact end of the message, and a look at one chunk.

llhttp reads chunks too, but does not say where a message ended inside a read, and
pipelined bytes that follow must not be lost. This one is strict (RFC 9112 section 7.1):
CRLF only, at most 16 hexadecimal digits, extensions and trailers bounded and dropped.
"""

import re

from proa.wire.refusal import ProtocolRefusal

_LINE_MAX = 4096
_TRAILERS_MAX = 16_384
_HEX = frozenset(b"0123456789abcdefABCDEF")
_NAME = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_ONE = _NAME + rb"(?:=(?:" + _NAME + rb'|"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"))?'
_EXTENSION = re.compile(_ONE + rb"(?:;" + _ONE + rb")*")  # what follows the first semicolon
_FIELD = re.compile(_NAME + rb":[\t -~\x80-\xff]*")


def sole_chunk_size(data: bytes) -> int:
    """The size of the chunk, if `data` is exactly one without leading zeros or extensions; else 0.

    Made for event streams, whose engines write a chunk for each event: from 4 KiB on
    the answer is always 0.
    """
    size, line = _SOLE.get(len(data)) or _sole(len(data))
    if not data.startswith(line) and data[: len(line)].lower() != line:
        return 0
    return size if data.endswith(b"\r\n") else 0


def _sole(length: int) -> tuple[int, bytes]:
    """The size of a sole chunk of this length, its framing included, and the line before it."""
    for digits in (1, 2, 3):
        size = length - digits - 4
        line = b"%x\r\n" % size
        if size > 0 and len(line) == digits + 2:
            return _SOLE.setdefault(length, (size, line))
    return 0, b""


_SOLE: dict[int, tuple[int, bytes]] = {}


class ChunkedDecoder:
    """Feed it bytes until `complete`; what follows the message is in `rest`.

    `left` is what the present chunk still lacks.
    """

    __slots__ = ("_pending", "_state", "_trailer_bytes", "complete", "left", "rest")

    def __init__(self) -> None:
        self._pending = b""
        self.left = 0
        self._state = _SIZE
        self._trailer_bytes = 0
        self.complete = False
        self.rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The pieces of the body in `data`.

        Raises:
            ProtocolRefusal: 400 on broken framing.
        """
        pieces: list[bytes] = []
        if self._pending:
            data, self._pending = self._pending + data, b""
        at, size = 0, len(data)
        while not self.complete:
            if self._state == _DATA:
                piece = data[at : at + self.left]
                if piece:
                    pieces.append(piece)
                at += len(piece)
                self.left -= len(piece)
                if self.left:
                    return pieces
                self._state = _DATA_END
            end = data.find(b"\r\n", at)
            if end < 0:
                self._hold(data[at:])
                return pieces
            self._line(data[at:end])
            at = end + 2
        self.rest = data[at:size]
        return pieces

    def _hold(self, tail: bytes) -> None:
        if self._state == _TRAILER:
            if self._trailer_bytes + len(tail) > _TRAILERS_MAX:
                raise ProtocolRefusal(431, f"trailers larger than {_TRAILERS_MAX} bytes")
        elif len(tail) > (1 if self._state == _DATA_END else _LINE_MAX):
            raise ProtocolRefusal(400, "malformed chunked body: line too long or CRLF missing")
        if b"\n" in tail:
            raise ProtocolRefusal(400, "malformed chunked body: bare LF")
        self._pending = tail

    def _line(self, line: bytes) -> None:
        if self._state == _DATA_END:
            if line:
                raise ProtocolRefusal(400, "malformed chunked body: no CRLF after the chunk")
            self._state = _SIZE
        elif self._state == _SIZE:
            self.left = _chunk_size(line)
            self._state = _DATA if self.left else _TRAILER
        else:
            self._trailer_bytes += len(line) + 2
            if self._trailer_bytes > _TRAILERS_MAX:
                raise ProtocolRefusal(431, f"trailers larger than {_TRAILERS_MAX} bytes")
            if line and not _FIELD.fullmatch(line):
                raise ProtocolRefusal(400, "malformed trailer")
            self.complete = not line


_SIZE, _DATA, _DATA_END, _TRAILER = range(4)


def _chunk_size(line: bytes) -> int:
    digits, mark, extension = line.partition(b";")
    if not digits or len(digits) > 16 or not _HEX.issuperset(digits):
        raise ProtocolRefusal(400, "malformed chunk size")
    if mark and (len(line) > _LINE_MAX or not _EXTENSION.fullmatch(extension)):
        raise ProtocolRefusal(400, "malformed chunk extension")
    return int(digits, 16)
