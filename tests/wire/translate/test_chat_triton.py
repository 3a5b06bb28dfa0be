"""OpenAI's API for Triton: recorded replies of Triton 2.51, and outputs of the vLLM backend."""

import json
from typing import Any

import pytest
from tests.wire.translate.contexts import body, chat, context, events, fed, same_however_cut

from proa.domain.dialect import TritonFields
from proa.wire.translate.base import Untranslatable
from proa.wire.translate.chat_triton import TritonTranslation

RECORDED = b"".join(
    b'data: {"model_name":"llm","model_version":"1","text_output":"tok%d "}\n\n' % i
    for i in range(3)
)


def translation(request: bytes, *, is_chat: bool = True, **fields: Any) -> TritonTranslation:
    made = context(triton=TritonFields(**fields))
    return TritonTranslation(request, made, model=None, chat=is_chat)


def sent(request: bytes, **fields: Any) -> Any:
    return json.loads(translation(request, **fields).body)


def test_a_chat_becomes_one_prompt_for_the_model_in_the_path() -> None:
    asked = translation(chat("안녕", model="llm/8b", max_tokens=4))
    assert asked.target == b"/v2/models/llm%2F8b/generate"
    assert json.loads(asked.body) == {
        "text_input": "<U>안녕</U><A>",
        "stream": False,
        "max_tokens": 4,
    }


def test_all_that_samples_is_passed_on() -> None:
    fields = {
        "max_tokens": 4, "temperature": 0.5, "top_p": 0.9, "top_k": 5, "seed": 2**60,
        "repetition_penalty": 1.1, "presence_penalty": 0.1, "frequency_penalty": 0.2,
    }  # fmt: skip
    assert sent(chat(stream=True, stop=["x"], **fields)) == fields | {
        "text_input": "<U>hi</U><A>",
        "stream": True,
        "stop_words": ["x"],
    }


def test_a_stream_goes_to_generate_stream() -> None:
    assert translation(chat(stream=True)).target == b"/v2/models/m/generate_stream"


def test_fields_have_the_names_of_the_model() -> None:
    given = sent(
        chat(max_tokens=4, seed=1),
        text_input="prompt",
        max_tokens="request_output_len",
        stream="",
        seed="random_seed",
        extra=(("exclude_input_in_output", True), ("request_output_len", 99)),
    )
    assert given == {
        "prompt": "<U>hi</U><A>",
        "request_output_len": 4,
        "random_seed": 1,
        "exclude_input_in_output": True,
    }


def test_an_input_that_the_model_lacks_is_refused_when_asked_for() -> None:
    assert "top_p" not in sent(chat(), top_p="")
    with pytest.raises(Untranslatable, match="`top_p`"):
        translation(chat(top_p=0.5), top_p="")


def test_penalties_of_zero_ask_for_nothing() -> None:
    given = sent(chat(presence_penalty=0, frequency_penalty=0.0), presence_penalty="")
    assert given == {"text_input": "<U>hi</U><A>", "stream": False}


def test_a_request_without_a_model_has_no_path() -> None:
    with pytest.raises(Untranslatable, match="`model`"):
        translation(body(messages=[]))


def test_a_model_that_the_route_names_is_taken() -> None:
    asked = TritonTranslation(body(messages=[]), context(), model="llm", chat=True)
    assert asked.target == b"/v2/models/llm/generate"


def test_a_whole_answer() -> None:
    asked = translation(chat())
    whole = asked.answer(b'{"model_name":"llm","model_version":"1","text_output":"tok0 "}')
    assert whole is not None
    assert json.loads(whole) == {
        "id": "chatcmpl-r1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "tok0 "},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
    }


def test_what_the_engine_counts_is_told() -> None:
    asked = translation(chat(), text_output="out")
    whole = asked.answer(
        b'{"model_name":"m","out":["to","k"],"finish_reason":"length",'
        b'"num_input_tokens":3,"num_output_tokens":[2]}'
    )
    assert whole is not None
    told = json.loads(whole)
    assert told["usage"] == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    assert told["choices"][0]["finish_reason"] == "length"
    assert told["choices"][0]["message"]["content"] == "tok"
    assert (asked.usage.prompt_tokens, asked.usage.completion_tokens) == (3, 2)


