"""Attacks that are bytes of one connection: what is sent, and the status that answers it.

What `tests/wire/test_request_head.py` and `tests/gateway/test_protocol.py` refuse, one
malformed head each, is not repeated: here two readers could disagree on where a request ends.
"""

from typing import NamedTuple

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n"
POST = b"POST /v1/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer user\r\n"
CHUNKED = POST + b"transfer-encoding: chunked\r\n"
CL = b"content-length: 4\r\n"
END = b"\r\n"


class Attack(NamedTuple):
    """`kind` is a row of the list in SECURITY.md."""

    kind: str
    data: bytes
    status: int = 400


def _coding(*lines: bytes) -> bytes:
    return POST + CL + b"".join(line + b"\r\n" for line in lines) + END + b"0\r\n\r\n" + SMUGGLED


def _length(value: bytes) -> bytes:
    return POST + b"content-length: " + value + b"\r\n\r\nabcde" + SMUGGLED


def _chunk(size_line: bytes) -> bytes:
    return CHUNKED + END + size_line + b"\r\nabcde\r\n0\r\n\r\n" + SMUGGLED


CL_TE = "CL.TE and TE.CL"
TE_TE = "TE.TE: a hidden or doubled Transfer-Encoding"
FOLDS = "Folded lines, bare LF and bare CR"
LENGTHS = "Lengths that are doubled, signed, or no numbers"
CHUNKS = "Sizes and ends of chunks that two readers take differently"
EXTENSIONS = "Line ends and controls in chunk extensions and trailers"

