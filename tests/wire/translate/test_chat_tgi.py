"""OpenAI's API for TGI's own routes; the events' form is that of TGI 3.3.6's source."""

import json
from typing import Any

import pytest
from tests.wire.translate.contexts import body, chat, context, events, fed, same_however_cut

from proa.wire.translate.base import Untranslatable
from proa.wire.translate.chat_tgi import TgiTranslation


def event(text: str, *, special: bool = False, **last: Any) -> bytes:
    token = {"id": 1, "text": text, "logprob": -0.5, "special": special}
    value = {"index": 1, "token": token, "generated_text": None, "details": None} | last
    return b"data:" + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def details(reason: str, made: int = 2) -> dict[str, Any]:
    return {"finish_reason": reason, "generated_tokens": made, "seed": None, "input_length": 5}


STREAM = (
    event("안")
    + event("녕")
    + event("</s>", special=True, generated_text="안녕", details=details("eos_token", 3))
)


def translation(request: bytes, *, is_chat: bool = True) -> TgiTranslation:
    return TgiTranslation(request, context(), model=None, chat=is_chat)


def parameters(**fields: Any) -> Any:
    return json.loads(translation(chat(**fields)).body)["parameters"]


def test_a_chat_becomes_inputs_and_parameters() -> None:
    asked = translation(chat("q", max_tokens=4, temperature=0.5, top_p=0.9, seed=3, stop="x"))
    assert asked.target == b"/generate"
    assert json.loads(asked.body) == {
        "inputs": "<U>q</U><A>",
        "parameters": {
            "max_new_tokens": 4,
            "temperature": 0.5,
            "top_p": 0.9,
            "seed": 3,
            "stop": ["x"],
            "do_sample": True,
            "details": True,
            "return_full_text": False,
        },
    }


def test_a_stream_goes_to_generate_stream() -> None:
    assert translation(chat(stream=True)).target == b"/generate_stream"


def test_temperature_zero_is_greedy() -> None:
    given = parameters(temperature=0, top_p=0.5, top_k=3)
    assert given == {"do_sample": False, "details": True, "return_full_text": False}


def test_what_tgi_refuses_as_out_of_range_is_its_default() -> None:
    assert parameters(top_p=1.0, top_k=0, frequency_penalty=0, presence_penalty=0) == {
        "do_sample": True,
        "details": True,
        "return_full_text": False,
    }


def test_a_penalty_that_tgi_lacks_is_refused() -> None:
    with pytest.raises(Untranslatable, match="`presence_penalty`"):
        translation(chat(presence_penalty=0.5))


@pytest.mark.parametrize(
    ("reason", "told"), [("length", "length"), ("eos_token", "stop"), ("stop_sequence", "stop")]
)
def test_a_whole_answer(reason: str, told: str) -> None:
    asked = translation(chat())
    answer = {"generated_text": "안녕", "details": {"finish_reason": reason, "generated_tokens": 2}}
    whole = asked.answer(
        json.dumps(answer).encode(), [b"server: x\r\n", b"X-Prompt-Tokens: 11\r\n"]
    )
    assert whole is not None
    given = json.loads(whole)
    assert given["choices"][0]["message"] == {"role": "assistant", "content": "안녕"}
    assert given["choices"][0]["finish_reason"] == told
    assert given["usage"] == {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13}


def test_a_list_of_one_and_no_counts() -> None:
    whole = translation(body(model="m", prompt="x"), is_chat=False).answer(
        b'[{"generated_text":"y"}]', [b"x-prompt-tokens: many\r\n"]
    )
    assert whole is not None
    given = json.loads(whole)
    assert given["choices"][0]["text"] == "y"
    assert "usage" not in given


@pytest.mark.parametrize(
    "answer", [b'{"error":"Model is overloaded","error_type":"overloaded"}', b"[]", b"{}", b"x"]
)
def test_errors_are_none(answer: bytes) -> None:
    assert translation(chat()).answer(answer) is None


def test_a_stream_of_tokens() -> None:
    request = chat(stream=True, stream_options={"include_usage": True})
    told = events(same_however_cut(lambda: translation(request), STREAM))
    assert [event["choices"][0]["delta"] for event in told[:-2]] == [
        {"role": "assistant", "content": ""},
        {"content": "안"},
        {"content": "녕"},
        {},
    ]
    assert told[-3]["choices"][0]["finish_reason"] == "stop"
    assert told[-2]["usage"] == {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
    assert told[-1] == "[DONE]"


def test_a_stream_with_crlf() -> None:
    request = chat(stream=True)
    stream = same_however_cut(lambda: translation(request), STREAM.replace(b"\n", b"\r\n"))
    assert stream == fed(translation(request), STREAM)


def test_a_last_token_that_is_text_is_told_before_its_reason() -> None:
    last = event("!", generated_text="!", details=details("length", 1))
    told = events(fed(translation(chat(stream=True)), last))
    assert [e["choices"][0]["delta"].get("content") for e in told[:-1]] == ["", "!", None]


def test_a_stream_without_details_was_cut() -> None:
    out = fed(translation(chat(stream=True)), event("안"))
    assert b"[DONE]" not in out
    assert b'"finish_reason":"' not in out


@pytest.mark.parametrize(
    "data",
    [
        b'{"error":"Model is overloaded","error_type":"overloaded"}',
        b'{"error":"","error_type":"incomplete_generation"}',
        b"oops",
        b"{}",
    ],
)
def test_an_error_event_is_kept(data: bytes) -> None:
    asked = translation(chat(stream=True))
    assert fed(asked, b"data:" + data + b"\n\n", STREAM) == b""
    assert asked.failure == data
