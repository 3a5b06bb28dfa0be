"""The relay of event streams: cut anywhere it gives the same bytes, and only whole events."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines.recorded import recorded

from proa.gateway.relay import EventRelay, TailTooLong
from proa.testing.chat import chat_events, error_event
from proa.testing.replies import chunk, cut_at, event_bytes, json_bytes
from proa.wire.sse import last_event_end
from proa.wire.surface import surface_of

CHAT = b"/v1/chat/completions"
RECORDED = {
    "vllm/chat_stream_usage": CHAT,
    "vllm/chat_stream_continuous_usage": CHAT,
    "vllm/completions_stream": b"/v1/completions",
    "sglang/chat_stream_usage": CHAT,
    "sglang/completions_stream": b"/v1/completions",
    "sglang/generate_stream": b"/generate",
    "llamacpp/chat_stream_usage": CHAT,
    "llamacpp/chat_stream_nousage": CHAT,
    "llamacpp/chat_stream_timings_per_token": CHAT,
    "llamacpp/completions_stream": b"/v1/completions",
    "llamacpp/native_completion_stream": b"/completion",
    "triton/generate_stream_llm": b"/v2/models/llm/generate_stream",
}
LINE_ENDS = (b"\n", b"\r\n", b"\r")


def stream(name: str) -> bytes:
    """A recorded stream to its last empty line."""
    return recorded(name).body.rstrip(b"\n") + b"\n\n"


def relay_of(path: bytes = CHAT, *, ndjson: bool = False) -> EventRelay:
    return EventRelay(surface_of(path), ndjson=ndjson)


def fed(relay: EventRelay, pieces: list[bytes]) -> list[bytes]:
    """What comes out piece by piece, the end included; nothing is fed after an error."""
    out = []
    for piece in pieces:
        out.append(relay.feed(piece))
        if relay.error is not None:
            return out
    return [*out, relay.finish()]


def cuts(data: bytes) -> list[list[bytes]]:
    return [[data[:at], data[at:]] for at in range(1, len(data))]


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_streams_pass_unchanged_however_they_are_cut(name: str) -> None:
    data = stream(name)
    for pieces in (*cuts(data), [data[i : i + 1] for i in range(len(data))]):
        relay = relay_of(RECORDED[name])
        assert b"".join(fed(relay, pieces)) == data
        assert relay.started
        assert relay.error is None
        assert not relay.ended_early()


@given(
    st.lists(st.text(max_size=8), min_size=1, max_size=5),
    st.sampled_from(LINE_ENDS),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_all_line_ends_and_texts(texts: list[str], line_end: bytes, space: bool, seed: int) -> None:
    events = [event_bytes(e, line_end=line_end, space=space) for e in chat_events(texts)]
    events.append(event_bytes("[DONE]", line_end=line_end, space=space))
    data = b"".join(events)
    relay = relay_of()
    out = fed(relay, cut_at(data, seed=seed))
    assert b"".join(out) == data
    assert all(last_event_end(block) == len(block) for block in out if block)
    assert (relay.usage.prompt_tokens, relay.usage.completion_tokens) == (11, 3)
    assert not relay.ended_early()


@pytest.mark.parametrize("line_end", LINE_ENDS)
def test_every_event_comes_out_as_soon_as_it_is_whole(line_end: bytes) -> None:
    events = [event_bytes(e, line_end=line_end) for e in chat_events(["a", "b", "c"])]
    relay = relay_of()
    role, first, *others = events
    assert relay.feed(role) == b""
    assert relay.feed(first) == role + first
    for event in others:
        *pieces, last = (event[i : i + 1] for i in range(len(event)))
        assert not any(map(relay.feed, pieces))
        assert relay.feed(last) == event


def test_ndjson_lines() -> None:
    lines = [
        {"model": "m", "message": {"role": "assistant", "content": "가"}, "done": False},
        {"model": "m", "done": True, "prompt_eval_count": 5, "eval_count": 6},
    ]
    for end in (b"\n", b"\r\n"):
        data = b"".join(json_bytes(line) + end for line in lines)
        for pieces in cuts(data):
            relay = relay_of(b"/api/chat", ndjson=True)
            assert b"".join(fed(relay, pieces)) == data
            assert (relay.usage.prompt_tokens, relay.usage.completion_tokens) == (5, 6)
            assert not relay.ended_early()


@pytest.mark.parametrize(
    ("path", "ndjson", "ending"),
    [
        (CHAT, False, b"data: [DONE]"),
        (CHAT, False, b"data: [DONE]\n"),
        (CHAT, False, b"data: [DONE]\r\n\r"),
        (b"/api/chat", True, b'{"done":true,"prompt_eval_count":5,"eval_count":6}'),
        (b"/generate", False, b"data: {}"),
    ],
)
def test_an_ending_without_its_line_end_is_not_lost(
    path: bytes, ndjson: bool, ending: bytes
) -> None:
    content = b'{"message":{"content":"a"},"done":false}\n' if ndjson else b'data: {"x":"a"}\n\n'
    for pieces in cuts(content + ending):
        relay = relay_of(path, ndjson=ndjson)
        assert b"".join(fed(relay, pieces)) == content + ending
        assert not relay.ended_early()


def test_an_error_in_an_ending_without_its_line_end_is_found() -> None:
    relay = relay_of()
    assert relay.feed(event_bytes({"choices": [{"delta": {"content": "a"}}]}))
    assert relay.feed(b'data: {"error":{"message":"m","code":503}}') == b""
    relay.finish()
    assert relay.error is not None
    assert (relay.error.status, relay.error.message) == (503, "m")


def test_a_stream_cut_anywhere_is_known_to_be() -> None:
    data = b"".join(map(event_bytes, chat_events(with_usage=False)))
    finish = data.rindex(b"data:")
    for end in range(finish):
        relay = relay_of()
        fed(relay, [data[:end]])
        assert not relay.started or relay.ended_early()


def test_after_an_error_nothing_follows() -> None:
    role, content, *_ = map(event_bytes, chat_events())
    error, done = event_bytes(error_event()), event_bytes("[DONE]")
    data = role + content + error + done
    for pieces in cuts(data):
        relay = relay_of()
        assert b"".join(fed(relay, pieces)) == role + content + error
        assert relay.error is not None
        assert relay.error.status == 503


def test_an_error_before_content_lets_nothing_out() -> None:
    role, *_ = map(event_bytes, chat_events())
    data = b": ping\n\n" + role + event_bytes(error_event()) + event_bytes("[DONE]")
    for pieces in cuts(data):
        relay = relay_of()
        assert b"".join(fed(relay, pieces)) == b""
        assert not relay.started
        assert relay.error is not None


@pytest.mark.parametrize("line_end", LINE_ENDS)
def test_an_event_without_end_is_given_up_at_1_mib(line_end: bytes) -> None:
    relay = relay_of()
    relay.feed(event_bytes({"choices": [{"delta": {"content": "a"}}]}, line_end=line_end))
    assert relay.feed(b"data: " + b"x" * 1_048_570) == b""
    with pytest.raises(TailTooLong):
        relay.feed(b"y")


def test_a_large_event_in_small_reads_is_not_searched_again_and_again() -> None:
    piece = b"x" * 512
    for ndjson in (False, True):
        relay = relay_of(ndjson=ndjson)
        started_s = time.thread_time()
        for _ in range(2000):
            assert relay.feed(piece) == b""
        assert time.thread_time() - started_s < 0.25
        assert relay.feed(b"\n\n")


def test_a_large_event_passes() -> None:
    event = event_bytes({"choices": [{"delta": {"content": "x" * 1_000_000}}]})
    relay = relay_of()
    pieces = cut_at(event, seed=1, mean_bytes=65_536)
    assert b"".join(relay.feed(piece) for piece in pieces) == event


def test_64_kib_of_preamble_commit() -> None:
    comment = b": " + b"x" * 1020 + b"\n\n"
    relay = relay_of()
    held = 0
    while not (out := relay.feed(comment)):
        held += len(comment)
    assert relay.started
    assert 65_536 - len(comment) <= held <= 65_536
    assert len(out) == held + len(comment)


EVENT = event_bytes(chat_events(["a"])[1])


def test_a_chunk_of_plain_events_passes_and_counts_as_the_last() -> None:
    relay = relay_of()
    assert relay.feed(EVENT) == EVENT
    assert relay.passes(chunk(EVENT + EVENT))
    assert relay.ended_early()
    assert relay.passes(chunk(event_bytes("[DONE]")))
    assert not relay.ended_early()


def test_a_chunk_of_whole_lines_passes_too() -> None:
    relay = relay_of(b"/api/chat", ndjson=True)
    line = b'{"message":{"content":"a"},"done":false}\n'
    assert relay.feed(line) == line
    assert relay.passes(chunk(line))
    assert not relay.passes(chunk(line[:-1]))
    assert not relay.passes(chunk(b'{"done":true,"prompt_eval_count":3}\n'))
    assert not relay.passes(chunk(b'{"error":"out of memory"}\n'))


@pytest.mark.parametrize(
    ("path", "data"),
    [
        (CHAT, event_bytes(error_event())),
        (CHAT, event_bytes(chat_events()[-1])),
        (CHAT, EVENT[:-1]),
        (CHAT, EVENT + b"data: "),
        (CHAT, EVENT.replace(b"\n", b"\r\n")),
        (b"/v1/responses", b'data: {"type":"response.failed"}\n\n'),
        (b"/unknown", b'data: {"type":"response.failed"}\n\n'),
    ],
)
def test_a_chunk_that_tells_more_does_not_pass(path: bytes, data: bytes) -> None:
    relay = relay_of(path)
    relay.feed(EVENT)
    assert not relay.passes(chunk(data))


def test_nothing_passes_an_event_that_is_not_whole() -> None:
    relay = relay_of()
    relay.feed(EVENT)
    relay.feed(EVENT[:-1])
    assert not relay.passes(chunk(b"\n" + EVENT))
    assert relay.feed(b"\n" + EVENT) == EVENT + EVENT
    assert relay.passes(chunk(EVENT))


@pytest.mark.parametrize("text", ["[DONE]", "message_stop", "response.completed"])
@pytest.mark.parametrize(
    ("path", "event"),
    [
        (b"/v1/chat/completions", b'data: {"choices":[{"index":0,"delta":{"content":"%b"}}]}\n\n'),
        (b"/v1/messages", b'event: content_block_delta\ndata: {"type":"x","delta":"%b"}\n\n'),
        (b"/v1/responses", b'data: {"type":"response.output_text.delta","delta":"%b"}\n\n'),
    ],
)
def test_generated_text_is_no_mark_of_the_end(path: bytes, event: bytes, text: str) -> None:
    relay = EventRelay(surface_of(path), ndjson=False)
    relay.feed(event % text.encode())
    assert relay.ended_early()
