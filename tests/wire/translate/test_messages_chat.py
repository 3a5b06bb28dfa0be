"""OpenAI's answers as Anthropic's messages, whole and as events; chains down to Triton."""

import json
from typing import Any

import pytest
from tests.wire.translate.contexts import body, context, fed, same_however_cut

from proa.wire.sse import event_data, split_events
from proa.wire.translate.base import Untranslatable
from proa.wire.translate.chain import Chain
from proa.wire.translate.chat_tgi import TgiTranslation
from proa.wire.translate.chat_triton import TritonTranslation
from proa.wire.translate.messages_chat import MessagesTranslation


def request(**fields: Any) -> bytes:
    user = {"role": "user", "content": "hi"}
    return body(**{"model": "m", "max_tokens": 9, "messages": [user]} | fields)


def translation(**fields: Any) -> MessagesTranslation:
    return MessagesTranslation(request(**fields), context(), model=None)


def answered(choice: Any, usage: Any = None, **fields: Any) -> Any:
    whole = translation(**fields).answer(body(choices=[choice], usage=usage))
    assert whole is not None
    return json.loads(whole)


def said(text: str | None, reason: str = "stop", **more: Any) -> Any:
    return {"message": {"role": "assistant", "content": text}, "finish_reason": reason} | more


def named_events(stream: bytes) -> list[tuple[str, Any]]:
    """(name, data) of each event; the name must be the data's type."""
    found = []
    for event, _ in split_events(stream):
        name = event.split(b"\n")[0].removeprefix(b"event: ").decode()
        data = json.loads(event_data(event))
        assert data["type"] == name
        found.append((name, data))
    return found


def chunk(delta: Any = None, reason: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": reason} | more
    return b"data: " + body(object="chat.completion.chunk", choices=[choice]) + b"\n\n"


USAGE = b"data: " + body(choices=[], usage={"prompt_tokens": 5, "completion_tokens": 2}) + b"\n\n"
DONE = b"data: [DONE]\n\n"
TEXT = (
    chunk({"role": "assistant", "content": ""})
    + chunk({"content": "Hel"})
    + chunk({"content": "lo"})
    + chunk({}, "stop")
    + USAGE
    + DONE
)


def test_the_request_goes_to_chat_completions() -> None:
    asked = translation()
    assert asked.target == b"/v1/chat/completions"
    assert json.loads(asked.body)["messages"] == [{"role": "user", "content": "hi"}]


def test_a_whole_answer() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    assert answered(said("Hello"), usage) == {
        "id": "msg_r1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "Hello"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 2},
    }


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("length", "max_tokens"),
        ("tool_calls", "tool_use"),
        ("content_filter", "refusal"),
        ("abort", "end_turn"),
    ],
)
def test_reasons(reason: str, told: str) -> None:
    assert answered(said("x", reason))["stop_reason"] == told


def test_a_stop_sequence_that_the_engine_names() -> None:
    told = answered(said("x", stop_reason="END"), stop_sequences=["END"])
    assert (told["stop_reason"], told["stop_sequence"]) == ("stop_sequence", "END")
    told = answered(said("x", stop_reason=151645), stop_sequences=["END"])
    assert (told["stop_reason"], told["stop_sequence"]) == ("end_turn", None)


def test_cached_tokens_are_no_input_tokens() -> None:
    usage = {
        "prompt_tokens": 31,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 24},
    }
    assert answered(said("x"), usage)["usage"] == {
        "input_tokens": 7,
        "output_tokens": 4,
        "cache_read_input_tokens": 24,
    }


def test_without_counts_there_are_estimates() -> None:
    asked = translation()
    whole = asked.answer(body(choices=[said("a b c")]))
    assert whole is not None
    assert json.loads(whole)["usage"] == {"input_tokens": 7, "output_tokens": 3}
    assert (asked.usage.prompt_tokens, asked.usage.completion_tokens) == (None, None)


def test_calls_of_tools() -> None:
    calls = [
        {"id": "c1", "function": {"name": "f", "arguments": '{"a": 1}'}},
        {"id": "c2", "function": {"name": "g", "arguments": "[broken"}},
    ]
    message = {"content": None, "tool_calls": calls}
    told = answered({"message": message, "finish_reason": "tool_calls"})
    assert told["content"] == [
        {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
        {"type": "tool_use", "id": "c2", "name": "g", "input": {"arguments": "[broken"}},
    ]


@pytest.mark.parametrize(
    "answer",
    [
        b'{"error":{"message":"no","code":400}}',
        b'{"object":"error","message":"no","code":400}',
        b"{}",
        b"x",
    ],
)
def test_errors_are_none(answer: bytes) -> None:
    assert translation().answer(answer) is None


def test_a_stream_of_text() -> None:
    stream = same_however_cut(lambda: translation(stream=True), TEXT)
    told = named_events(stream)
    assert [name for name, _ in told] == [
        "message_start", "content_block_start", "content_block_delta", "content_block_delta",
        "content_block_stop", "message_delta", "message_stop",
    ]  # fmt: skip
    start = told[0][1]["message"]
    assert start["usage"] == {"input_tokens": 7, "output_tokens": 0}
    assert (start["id"], start["model"], start["content"]) == ("msg_r1", "m", [])
    assert [told[i][1]["delta"]["text"] for i in (2, 3)] == ["Hel", "lo"]
    assert told[5][1] == {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"input_tokens": 5, "output_tokens": 2},
    }


