"""Streams as engines and proxies really send them; B… are faults that other tools had."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proa.bench.decode import VisitLabel, decoded
from proa.bench.raw import Asked, RawEnd, RawExchange
from proa.bench.sample import Failure, RequestSample, TokenSource
from proa.testing.replies import chunk, event_bytes
from proa.testing.scripted_sse import (
    DONE,
    Timed,
    delta,
    exchange,
    failed_exchange,
    text_piece,
    usage_event,
    whole_answer,
)

ROLE = delta(role="assistant", content=None)


def told(raw: RawExchange) -> RequestSample:
    return decoded(raw, VisitLabel(0, users=1), ("t",), origin_s=0.0)


def tokens(first_s: float, gap_s: float, count: int, text: str = "word ") -> list[Timed]:
    return [(round(first_s + n * gap_s, 6), delta(content=text)) for n in range(count)]


def ending(at_s: float, completion: int, **details: object) -> list[Timed]:
    return [(at_s, delta("length")), (at_s, usage_event(completion, details=details)), (at_s, DONE)]


def test_b1_a_role_only_chunk_is_the_first_byte_and_no_token() -> None:
    """B1: https://github.com/vllm-project/vllm/issues/3759"""
    sample = told(exchange([(0.005, ROLE), (0.214, delta(content="Hi")), *ending(0.215, 1)]))
    assert sample.ttft_s == pytest.approx(0.214)
    assert sample.first_byte_after_s == pytest.approx(0.005)


def test_b2_prefill_is_not_booked_as_a_gap() -> None:
    """B2: https://github.com/vllm-project/vllm/issues/15106"""
    sample = told(exchange([(0.9, ROLE), *tokens(2.2, 0.02, 5), *ending(2.3, 5)]))
    assert sample.ttft_s == pytest.approx(2.2)
    assert sample.gaps_s == pytest.approx((0.02,) * 4)


def test_b11_a_role_chunk_and_empty_pieces_make_no_gap() -> None:
    """B11: https://github.com/vllm-project/vllm/pull/46652"""
    empty = (0.21, delta(content=""))
    first, *rest = tokens(0.2, 0.02, 3)
    sample = told(exchange([(0.0, ROLE), first, empty, *rest, *ending(0.241, 3)]))
    assert sample.gaps_s == pytest.approx((0.02, 0.02))


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_b4_b5_b6_reasoning_is_generated_content_but_not_visible(field: str) -> None:
    """B4, B5, B6: inference-perf #559 and #592, sglang #23949: reasoning only, cut by the limit."""
    thoughts: list[Timed] = [(1 + n * 0.01, delta(**{field: "hm "})) for n in range(50)]
    sample = told(exchange([(0.1, ROLE), *thoughts, *ending(1.5, 50)]))
    assert sample.failure is None
    assert sample.ttft_s == pytest.approx(1.0)
    assert sample.visible_ttft_s is None
    assert sample.output_tokens == 50
    assert sample.tpot_s == pytest.approx(0.01)
    assert not sample.hidden_reasoning


def test_b9_hidden_reasoning_makes_neither_ttft_nor_speed_wrong_unseen() -> None:
    """B9: genai-bench #81: 5 s of silence, 60 visible tokens in 0.6 s, usage says 360."""
    sample = told(exchange([(0.1, ROLE), *tokens(5.0, 0.01, 60, "abcd"), *ending(5.6, 360)]))
    assert sample.hidden_reasoning
    assert sample.user_tokens_per_s == pytest.approx(100)
    stated = {"completion_tokens_details": {"reasoning_tokens": 300}}
    again = told(exchange([*tokens(5.0, 0.01, 60, "abcd"), *ending(5.6, 360, **stated)]))
    assert again.hidden_reasoning
    assert again.reasoning_tokens == 300
    assert again.user_tokens_per_s == pytest.approx(100)


def test_letters_of_several_tokens_are_no_hidden_reasoning() -> None:
    """A tokenizer by bytes: one Korean letter per event, three tokens each."""
    sample = told(exchange([*tokens(1.0, 0.03, 20, "글"), *ending(1.6, 60)]))
    assert not sample.hidden_reasoning
    assert sample.tpot_s == pytest.approx(0.01)


def test_b14_speed_leaves_out_all_tokens_of_the_first_chunk() -> None:
    """B14: aiperf #1279: 8 tokens at 1.0 s, then 8 single ones every 50 ms: 20 tok/s, not 37.5."""
    bundle: Timed = (1.0, delta(content="word " * 8))
    sample = told(exchange([bundle, *tokens(1.05, 0.05, 8), *ending(1.41, 16)]))
    assert sample.first_tokens == 8
    assert sample.user_tokens_per_s == pytest.approx(20)


