"""Requests of OpenAI's API as one text: templates, what is refused, what is left out."""

import json
from typing import Any

import pytest
from tests.wire.translate.contexts import CHATML, body, chat

from proa.domain.dialect import CHAT_TEMPLATES, PLAIN
from proa.wire.translate.base import Untranslatable
from proa.wire.translate.openai_request import (
    chat_prompt,
    completion_prompt,
    read_chat,
    read_completion,
)

TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "안녕 {content}"},
    {"role": "assistant", "content": "hello"},
    {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
]


def prompt_of(messages: list[Any], name: str) -> str:
    return chat_prompt(read_chat(body(messages=messages)), CHAT_TEMPLATES[name])


def test_the_plain_template_names_who_speaks() -> None:
    assert prompt_of(TALK, "plain") == (
        "Be brief.\n\nUser: 안녕 {content}\nAssistant: hello\nUser: ab\nAssistant:"
    )
    assert CHAT_TEMPLATES["plain"] is PLAIN


def test_chatml() -> None:
    assert prompt_of(TALK[:2], "chatml") == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\n안녕 {content}<|im_end|>\n<|im_start|>assistant\n"
    )


def test_llama3() -> None:
    assert prompt_of(TALK[1:3], "llama3") == (
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n안녕 {content}<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\nhello<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    )


def test_a_developer_speaks_as_the_system() -> None:
    messages = [{"role": "developer", "content": "x"}, {"role": "user", "content": None}]
    assert chat_prompt(read_chat(body(messages=messages)), CHATML) == "<S>x</S><U></U><A>"


REFUSED: dict[str, dict[str, Any]] = {
    "n": {"n": 2},
    "best_of": {"best_of": 3},
    "logprobs": {"logprobs": True},
    "top_logprobs": {"top_logprobs": 2},
    "prompt_logprobs": {"prompt_logprobs": 0},
    "logit_bias": {"logit_bias": {"5": 1}},
    "tools": {"tools": [{"type": "function"}]},
    "functions": {"functions": [{}]},
    "audio": {"audio": {}},
    "modalities": {"modalities": ["text", "audio"]},
    "response_format": {"response_format": {"type": "json_object"}},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_changes_the_answer_is_refused_by_name(name: str) -> None:
    with pytest.raises(Untranslatable, match=f"`{name}` is not translated"):
        read_chat(chat(**REFUSED[name]))


def test_several_refused_fields_are_all_named() -> None:
    with pytest.raises(Untranslatable, match="`n` and `audio` are not"):
        read_chat(chat(n=2, audio={}))


@pytest.mark.parametrize(
    "fields",
    [
        {"n": 1, "user": "u", "metadata": {}, "unknown": [1]},
        {"logprobs": False, "tools": [], "logit_bias": {}, "modalities": ["text"]},
        {"tools": [{"type": "function"}], "tool_choice": "none"},
        {"response_format": {"type": "text"}},
        dict.fromkeys(REFUSED),
    ],
)
def test_what_changes_nothing_is_left_out(fields: dict[str, Any]) -> None:
    assert chat_prompt(read_chat(chat("q", **fields)), CHATML) == "<U>q</U><A>"


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "content": "4", "tool_call_id": "c"},
        {"role": "assistant", "content": None, "tool_calls": [{}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
        {"role": "user", "content": [{"type": "text"}]},
    ],
)
def test_messages_that_are_no_text_are_refused_with_their_place(message: Any) -> None:
    request = read_chat(body(messages=[{"role": "user", "content": "q"}, message]))
    with pytest.raises(Untranslatable, match=r"messages\[1\]"):
        chat_prompt(request, CHATML)


@pytest.mark.parametrize(
    "given", [b"", b"[]", b"{", b'{"messages":3}', b'{"messages":[],"max_tokens":"x"}', b"\xff"]
)
def test_no_such_request(given: bytes) -> None:
    with pytest.raises(Untranslatable):
        read_chat(given)


@pytest.mark.parametrize("prompt", ["text", ["text"]])
def test_a_completion_has_one_text(prompt: Any) -> None:
    assert completion_prompt(read_completion(body(prompt=prompt))) == "text"


@pytest.mark.parametrize("prompt", [["a", "b"], [1, 2], [[1]], []])
def test_token_ids_and_several_prompts_are_refused(prompt: Any) -> None:
    with pytest.raises(Untranslatable, match="`prompt`"):
        completion_prompt(read_completion(body(prompt=prompt)))


@pytest.mark.parametrize("fields", [{"echo": True}, {"suffix": "x"}])
def test_echo_and_suffix_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(Untranslatable, match="`echo`"):
        read_completion(body(prompt="x", **fields))


def test_the_newer_name_of_the_limit_wins() -> None:
    assert read_chat(chat(max_tokens=5, max_completion_tokens=3)).output_limit == 3
    assert read_chat(chat(max_tokens=5)).output_limit == 5


def test_stops_are_a_list() -> None:
    assert read_chat(chat(stop="x")).stops == ["x"]
    assert read_chat(chat(stop=["x", "y"])).stops == ["x", "y"]
    assert json.loads(chat(stop=None))["stop"] is None
    assert read_chat(chat(stop=None)).stops == []
