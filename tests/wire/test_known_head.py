"""A head that is known again: its bodies are cut as a whole parse would cut them."""

from hypothesis import example, given
from hypothesis import strategies as st

from proa.wire.known_head import KnownHead
from proa.wire.response_parser import AnswerMemo, ResponseParser

START = b"HTTP/1.1 200 OK\r\ncontent-type: application/json"
LENGTHS = (b"content-length: ", b"Content-Length: ", b"CONTENT-LENGTH: ")
EXTRA = (b"", b"\r\nserver: uvicorn", b"\r\nx-note: content-length: 3")

messages = st.builds(
    lambda name, extra, body: (
        START + b"\r\n" + name + b"%d" % len(body) + extra + b"\r\n\r\n" + body
    ),
    st.sampled_from(LENGTHS),
    st.sampled_from(EXTRA),
    st.binary(min_size=1, max_size=40),
)


def body_by_parser(data: bytes) -> bytes | None:
    """The body of one whole message, None where bytes are missing or left over."""
    parser = ResponseParser(head_request=False)
    parser.feed(data)
    return b"".join(parser.pieces) if parser.complete and not parser.overrun else None


def known(data: bytes) -> AnswerMemo:
    memo = AnswerMemo()
    ResponseParser(head_request=False, memo=memo).feed(data)
    return memo


@given(first=messages, second=messages, cut=st.integers(0, 200), more=st.binary(max_size=3))
def test_a_whole_body_is_what_the_parser_finds(
    first: bytes, second: bytes, cut: int, more: bytes
) -> None:
    for data in (second, second[:cut], second + more):
        body = known(first).whole_body(data)
        assert body is None or body == body_by_parser(data)


@given(messages, st.binary(min_size=1, max_size=40))
@example(START + b"\r\ncontent-length: 1\r\n\r\na", b"b" * 12)
def test_the_same_head_with_another_length_is_known(message: bytes, body: bytes) -> None:
    memo = known(message)
    again = memo.before + b"%d" % len(body) + memo.after + body
    assert memo.whole_body(again) == body == body_by_parser(again)


def test_nothing_is_known_at_first() -> None:
    assert KnownHead().whole_body(b"\0\r\n") is None
    assert KnownHead().length(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na") is None


def test_lengths_that_no_engine_writes_are_left_to_the_parser() -> None:
    memo = known(START + b"\r\ncontent-length: 3\r\n\r\nabc")
    for length in (b"03", b"+3", b" 3", b"3 ", b"3,3", b"3" * 16):
        assert memo.whole_body(memo.before + length + memo.after + b"abc") is None


def test_what_a_plain_answer_is() -> None:
    plain = START + b"\r\ncontent-length: 1\r\n\r\na"
    assert known(plain).is_plain
    for other in (
        plain.replace(b"200 OK", b"400 Bad Request"),
        plain.replace(b"application/json", b"Text/Event-Stream; charset=utf-8"),
        plain.replace(b"application/json", b"application/x-ndjson"),
        plain.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"),
    ):
        assert not known(other).is_plain