def test_a_running_usage_tells_the_first_chunks_tokens() -> None:
    counted: list[Timed] = [
        (1.0 + n * 0.1, delta(content="x" * 40) | {"usage": {"completion_tokens": 3 + 2 * n}})
        for n in range(4)
    ]
    sample = told(exchange([*counted, (1.4, delta("stop")), (1.4, DONE)]))
    assert (sample.first_tokens, sample.output_tokens) == (3, 9)


def test_b16_b17_usage_wins_over_the_number_of_events() -> None:
    """B16, B17: llama-benchy #18, flexible-inference-bench #66: nothing is tokenised again."""
    pieces: list[Timed] = [(1.0, delta(content="Hel")), (1.1, delta(content="lo"))]
    sample = told(exchange([*pieces, (1.2, delta(content=" world")), *ending(1.3, 2)]))
    assert (sample.output_tokens, sample.token_source) == (2, TokenSource.USAGE)
    assert len(sample.events) == 3
    spaces = told(exchange([*tokens(1.0, 0.01, 100, " "), *ending(2.1, 100)]))
    assert spaces.output_tokens == 100


@pytest.mark.parametrize("usage", [[], [(1.2, {"choices": [], "usage": None})]])
def test_without_usage_events_are_counted_and_named_so(usage: list[Timed]) -> None:
    sample = told(exchange([*tokens(1.0, 0.1, 3), *usage, (1.3, delta("stop")), (1.3, DONE)]))
    assert (sample.output_tokens, sample.token_source) == (3, TokenSource.EVENTS)


def test_b20_the_last_token_is_not_the_end_of_the_stream() -> None:
    """B20: inference-perf #452: tokens end at 1.00 s, usage at 1.05 s, [DONE] at 1.30 s."""
    stream = [*tokens(0.5, 0.1, 6), (1.0, delta("stop")), (1.05, usage_event(6)), (1.3, DONE)]
    sample = told(exchange(stream))
    assert sample.last_content_s == pytest.approx(1.0)
    assert sample.end_s == pytest.approx(1.3)
    assert len(sample.gaps_s) == 5


def test_b25_tokens_that_were_held_back_have_no_speed() -> None:
    """B25: genai-bench #110: 100 tokens read in 25 µs are not four million a second."""
    held = [(1.0 + n * 25e-8, delta(content="word ")) for n in range(100)]
    sample = told(exchange([*held, *ending(1.001, 100)]))
    assert sample.is_impossibly_fast
    assert (sample.user_tokens_per_s, sample.tpot_s, sample.user_tokens_per_s_e2e) == (None,) * 3
    at_once = told(exchange([(1.0, delta(content="word ")) for _ in range(99)] + ending(1.0, 99)))
    assert at_once.tpot_s is None
    assert at_once.reads == 1


def test_tool_calls_are_content() -> None:
    call = {"index": 0, "id": "call_1", "type": "function"}
    name = delta(tool_calls=[call | {"function": {"name": "find", "arguments": ""}}])
    rest = delta(tool_calls=[{"index": 0, "function": {"arguments": '{"a":1}'}}])
    nothing = delta(tool_calls=[{"index": 0, "id": "call_1", "function": {"arguments": ""}}])
    stream = [(0.1, ROLE), (0.2, nothing), (0.4, name), (0.5, rest)]
    sample = told(exchange([*stream, (0.5, delta("tool_calls")), (0.5, DONE)]))
    assert sample.ttft_s == pytest.approx(0.4)
    assert sample.first_visible_s == pytest.approx(0.4)
    assert [event.characters for event in sample.events] == [4, 7]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_any_line_end(line_end: bytes) -> None:
    stream = [(0.1, ROLE), *tokens(0.2, 0.1, 3), *ending(0.5, 3)]
    sample = told(exchange(stream, line_end=line_end))
    assert (sample.failure, len(sample.events), sample.output_tokens) == (None, 3, 3)
    assert sample.ttft_s == pytest.approx(0.2)


def test_comments_and_pings_are_nothing() -> None:
    stream: list[Timed] = [(0.1, b": ping\n\n"), *tokens(0.3, 0.1, 2), (0.5, delta("stop"))]
    assert told(exchange(stream)).ttft_s == pytest.approx(0.3)


def test_text_completions() -> None:
    stream = [(0.3, text_piece("One")), (0.4, text_piece(" two", "stop")), (0.4, usage_event(2))]
    sample = told(exchange([*stream, (0.4, DONE)]))
    assert sample.ttft_s == pytest.approx(0.3)
    assert sample.output_tokens == 2


def test_an_error_within_the_stream_is_a_failure() -> None:
    error = {"error": {"message": "The queue is full.", "code": 503}}
    sample = told(exchange([(0.1, error), (0.1, DONE)]))
    assert (sample.failure, sample.failure_text) == (Failure.ERROR_EVENT, "The queue is full.")
    late = told(exchange([*tokens(0.1, 0.1, 3), (0.5, error), (0.5, DONE)]))
    assert late.failure is Failure.ERROR_EVENT


