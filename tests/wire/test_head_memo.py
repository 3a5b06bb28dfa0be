"""A remembered head never stands for another: the memo and the parser always agree."""

from hypothesis import example, given
from hypothesis import strategies as st

from proa.wire.refusal import ProtocolRefusal
from proa.wire.request_head import HeadMemo, RequestHead, parse_request_head

LINES = (
    b"content-length: 5",
    b"content-length: 17",
    b"content-length: 017",
    b"Content-Length: 5",
    b"Content-Length: 17",
    b"CONTENT-LENGTH: 9",
    b"content-length:  5",
    b"content-length: 5 ",
    b"content-length: +5",
    b"content-length: 5, 5",
    b"content-length: 1234567890123456",
    b"x-content-length: 5",
    b"x-a: content-length: 5",
    b"transfer-encoding: chunked",
    b"Transfer-Encoding : chunked",
    b" content-length: 6",
    b"x: \rcontent-length: 5",
    b"connection: close",
    b"connection: content-length",
    b"authorization: Bearer one",
    b"authorization: Bearer two",
    b"expect: 100-continue",
    b"host: a",
    b"host: b",
)
STARTS = (
    b"POST /v1/completions HTTP/1.1\r\nhost: gateway",
    b"POST /v1/completions HTTP/1.0",
    b"GET /v1/models HTTP/1.1\r\nhost: gateway",
)
heads = st.builds(
    lambda start, lines: b"\r\n".join((start, *lines, b"", b"")),
    st.sampled_from(STARTS),
    st.lists(st.sampled_from(LINES), max_size=3),
)


def _seen(head: RequestHead, length: int) -> tuple[object, ...]:
    fields = {name: value for name, value in head.fields.items() if name != b"content-length"}
    has_length = b"content-length" in head.fields
    return (
        (head.method, head.target, head.path, head.query, head.minor),
        (head.keep_alive, head.chunked, head.expects_continue),
        (fields, has_length, tuple(head.lines), length),
    )


def _parsed(data: bytes) -> object:
    try:
        head = parse_request_head(data)
    except ProtocolRefusal as refusal:
        return refusal.status
    return _seen(head, head.content_length)


def _remembered(memo: HeadMemo, data: bytes) -> object:
    try:
        return _seen(*memo.parse(data))
    except ProtocolRefusal as refusal:
        return refusal.status


@given(st.lists(heads, min_size=1, max_size=8))
@example(
    [STARTS[0] + b"\r\ncontent-length: 5\r\n\r\n", STARTS[0] + b"\r\ncontent-length: +5\r\n\r\n"]
)
def test_any_sequence_of_heads_reads_as_each_alone(sequence: list[bytes]) -> None:
    memo = HeadMemo()
    for data in sequence:
        assert _remembered(memo, data) == _parsed(data)


@given(heads, st.data())
def test_a_head_with_one_byte_changed_reads_as_it_is(data: bytes, draw: st.DataObject) -> None:
    memo = HeadMemo()
    _remembered(memo, data)
    at = draw.draw(st.integers(0, len(data) - 5))
    byte = draw.draw(st.sampled_from(b"05 ,:;+-\r\n\tax\x00\xff"))
    changed = data[:at] + bytes((byte,)) + data[at + 1 :]
    if b"\r\n\r\n" not in changed[:-4]:  # a connection cuts its heads there
        assert _remembered(memo, changed) == _parsed(changed)


def test_a_head_that_comes_back_is_the_same_object() -> None:
    memo = HeadMemo()
    first, length = memo.parse(STARTS[0] + b"\r\ncontent-length: 5\r\n\r\n")
    again, other_length = memo.parse(STARTS[0] + b"\r\ncontent-length: 1200\r\n\r\n")
    assert again is first
    assert (length, other_length) == (5, 1200)
