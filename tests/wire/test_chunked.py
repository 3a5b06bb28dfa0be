"""Chunked bodies: any cut gives the same body and the exact rest; llhttp agrees."""

from itertools import pairwise

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.wire.chunked import ChunkedDecoder, sole_chunk_size
from proa.wire.refusal import ProtocolRefusal

HEAD = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
sizes = st.sampled_from(("%x", "%X", "%04x"))
extensions = st.sampled_from((b"", b";a", b";a=b", b';a="b c"', b";a=b;c"))
pieces = st.binary(min_size=1, max_size=300)
trailers = st.lists(st.sampled_from((b"x-a: b\r\n", b"X-Sum: 0\r\n", b"x:\r\n")), max_size=3)


@st.composite
def messages(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A body and one way to send it in chunks."""
    body, sent = b"", b""
    for piece in draw(st.lists(pieces, max_size=6)):
        size = (draw(sizes) % len(piece)).encode()
        sent += size + draw(extensions) + b"\r\n" + piece + b"\r\n"
        body += piece
    return body, sent + b"0" + draw(extensions) + b"\r\n" + b"".join(draw(trailers)) + b"\r\n"


def cuts(data: bytes, at: list[int]) -> list[bytes]:
    places = [0, *sorted(place % (len(data) + 1) for place in at), len(data)]
    return [data[a:b] for a, b in pairwise(places)]


def decoded(parts: list[bytes]) -> tuple[bytes, bytes] | int | None:
    """Body and rest; the status of a refusal; None when it is not whole."""
    decoder = ChunkedDecoder()
    body = b""
    for index, part in enumerate(parts):
        try:
            body += b"".join(decoder.feed(part))
        except ProtocolRefusal as refusal:
            return refusal.status
        if decoder.complete:
            return body, decoder.rest + b"".join(parts[index + 1 :])
    return None


class Reader:
    """What llhttp makes of the first message."""

    def __init__(self) -> None:
        self.body = b""
        self.complete = False

    def on_body(self, body: bytes) -> None:
        if not self.complete:
            self.body += body

    def on_message_complete(self) -> None:
        self.complete = True


@given(messages(), st.binary(max_size=40), st.lists(st.integers(0, 5000), max_size=12))
def test_any_cut_gives_the_same_body_and_the_exact_rest(
    message: tuple[bytes, bytes], rest: bytes, at: list[int]
) -> None:
    body, sent = message
    assert decoded(cuts(sent + rest, at)) == (body, rest)


@given(messages())
def test_one_byte_at_a_time(message: tuple[bytes, bytes]) -> None:
    body, sent = message
    assert decoded([sent[i : i + 1] for i in range(len(sent))]) == (body, b"")


@given(messages())
def test_llhttp_reads_the_same(message: tuple[bytes, bytes]) -> None:
    body, sent = message
    reader = Reader()
    httptools.HttpRequestParser(reader).feed_data(HEAD + sent)
    assert (reader.body, reader.complete) == (body, True)


@given(messages(), st.data())
def test_what_is_accepted_after_damage_llhttp_accepts_too(
    message: tuple[bytes, bytes], draw: st.DataObject
) -> None:
    """And whether it is accepted does not depend on the cuts."""
    sent = message[1]
    at = draw.draw(st.integers(0, len(sent) - 1))
    damage = draw.draw(
        st.sampled_from((b"", b"\r", b"\n", b"\r\n", b"0", b"f", b"g", b" ", b"-", b"5;"))
    )
    damaged = sent[:at] + damage + sent[at + draw.draw(st.integers(0, 2)) :]
    result = decoded([damaged])
    assert decoded(cuts(damaged, draw.draw(st.lists(st.integers(0, 5000), max_size=8)))) == result
    if isinstance(result, tuple):
        reader = Reader()
        try:
            httptools.HttpRequestParser(reader).feed_data(
                HEAD + damaged[: len(damaged) - len(result[1])]
            )
        except httptools.HttpParserError as error:
            pytest.fail(f"llhttp refuses {damaged!r}: {error}")
        assert (reader.body, reader.complete) == (result[0], True)


@pytest.mark.parametrize(
    "sent",
    [
        b"5\nhello\r\n0\r\n\r\n",
        b"5\r\nhello\n0\r\n\r\n",
        b"5\r\nhello0\r\n\r\n",
        b"5\r\nhelloX\r\n",
        b"+5\r\nhello\r\n0\r\n\r\n",
        b"-1\r\n",
        b"0x5\r\nhello\r\n0\r\n\r\n",
        b"5 \r\nhello\r\n0\r\n\r\n",
        b" 5\r\nhello\r\n0\r\n\r\n",
        b"\r\n",
        b";a\r\n",
        b"10000000000000000\r\n",
        b"5;a\nb\r\nhello\r\n0\r\n\r\n",
        b"0\r\nno colon\r\n\r\n",
        b"0\r\nx: a\nb\r\n\r\n",
        b"5;" + b"a" * 5000 + b"\r\nhello\r\n0\r\n\r\n",
        b"a" * 5000,
    ],
)
def test_broken_framing_is_refused(sent: bytes) -> None:
    assert decoded([sent]) == 400
    assert decoded([sent[i : i + 1] for i in range(len(sent))]) == 400


@pytest.mark.parametrize("line", [8_000, 17_000])
def test_trailers_are_bounded_however_they_come(line: int) -> None:
    sent = b"0\r\nx: " + b"a" * line + b"\r\n\r\n"
    expected = 431 if line > 16_384 else (b"", b"")
    assert decoded([sent]) == expected
    assert decoded([sent[i : i + 100] for i in range(0, len(sent), 100)]) == expected


@given(st.binary(min_size=1, max_size=300), st.integers(1, 4095), st.sampled_from(("%x", "%X")))
def test_a_sole_chunk_is_known_by_its_length(piece: bytes, size: int, form: str) -> None:
    body = (piece * size)[:size]
    sent = (form % size).encode() + b"\r\n" + body + b"\r\n"
    assert sole_chunk_size(sent) == size
    for other in (sent[:-1], sent[1:], sent + b"\n", sent + b"0", sent + sent, sent[:-2] + b"\n\r"):
        assert sole_chunk_size(other) == 0


@given(messages(), st.lists(st.integers(0, 3000), max_size=12))
def test_what_is_taken_for_a_sole_chunk_is_one(message: tuple[bytes, bytes], at: list[int]) -> None:
    for part in filter(None, cuts(message[1], at)):
        size = sole_chunk_size(part)
        if size:
            decoder = ChunkedDecoder()
            assert [*map(len, decoder.feed(part))] == [size]
            assert not decoder.complete
            assert decoder.feed(b"0\r\n\r\n") == []
            assert decoder.complete


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\r\n",
        b"0\r\n\r\n",
        b"1;a\r\nb\r\n",
        b"01\r\nb\r\n",
        b"1000\r\n" + b"a" * 4096 + b"\r\n",
    ],
)
def test_what_is_not_taken_for_a_sole_chunk(data: bytes) -> None:
    assert sole_chunk_size(data) == 0
