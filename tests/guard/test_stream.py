"""Streamed answers: wherever they are cut, their clients read what a whole answer would say."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.guard.fake_scanner import FakeScanner
from tests.guard.streams import DIALECTS, Dialect, chunk, cut, named, sse

from proa.guard.answer_editor import AnswerEditor
from proa.guard.json_text import UnreadableBody
from proa.guard.mask import mask
from proa.guard.policy import GuardRule
from proa.guard.stream import StreamFilter
from proa.guard.tokens import TokenBook
from proa.wire.sse import split_events

PHONE = "010-1234-5678"
ORIGINAL = '010-9999-"8\\8'  # what a token stands for may hold anything
MASKED = mask("mobile_phone", PHONE)
DATA = Path(__file__).parents[1] / "engines" / "data"
dialects = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: d.name)


def editor(*, answers: bool = True) -> AnswerEditor:
    book = TokenBook("ko")
    assert book.token("mobile_phone", ORIGINAL) == "[전화_1]"
    return AnswerEditor(FakeScanner(), GuardRule(mode="token", answers=answers), book)


def run(events: Sequence[bytes], *, is_lines: bool = False, answers: bool = True) -> bytes:
    stream = StreamFilter(editor(answers=answers), ndjson=is_lines)
    out = b"".join(stream.feed(event) for event in events)
    return out + stream.finish()


def expected(dialect: Dialect, text: str) -> str:
    whole = text.replace(PHONE, MASKED)
    is_json = dialect.name in ("tools", "tool_use")
    return whole.replace("[전화_1]", json.dumps(ORIGINAL)[1:-1] if is_json else ORIGINAL)


@dialects
def test_cut_anywhere_the_text_is_the_same(dialect: Dialect) -> None:
    text = f"번호 {PHONE}로, [전화_1] 및 2024년 [1] 끝"
    for first in range(len(text) + 1):
        out = run(dialect.stream([text[:first], text[first:]]), is_lines=dialect.is_lines)
        assert dialect.text(out) == expected(dialect, text)
    out = run(dialect.stream(list(text)), is_lines=dialect.is_lines)
    assert dialect.text(out) == expected(dialect, text)


@dialects
def test_what_is_open_at_the_end_is_flushed_before_it(dialect: Dialect) -> None:
    events = dialect.stream(["전화 010-", "1234-", "5678"])
    out = run(events, is_lines=dialect.is_lines)
    assert dialect.text(out) == f"전화 {MASKED}"
    assert out.count(b"\n") == b"".join(events).count(b"\n")
    assert out.endswith(events[-1].replace(PHONE.encode(), MASKED.encode())[-4:])


@dialects
def test_what_holds_nothing_passes_byte_for_byte(dialect: Dialect) -> None:
    events = dialect.stream(["2024", "년 01", "0-12", "월 ", "kim.", " 그리고", '"\n\\'])
    assert run(events, is_lines=dialect.is_lines) == b"".join(events)


@dialects
def test_text_that_cannot_begin_anything_is_not_held(dialect: Dialect) -> None:
    stream = StreamFilter(editor(), ndjson=dialect.is_lines)
    for event in dialect.stream(["안녕", "하세요", " 반갑", "습니다. ", "\n줄"]):
        assert stream.feed(event) is event or stream.feed(b"") == b""
        assert stream.held_events == 0


@dialects
def test_events_that_come_together_are_the_same(dialect: Dialect) -> None:
    text = f"번호 {PHONE}로, [전화_1] 끝"
    events = dialect.stream(list(text))
    together = run([b"".join(events)], is_lines=dialect.is_lines)
    assert dialect.text(together) == expected(dialect, text)


WORDS = st.sampled_from(
    [PHONE, "[전화_1]", "[전화_", "[", "010", "-12", "가나 ", "a@b.kr ", "kim", "\n", "😀", '"',
     "\\", "_"]
)  # fmt: skip


@given(st.data(), st.sampled_from(DIALECTS))
def test_any_text_cut_anywhere(data: st.DataObject, dialect: Dialect) -> None:
    text = "".join(data.draw(st.lists(WORDS, max_size=12)))
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=12))
    pieces = [piece for piece in cut(text, places) if piece]
    whole = dialect.text(run(dialect.stream([text] if text else []), is_lines=dialect.is_lines))
    events = dialect.stream(pieces)
    assert dialect.text(run(events, is_lines=dialect.is_lines)) == whole


@given(st.lists(st.sampled_from(["a", "1", "-", "가", "010-1234-5678", "b" * 90]), max_size=60))
def test_at_most_64_characters_are_held(pieces: list[str]) -> None:
    dialect = DIALECTS[0]
    stream = StreamFilter(editor())
    came = left = ""
    for event in dialect.stream(pieces)[: 1 + len(pieces)]:
        came += dialect.text(event)
        left += dialect.text(stream.feed(event))
        assert len(came) - len(left) <= 64


def test_choices_are_apart_and_overtake_each_other() -> None:
    events = sse(
        chunk({"content": "010-12"}, 0),
        chunk({"content": "010-56"}, 1),
        chunk({"content": "글"}, 2),
        chunk({"content": "34-5678!"}, 0),
        chunk({"content": "가"}, 1),
    )
    stream = StreamFilter(editor())
    assert stream.feed(events[0]) == stream.feed(events[1]) == b""
    assert stream.feed(events[2]) == events[2]
    assert MASKED.encode()[-6:] in stream.feed(events[3]) + stream.finish()
    assert run(events[1:2] + events[4:]) == events[1] + events[4]


def test_several_choices_in_one_event() -> None:
    def both(one: str, two: str) -> bytes:
        choices = [*chunk({"content": one}, 0)["choices"], *chunk({"content": two}, 1)["choices"]]
        return sse({"choices": choices})[0]

    out = run([both("010-12", "가"), both("34-5678", "010-"), both(" ", "1234-5678 ")])
    events = [json.loads(line[6:]) for line in out.decode().split("\n\n") if line]
    texts = ["".join(e["choices"][i]["delta"]["content"] for e in events) for i in (0, 1)]
    assert texts == [f"{MASKED} ", f"가{MASKED} "]


def test_a_field_that_begins_ends_the_one_before() -> None:
    events = sse(chunk({"reasoning_content": "010-1234-5678"}), chunk({"content": "가"}))
    stream = StreamFilter(editor())
    assert stream.feed(events[0]) == b""
    assert stream.feed(events[1]) == events[0].replace(PHONE.encode(), MASKED.encode()) + events[1]


def test_probabilities_go_where_the_text_was_changed() -> None:
    def event(text: str) -> bytes:
        told = chunk({"content": text})
        told["choices"][0]["logprobs"] = {"content": [{"token": text, "logprob": -0.5}]}
        return sse(told)[0]

    changed, same = run([event(PHONE + " ")]), run([event("글")])
    assert b'"logprobs": null' in changed
    assert PHONE.encode() not in changed
    assert same == event("글")


def test_a_bare_number_in_arguments_becomes_zero() -> None:
    dialect = DIALECTS[2]
    out = run(dialect.stream(['{"id": 9001', "01123", '4567, "n": 12}']))
    assert dialect.text(out) == '{"id": 0, "n": 12}'


def test_a_text_that_grows_shows_its_open_end_later() -> None:
    def event(text: str, finish: object = None) -> bytes:
        return sse({"text": text, "output_ids": [1], "meta_info": {"finish_reason": finish}})[0]

    events = [event("전화 010-12"), event("전화 010-1234-5678"), event(f"전화 {PHONE}", {"t": 1})]
    texts = [json.loads(line[6:])["text"] for line in run(events).decode().split("\n\n") if line]
    assert texts == ["전화 ", "전화 ", f"전화 {MASKED}"]


def test_heartbeats_overtake_and_errors_do_not() -> None:
    stream = StreamFilter(editor())
    held = sse(chunk({"content": "010-"}))[0]
    assert stream.feed(held) == b""
    assert stream.feed(b": ping\n\n") == b": ping\n\n"
    assert stream.feed(named({"type": "ping"})[0]) == named({"type": "ping"})[0]
    error = sse({"error": {"message": "gone"}})[0]
    assert stream.feed(error) == held + error


def test_data_of_several_lines_is_one() -> None:
    out = run([b'data: {"choices":[{"delta":\ndata: {"content":"010-1234-5678 "}}]}\n\n'])
    assert out == b'data: {"choices":[{"delta": {"content":"%b "}}]}\n\n' % MASKED.encode()


def test_data_that_is_no_json_is_searched_as_text() -> None:
    assert run([b"data: tel 010-1234-5678\n\n"]) == b"data: tel %b\n\n" % MASKED.encode()


@pytest.mark.parametrize("raw", [b"data: \xff\n\n", b'data: {"a":1,"a":2}\n\n'])
def test_what_cannot_be_read_does_not_pass(raw: bytes) -> None:
    with pytest.raises(UnreadableBody):
        run([raw])


def test_without_answers_only_tokens_are_restored() -> None:
    events = DIALECTS[0].stream([f"{PHONE} [전", "화_1]"])
    assert DIALECTS[0].text(run(events, answers=False)) == f"{PHONE} {ORIGINAL}"


def recorded() -> dict[str, bytes]:
    """The bodies of the streams that engines sent, by their file."""
    found = {}
    for path in sorted(DATA.glob("*/*stream*.txt")):
        raw = path.read_bytes().replace(b"\r\n", b"\n")
        body = raw[raw.index(b"\n\n") + 2 :]
        is_whole = b"\n...\n" not in body  # one was kept in part
        if body.startswith(b"data:") and b'"output_ids"' not in body and is_whole:
            found[f"{path.parent.name}-{path.stem}"] = body
    return found


RECORDED = recorded()
TEXT = re.compile(rb'("(?:content|text|text_output)": ?")((?:[^"\\]|\\.)+)(")')
recorded_streams = pytest.mark.parametrize("body", RECORDED.values(), ids=RECORDED)


@recorded_streams
def test_a_recorded_stream_passes_byte_for_byte_from_any_cut(body: bytes) -> None:
    for _, end in _events(body):
        assert run([body[:end], body[end:]]) == body
    assert run([body[start:end] for start, end in _events(body)]) == body


@recorded_streams
def test_a_number_over_the_events_of_a_recorded_stream_is_masked(body: bytes) -> None:
    count = len(TEXT.findall(body))
    for first in range(len(PHONE)) if count else ():
        pieces = [*PHONE[first:], *[""] * count][: count - 1]
        pieces = [PHONE[:first], *pieces[:-1], PHONE[first + len(pieces) - 1 :]]
        planted = _planted(body, pieces)
        out = run([planted[a:b] for a, b in _events(planted)])
        assert TEXT.sub(rb"\1\3", out) == TEXT.sub(rb"\1\3", planted)
        assert b"".join(found[1] for found in TEXT.findall(out)) == MASKED.encode()


def _planted(body: bytes, pieces: Sequence[str]) -> bytes:
    told = iter(pieces)
    body = TEXT.sub(lambda found: found[1] + next(told, "").encode() + found[3], body)
    return re.sub(rb'"tokens":\[[0-9]*\]', b'"tokens":[]', body)


def _events(body: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    for _, end in split_events(body):
        yield at, end
        at = end
