"""Anthropic's requests in OpenAI's terms."""

import json
from typing import Any

import pytest
from tests.wire.translate.contexts import body

from proa.wire.translate.base import Untranslatable
from proa.wire.translate.messages_request import chat_request, read_messages

USER = {"role": "user", "content": "hi"}


def translated(*messages: Any, **fields: Any) -> Any:
    given = {"model": "m", "max_tokens": 4, "messages": messages or (USER,)} | fields
    return json.loads(chat_request(read_messages(body(**given))))


def messages(*blocks: Any, role: str = "user") -> Any:
    return translated({"role": role, "content": blocks})["messages"]


def test_a_plain_request() -> None:
    assert translated() == {"model": "m", "max_tokens": 4, "messages": [USER]}


def test_sampling_and_the_user() -> None:
    assert translated(
        temperature=0.5, top_p=0.9, top_k=5, stop_sequences=["x"], metadata={"user_id": "u"},
        service_tier="auto", unknown=1, thinking={"type": "disabled"},
    ) == {
        "model": "m", "max_tokens": 4, "messages": [USER], "temperature": 0.5, "top_p": 0.9,
        "top_k": 5, "stop": ["x"], "user": "u",
    }  # fmt: skip


def test_a_stream_asks_for_its_usage() -> None:
    asked = translated(stream=True)
    assert asked["stream"] is True
    assert asked["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("system", ["a\nb", [{"type": "text", "text": t} for t in "ab"]])
def test_the_system_prompt_is_the_first_message(system: Any) -> None:
    assert translated(system=system)["messages"] == [{"role": "system", "content": "a\nb"}, USER]


def test_texts_are_joined() -> None:
    assert messages(
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "b"},
    ) == [{"role": "user", "content": "a\nb"}]


def test_images_become_urls() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    assert messages(
        {"type": "text", "text": "what?"},
        {"type": "image", "source": source},
        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
    ) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "what?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
                {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
            ],
        }
    ]


def test_calls_of_tools_and_their_results() -> None:
    assert translated(
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "서울"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "sunny"},
                {"type": "text", "text": "and?"},
            ],
        },
    )["messages"] == [
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "t1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city":"서울"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "sunny"},
        {"role": "user", "content": "and?"},
    ]


def test_a_result_alone_makes_no_empty_message() -> None:
    told = messages(
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x"}]},
        {"type": "tool_result", "tool_use_id": "b", "is_error": True},
    )
    assert told == [
        {"role": "tool", "tool_call_id": "a", "content": "x"},
        {"role": "tool", "tool_call_id": "b", "content": "error"},
    ]


def test_a_call_without_text_has_null_content() -> None:
    (told,) = messages({"type": "tool_use", "id": "t", "name": "n"}, role="assistant")
    assert told["content"] is None
    assert told["tool_calls"][0]["function"]["arguments"] == "{}"


def test_tools() -> None:
    schema = {"type": "object", "properties": {"n": {"const": 2**60}}}
    tool = {"name": "f", "description": "d", "input_schema": schema}
    assert translated(tools=[tool, {"type": "custom", "name": "g", "strict": True}])["tools"] == [
        {"type": "function", "function": {"name": "f", "parameters": schema, "description": "d"}},
        {
            "type": "function",
            "function": {"name": "g", "parameters": {"type": "object"}, "strict": True},
        },
    ]


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ({"type": "auto"}, "auto"),
        ({"type": "any"}, "required"),
        ({"type": "none"}, "none"),
        ({"type": "tool", "name": "f"}, {"type": "function", "function": {"name": "f"}}),
    ],
)
def test_the_choice_of_tools(choice: Any, told: Any) -> None:
    assert translated(tools=[{"name": "f"}], tool_choice=choice)["tool_choice"] == told
    assert "tool_choice" not in translated(tool_choice=choice)


def test_one_tool_at_a_time() -> None:
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    assert translated(tools=[{"name": "f"}], tool_choice=choice)["parallel_tool_calls"] is False


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "`thinking`"),
        ({"container": "c"}, "`container`"),
        ({"mcp_servers": [{}]}, "`mcp_servers`"),
        ({"context_management": {"edits": []}}, "`context_management`"),
        ({"output_config": {"format": {"type": "xml"}}}, "output_config"),
        ({"tools": [{"type": "web_search_20250305", "name": "w"}]}, "`web_search_20250305`"),
        ({"tools": [{"name": "f"}], "tool_choice": {"type": "x"}}, "tool_choice"),
        ({"system": [{"type": "image"}]}, "system"),
        ({"messages": "no"}, "messages"),
        ({"max_tokens": "no"}, "max_tokens"),
    ],
)
def test_what_has_no_translation_is_refused_by_name(fields: Any, named: str) -> None:
    with pytest.raises(Untranslatable, match=named):
        translated(**fields)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "document", "source": {}},
        {"type": "image", "source": {"type": "file", "file_id": "f"}},
        {"type": "image"},
        {"type": "text"},
        {"type": "tool_result", "content": [{"type": "image"}]},
        {"type": "tool_result", "content": ["x"]},
    ],
)
def test_blocks_that_have_no_translation_are_refused_with_their_place(block: Any) -> None:
    with pytest.raises(Untranslatable, match=r"messages\[0\]"):
        messages(block)


def test_roles_that_the_api_lacks() -> None:
    with pytest.raises(Untranslatable, match="`tool`"):
        translated({"role": "tool", "content": "x"})


@pytest.mark.parametrize("content", ["a\nb", [{"type": "text", "text": t} for t in "ab"]])
def test_the_system_may_speak_in_between(content: Any) -> None:
    told = translated(USER, {"role": "system", "content": content})["messages"]
    assert told == [USER, {"role": "system", "content": "a\nb"}]


@pytest.mark.parametrize("field", ["output_config", "output_format"])
def test_a_schema_for_the_answer(field: str) -> None:
    wanted = {"type": "json_schema", "schema": {"type": "object"}}
    given = {"effort": "low", "format": wanted} if field == "output_config" else wanted
    assert translated(**{field: given})["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True},
    }


def test_thinking_that_is_up_to_the_model_asks_for_nothing() -> None:
    asked = translated(thinking={"type": "adaptive"}, output_config={"effort": "high"})
    assert asked == {"model": "m", "max_tokens": 4, "messages": [USER]}


def test_a_block_of_an_assistant_that_is_not_known() -> None:
    with pytest.raises(Untranslatable, match="`server_tool_use`"):
        messages({"type": "server_tool_use"}, role="assistant")