@pytest.mark.parametrize(
    "answer",
    [
        b'{"error":"generate expects model to produce exactly 1 response"}',
        b'{"model_name":"resnet","scores":[1,2]}',
        b"not json",
        b"[1]",
        b'{"text_output":4}',
    ],
)
def test_errors_and_answers_without_text_are_none(answer: bytes) -> None:
    assert translation(chat()).answer(answer) is None


def test_text_that_speaks_of_errors_is_none() -> None:
    said = json.dumps({"text_output": '{"error": "x"}'}).encode()
    assert translation(chat()).answer(said) is not None


def test_a_stream_gets_its_role_its_reason_and_its_mark() -> None:
    stream = same_however_cut(lambda: translation(chat(stream=True)), RECORDED + b"\n\n")
    told = events(stream)
    assert told[-1] == "[DONE]"
    assert [event["choices"][0]["delta"] for event in told[:-1]] == [
        {"role": "assistant", "content": ""},
        {"content": "tok0 "},
        {"content": "tok1 "},
        {"content": "tok2 "},
        {},
    ]
    reasons = [event["choices"][0]["finish_reason"] for event in told[:-1]]
    assert reasons == [None, None, None, None, "stop"]
    assert {event["object"] for event in told[:-1]} == {"chat.completion.chunk"}
    assert all("usage" not in event for event in told[:-1])


@pytest.mark.parametrize("line_end", [b"\r\n", b"\r", b"\n"])
def test_any_line_end_and_a_last_event_without_one(line_end: bytes) -> None:
    stream = RECORDED.rstrip(b"\n").replace(b"\n", line_end)
    cut = same_however_cut(lambda: translation(chat(stream=True)), stream)
    assert cut == fed(translation(chat(stream=True)), RECORDED)


def test_usage_comes_where_it_was_asked_for_and_is_known() -> None:
    counted = (
        b'data: {"a":1,"b":2,"text_output":"x","num_input_tokens":4,"num_output_tokens":1}\n\n'
        b'data: {"a":1,"b":2,"text_output":"y","num_input_tokens":4,"num_output_tokens":2,'
        b'"finish_reason":"length"}\n\n'
    )
    asked = chat(stream=True, stream_options={"include_usage": True})
    told = events(fed(translation(asked), counted))
    assert [event["usage"] for event in told[:-2]] == [None] * 4
    assert told[-2]["choices"] == []
    assert told[-2]["usage"] == {"prompt_tokens": 4, "completion_tokens": 3, "total_tokens": 7}
    assert told[-3]["choices"][0]["finish_reason"] == "length"
    assert all(event["choices"] for event in events(fed(translation(asked), RECORDED))[:-1])


def test_a_completion_streams_texts() -> None:
    asked = translation(body(model="m", prompt="Once", stream=True), is_chat=False)
    assert json.loads(asked.body)["text_input"] == "Once"
    told = events(fed(asked, RECORDED))
    assert [event["choices"][0]["text"] for event in told[:-1]] == ["tok0 ", "tok1 ", "tok2 ", ""]
    assert {event["object"] for event in told[:-1]} == {"text_completion"}
    assert told[0]["id"] == "cmpl-r1"


def test_an_error_event_ends_it_and_is_kept() -> None:
    broken = b'data: {"error":"Exceeds maximum queue size"}\n\n'
    asked = translation(chat(stream=True))
    out = fed(asked, RECORDED, broken, RECORDED)
    assert asked.failure == b'{"error":"Exceeds maximum queue size"}'
    assert [e["choices"][0]["delta"].get("content") for e in events(out)] == [
        "", "tok0 ", "tok1 ", "tok2 ",
    ]  # fmt: skip


def test_an_event_that_is_no_text_is_a_failure() -> None:
    asked = translation(chat(stream=True))
    assert fed(asked, b"data: oops\n\n") == b""
    assert asked.failure == b"oops"


def test_an_empty_stream_is_an_empty_answer() -> None:
    told = events(fed(translation(chat(stream=True))))
    assert [event["choices"][0]["delta"] for event in told[:-1]] == [
        {"role": "assistant", "content": ""},
        {},
    ]


def test_what_is_held_is_known() -> None:
    asked = translation(chat(stream=True))
    asked.feed(b'data: {"text')
    assert asked.held_bytes == 12
