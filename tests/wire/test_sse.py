"""Event borders: any line end, cut at every byte, against a reader by the standard's letter."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proa.wire.sse import event_data, last_event_end, last_line_end, split_events, split_lines

LINE_ENDS = (b"\n", b"\r\n", b"\r")
words = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=6)
lines = st.one_of(
    words.map(lambda text: b"data: " + text.encode()),
    words.map(lambda text: b"data:" + text.encode()),
    words.map(lambda text: b": " + text.encode()),
    words.map(lambda text: b"event: " + text.encode()),
    st.just(b"data"),
)
events = st.lists(st.lists(lines, min_size=1, max_size=3), max_size=5)


def standard_events(stream: bytes) -> list[bytes]:
    """WHATWG HTML section 9.2.6, line by line: the data of each finished event."""
    found, data, any_line = [], list[bytes](), False
    *whole, _ = re.split(rb"\r\n|\n|\r", stream)
    for line in whole:
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        if line:
            any_line = True
        elif any_line:
            found.append(b"\n".join(data))
            data, any_line = [], False
    return found


def written(events: list[list[bytes]], end: bytes) -> bytes:
    return b"".join(b"".join(line + end for line in event) + end for event in events)


@given(events, st.sampled_from(LINE_ENDS))
def test_events_are_those_of_the_standard(events: list[list[bytes]], end: bytes) -> None:
    stream = written(events, end)
    assert [event_data(event) for event, _ in split_events(stream)] == standard_events(stream)


@given(events, st.sampled_from(LINE_ENDS))
def test_each_event_ends_where_the_next_begins(events: list[list[bytes]], end: bytes) -> None:
    stream = written(events, end)
    ends = [after for _, after in split_events(stream)]
    assert ends == [len(written(events[: i + 1], end)) for i in range(len(events))]
    assert last_event_end(stream) == len(stream)


@given(events, st.sampled_from(LINE_ENDS))
def test_a_stream_cut_anywhere_has_its_whole_events_and_no_more(
    events: list[list[bytes]], end: bytes
) -> None:
    stream = written(events, end)
    ends = [0, *(after for _, after in split_events(stream))]
    for cut in range(len(stream) + 1):
        assert last_event_end(stream[:cut]) == max(e for e in ends if e <= cut)


@given(
    st.binary(max_size=40).map(
        lambda data: data.translate(bytes(b"\r\nda: x."[b % 8] for b in range(256)))
    )
)
@example(b"data: a\n\rdata: b\n\n")
@example(b"data: a\r\r\ndata: b\r\r\n")
@example(b"data: a\r\n\ndata: b\n\r\n")
def test_no_mixture_of_line_ends_hides_an_event(stream: bytes) -> None:
    found = [event_data(event) for event, _ in split_events(stream)]
    expected = [data for data in standard_events(stream) if data]
    if stream.endswith(b"\r"):
        return  # its line end may go on
    assert [data for data in found if data] == expected


def test_a_carriage_return_waits_for_its_line_feed() -> None:
    assert last_event_end(b"data: a\r\n\r") == 0
    assert last_event_end(b"data: a\r\n\r\n") == 11


@pytest.mark.parametrize(
    ("event", "data"),
    [
        (b"data: a", b"a"),
        (b"data:a", b"a"),
        (b"data:  a", b" a"),
        (b"event: ping\ndata: {}", b"{}"),
        (b"data: a\r\ndata: b", b"a\nb"),
        (b"data: a\rdata: b", b"a\nb"),
        (b": comment", b""),
        (b"database: a", b""),
        (b"", b""),
    ],
)
def test_the_data_of_an_event(event: bytes, data: bytes) -> None:
    assert event_data(event) == data


@given(st.lists(st.binary(max_size=8).map(lambda line: re.sub(rb"[\r\n]", b"", line))))
def test_lines_of_ndjson(lines: list[bytes]) -> None:
    for end in (b"\n", b"\r\n"):
        block = b"".join(line + end for line in lines)
        assert [line for line, _ in split_lines(block)] == lines
        assert last_line_end(block + b"tail") == len(block)