def test_a_stream_with_crlf() -> None:
    stream = same_however_cut(lambda: translation(stream=True), TEXT.replace(b"\n", b"\r\n"))
    assert stream == fed(translation(stream=True), TEXT)


def test_a_stream_of_text_and_calls() -> None:
    def call(index: int, **fields: Any) -> bytes:
        return chunk({"tool_calls": [{"index": index} | fields]})

    stream = (
        chunk({"content": "I look."})
        + call(0, id="c1", function={"name": "f", "arguments": ""})
        + call(0, function={"arguments": '{"a":'})
        + call(0, function={"arguments": "1}"})
        + call(1, id="c2", function={"name": "g", "arguments": "{}"})
        + chunk({}, "tool_calls")
        + DONE
    )
    told = named_events(same_however_cut(lambda: translation(stream=True), stream))
    blocks = [d["content_block"] for name, d in told if name == "content_block_start"]
    assert blocks == [
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
        {"type": "tool_use", "id": "c2", "name": "g", "input": {}},
    ]
    parts = [
        (d["index"], d["delta"]["partial_json"])
        for _, d in told
        if d.get("delta", {}).get("type") == "input_json_delta"
    ]
    assert parts == [(1, '{"a":'), (1, "1}"), (2, "{}")]
    assert [d["index"] for name, d in told if name == "content_block_stop"] == [0, 1, 2]
    assert told[-2][1]["delta"]["stop_reason"] == "tool_use"
    assert told[-2][1]["usage"]["output_tokens"] == 2  # words


def test_a_stream_without_a_finish_reason_was_cut() -> None:
    out = fed(translation(stream=True), chunk({"content": "Hel"}) + DONE)
    assert [name for name, _ in named_events(out)] == [
        "message_start", "content_block_start", "content_block_delta",
    ]  # fmt: skip


def test_an_empty_answer_is_a_message() -> None:
    told = named_events(fed(translation(stream=True), chunk({}, "length") + DONE))
    assert [name for name, _ in told] == ["message_start", "message_delta", "message_stop"]
    assert told[1][1]["usage"]["output_tokens"] == 0


@pytest.mark.parametrize("data", [b'{"error":{"message":"m","code":503}}', b"oops", b'{"a":1}'])
def test_an_error_event_is_kept(data: bytes) -> None:
    asked = translation(stream=True)
    assert fed(asked, b"data: " + data + b"\n\n" + TEXT) == b""
    assert asked.failure == data


def chained(**fields: Any) -> Chain:
    outer = translation(**fields)
    return Chain(outer, TritonTranslation(outer.body, context(), model=None, chat=True))


def test_down_to_triton() -> None:
    asked = chained(system="s", stop_sequences=["x"])
    assert asked.target == b"/v2/models/m/generate"
    assert asked.name == "triton"
    assert json.loads(asked.body) == {
        "text_input": "<S>s</S><U>hi</U><A>",
        "stream": False,
        "max_tokens": 9,
        "stop_words": ["x"],
    }
    whole = asked.answer(b'{"text_output":"a b"}')
    assert whole is not None
    assert json.loads(whole)["content"] == [{"type": "text", "text": "a b"}]
    assert json.loads(whole)["usage"] == {"input_tokens": 7, "output_tokens": 2}
    assert asked.answer(b'{"error":"full"}') is None


def test_a_stream_up_from_triton() -> None:
    stream = b'data: {"text_output":"a "}\r\n\r\ndata: {"text_output":"b"}\r\n\r\n'
    told = named_events(same_however_cut(lambda: chained(stream=True), stream))
    assert told[-1][0] == "message_stop"
    deltas = [d["delta"]["text"] for name, d in told if name == "content_block_delta"]
    assert deltas == ["a ", "b"]
    assert told[-2][1]["usage"] == {"input_tokens": 7, "output_tokens": 2}


def test_a_failure_comes_through_a_chain() -> None:
    asked = chained(stream=True)
    assert fed(asked, b'data: {"error":"full"}\n\n') == b""
    assert asked.failure == b'{"error":"full"}'
    asked.feed(b"data: x")
    assert asked.held_bytes == 7


def test_tgi_counts_for_a_chain() -> None:
    outer = translation()
    asked = Chain(outer, TgiTranslation(outer.body, context(), model=None, chat=True))
    answer = b'{"generated_text":"x","details":{"finish_reason":"length","generated_tokens":2}}'
    whole = asked.answer(answer, [b"x-prompt-tokens: 5\r\n"])
    assert whole is not None
    told = json.loads(whole)
    assert told["usage"] == {"input_tokens": 5, "output_tokens": 2}
    assert told["stop_reason"] == "max_tokens"
    assert (asked.usage.prompt_tokens, asked.usage.completion_tokens) == (5, 2)


def test_tools_do_not_reach_triton() -> None:
    with pytest.raises(Untranslatable, match="`tools`"):
        chained(tools=[{"name": "f"}])