@pytest.mark.parametrize("whole", [True, False])
def test_a_stream_without_done_and_finish_reason_was_cut(*, whole: bool) -> None:
    end = RawEnd.COMPLETE if whole else RawEnd.CLOSED
    sample = told(exchange(tokens(0.1, 0.1, 3), whole=whole, end=end))
    assert sample.failure is Failure.CUT
    assert sample.ttft_s == pytest.approx(0.1)


def test_a_finish_reason_alone_is_an_end() -> None:
    assert told(exchange([*tokens(0.1, 0.1, 3), (0.4, delta("stop"))])).failure is None


def test_an_answer_that_is_no_stream_has_no_first_token() -> None:
    choice = {"index": 0, "message": {"content": "Hello there"}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 5, "completion_tokens": 3}
    sample = told(whole_answer({"choices": [choice], "usage": usage}, at_s=2.0))
    assert sample.failure is None
    assert (sample.ttft_s, sample.tpot_s, sample.user_tokens_per_s) == (None, None, None)
    assert sample.e2e_s == pytest.approx(2.0)
    assert sample.output_tokens == 3
    assert sample.user_tokens_per_s_e2e == pytest.approx(1.5)


def test_an_answer_without_content_is_a_failure_and_not_a_zero() -> None:
    sample = told(exchange([(0.1, ROLE), (0.2, delta("stop")), (0.2, DONE)]))
    assert (sample.failure, sample.ttft_s) == (Failure.EMPTY, None)


@pytest.mark.parametrize("status", [429, 503])
def test_a_refusal_is_one_failure(status: int) -> None:
    sample = told(whole_answer({"error": {"message": "busy"}}, status=status))
    assert (sample.failure, sample.status) == (Failure.STATUS, status)
    assert sample.failure_text == f"{status} busy"


@pytest.mark.parametrize(
    ("end", "failure"),
    [
        (RawEnd.TIMEOUT, Failure.TIMEOUT),
        (RawEnd.CONNECT, Failure.CONNECT),
        (RawEnd.CLOSED, Failure.CONNECT),
        (RawEnd.STOPPED, None),
    ],
)
def test_requests_without_an_answer(end: RawEnd, failure: Failure | None) -> None:
    sample = told(failed_exchange(end))
    assert (sample.failure, sample.end_s, sample.ttft_s) == (failure, None, None)
    assert sample.is_stopped == (end is RawEnd.STOPPED)


def test_what_is_no_json_is_malformed() -> None:
    sample = told(exchange([(0.1, "{not json"), (0.2, DONE)]))
    assert sample.failure is Failure.MALFORMED
    broken = RawExchange(Asked(0, 0, 0), 0.0, 0.0, [0.1], [b"HTTP/9 what"], 0.1, RawEnd.MALFORMED)
    assert told(broken).failure is Failure.MALFORMED


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=60))
def test_where_reads_are_cut_does_not_matter(cuts: list[int]) -> None:
    """Each event has the time of the read that brought the end of its data."""
    stream = [(0.1, ROLE), *tokens(0.2, 0.1, 4), *ending(0.6, 4)]
    whole = b"".join(exchange(stream).reads)
    raw = RawExchange(Asked(0, 0, 0), 0.0, 0.0, [], [], 0.0)
    at = 0
    while at < len(whole):
        size = cuts[len(raw.reads) % len(cuts)]
        raw.reads.append(whole[at : at + size])
        at += size
    raw.times = [float(n) for n in range(len(raw.reads))]
    raw.ended_s = raw.times[-1]
    sample = told(raw)
    assert (sample.failure, sample.output_tokens, len(sample.events)) == (None, 4, 4)
    ends = [whole.index(b"}]}", found) + 3 for found in _starts(whole, b'"content":"word "')]
    expected = [next(n for n in range(len(raw.reads)) if _sum(raw, n) >= end) for end in ends]
    assert [event.at_s for event in sample.events] == expected


def _starts(data: bytes, needle: bytes) -> list[int]:
    found, at = [], -1
    while (at := data.find(needle, at + 1)) >= 0:
        found.append(at)
    return found


def _sum(raw: RawExchange, upto: int) -> int:
    return sum(map(len, raw.reads[: upto + 1]))


def test_an_event_whose_blank_line_comes_late_has_the_time_of_its_data() -> None:
    data = event_bytes(delta(content="Hi"))
    raw = exchange([(0.1, ROLE), (0.2, data[:-1]), (0.9, b"\n"), *ending(1.0, 1)])
    assert told(raw).ttft_s == pytest.approx(0.2)
    assert chunk(b"") == b"0\r\n\r\n"