ATTACKS = {
    "CL.TE": Attack(CL_TE, _coding(b"transfer-encoding: chunked")),
    "TE.CL": Attack(
        CL_TE, POST + b"transfer-encoding: chunked\r\n" + CL + END + b"26\r\n" + SMUGGLED
    ),
    "CL.TE, length 0": Attack(
        CL_TE, CHUNKED + b"content-length: 0\r\n\r\n5\r\nabcde\r\n0\r\n\r\n" + SMUGGLED
    ),
    "TE in HTTP/1.0": Attack(
        CL_TE, CHUNKED.replace(b"1.1\r", b"1.0\r", 1) + END + b"0\r\n\r\n" + SMUGGLED
    ),
    "xchunked": Attack(TE_TE, _coding(b"transfer-encoding: xchunked")),
    "a space before the colon": Attack(TE_TE, _coding(b"transfer-encoding : chunked")),
    "a tab before the colon": Attack(TE_TE, _coding(b"transfer-encoding\t: chunked")),
    "a vertical tab": Attack(TE_TE, _coding(b"transfer-encoding: \x0bchunked")),
    "a vertical tab in the name": Attack(TE_TE, _coding(b"transfer-encoding\x0b: chunked")),
    "quotes": Attack(TE_TE, _coding(b'transfer-encoding: "chunked"')),
    "a parameter": Attack(TE_TE, _coding(b"transfer-encoding: chunked;q=1")),
    "chunked, identity": Attack(TE_TE, _coding(b"transfer-encoding: chunked, identity")),
    "identity, chunked": Attack(TE_TE, _coding(b"transfer-encoding: identity, chunked"), 400),
    "two lines": Attack(TE_TE, _coding(b"transfer-encoding: chunked", b"transfer-encoding: cow")),
    "two lines, turned": Attack(
        TE_TE, _coding(b"transfer-encoding: cow", b"Transfer-Encoding: chunked")
    ),
    "chunked without a length, cow first": Attack(
        TE_TE,
        POST + b"transfer-encoding: cow, chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
        501,
    ),
    "an empty member": Attack(
        TE_TE, POST + b"transfer-encoding: , chunked\r\n\r\n0\r\n\r\n" + SMUGGLED, 501
    ),
    "a NUL in the value": Attack(TE_TE, _coding(b"transfer-encoding: chunked\0")),
    "a fold before the coding": Attack(FOLDS, _coding(b"transfer-encoding:\r\n chunked")),
    "a folded field": Attack(FOLDS, _coding(b"x: a\r\n\ttransfer-encoding: chunked")),
    "LF before the coding": Attack(FOLDS, _coding(b"x: a\ntransfer-encoding: chunked")),
    "CR before the coding": Attack(FOLDS, _coding(b"x: a\rtransfer-encoding: chunked")),
    "LF LF ends the head": Attack(FOLDS, POST + b"content-length: 5\n\nabcde" + SMUGGLED),
    "LF CR LF ends the head": Attack(FOLDS, POST + b"x: a\n\r\n" + SMUGGLED),
    "LF after a size": Attack(FOLDS, CHUNKED + END + b"5\nabcde\r\n0\r\n\r\n" + SMUGGLED),
    "LF after a chunk": Attack(FOLDS, CHUNKED + END + b"5\r\nabcde\n0\r\n\r\n" + SMUGGLED),
    "LF after the last chunk": Attack(FOLDS, CHUNKED + END + b"0\n\n" + SMUGGLED),
    "CR after a size": Attack(FOLDS, CHUNKED + END + b"5\rabcde\r\n0\r\n\r\n" + SMUGGLED),
    "equal lengths": Attack(LENGTHS, POST + b"content-length: 5\r\n" * 2 + END + b"abcde"),
    "differing lengths": Attack(
        LENGTHS, POST + b"content-length: 0\r\ncontent-length: 35\r\n\r\n" + SMUGGLED
    ),
    "a list of lengths": Attack(LENGTHS, _length(b"5, 5")),
    "+5": Attack(LENGTHS, _length(b"+5")),
    "-5": Attack(LENGTHS, _length(b"-5")),
    "5 5": Attack(LENGTHS, _length(b"5 5")),
    "0x5": Attack(LENGTHS, _length(b"0x5")),
    "5_0": Attack(LENGTHS, _length(b"5_0")),
    "5.0": Attack(LENGTHS, _length(b"5.0")),
    "5e0": Attack(LENGTHS, _length(b"5e0")),
    "a full-width digit": Attack(LENGTHS, _length("\uff15".encode())),
    "beyond 64 bits": Attack(LENGTHS, _length(b"18446744073709551621")),
    "5000 digits": Attack(LENGTHS, _length(b"0" * 5000 + b"5")),
    "17 digits": Attack(CHUNKS, _chunk(b"00000000000000005")),
    "beyond 64 bits in a chunk": Attack(CHUNKS, _chunk(b"10000000000000005")),
    "-1": Attack(CHUNKS, _chunk(b"-1")),
    "+5 in a chunk": Attack(CHUNKS, _chunk(b"+5")),
    "0x5 in a chunk": Attack(CHUNKS, _chunk(b"0x5")),
    "5_": Attack(CHUNKS, _chunk(b"5_")),
    "a space before the size": Attack(CHUNKS, _chunk(b" 5")),
    "a space after the size": Attack(CHUNKS, _chunk(b"5 ")),
    "no size": Attack(CHUNKS, _chunk(b"")),
    "a full-width size": Attack(CHUNKS, _chunk("\uff15".encode())),
    "a chunk longer than its size": Attack(CHUNKS, _chunk(b"4")),
    "a chunk shorter than its size": Attack(CHUNKS, _chunk(b"6")),
    "LF in an extension": Attack(EXTENSIONS, _chunk(b"5;a\nb")),
    "CR in an extension": Attack(EXTENSIONS, _chunk(b"5;a=\rb")),
    "NUL in an extension": Attack(EXTENSIONS, _chunk(b"5;a=\0")),
    "an open quote in an extension": Attack(EXTENSIONS, _chunk(b'5;a="')),
    "an extension of 5000 bytes": Attack(EXTENSIONS, _chunk(b"5;" + b"a" * 5000)),
    "LF in a trailer": Attack(EXTENSIONS, CHUNKED + END + b"0\r\nx: a\ny: b\r\n\r\n"),
    "a folded trailer": Attack(EXTENSIONS, CHUNKED + END + b"0\r\nx: a\r\n b\r\n\r\n"),
    "a trailer without name": Attack(EXTENSIONS, CHUNKED + END + b"0\r\n: a\r\n\r\n"),
}
