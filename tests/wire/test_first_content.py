"""What ends the peek, for every API that streams."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines.recorded import recorded_events

from proa.wire.first_content import is_content


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[DONE]",
        b'{"choices":[]}',
        b'{"choices":[],"usage":{"prompt_tokens":1}}',
        b'{"choices":[{"delta":{"role":"assistant"},"finish_reason":null}]}',
        b'{"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}]}',
        b'{"choices":[{"delta":{"role":"assistant","content":null}}]}',
        b'{"choices":[{"delta":{"reasoning_content":null,"content":"","tool_calls":[]}}]}',
        b'{"choices":[{"text":"","finish_reason":null}]}',
        b'{"type":"ping"}',
        b'{"type":"message_start","message":{"role":"assistant","content":[]}}',
        b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        b'{"type":"response.created","response":{"status":"in_progress"}}',
        b'{"type":"response.queued","response":{}}',
        b'{"type":"response.in_progress","response":{}}',
        b'{"type":"response.output_item.added","item":{"type":"message"}}',
        b'{"type":"response.content_part.added","part":{"type":"output_text","text":""}}',
    ],
)
def test_what_is_held(data: bytes) -> None:
    assert not is_content(data)


@pytest.mark.parametrize(
    "data",
    [
        b'{"choices":[{"delta":{"content":"a"}}]}',
        b'{"choices":[{"delta":{"content":" "}}]}',
        b'{"choices":[{"delta":{"reasoning_content":"a"}}]}',
        b'{"choices":[{"delta":{"reasoning":"a"}}]}',
        b'{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}',
        b'{"choices":[{"delta":{"function_call":{"name":"f"}}}]}',
        b'{"choices":[{"delta":{"refusal":"no"}}]}',
        b'{"choices":[{"delta":{"audio":{"data":"AA=="}}}]}',
        b'{"choices":[{"delta":{},"finish_reason":"stop"}]}',
        b'{"choices":[{"delta":{}},{"index":1,"delta":{"content":"b"}}]}',
        b'{"choices":[{"text":"a"}]}',
        b'{"choices":[{"text":"","finish_reason":"length"}]}',
        b'{"choices":[{"delta":"odd"}]}',
        b'{"choices":null,"token":{"text":"a"}}',
        b'{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}',
        b'{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
        b'{"type":"response.output_text.delta","delta":"a"}',
        b'{"type":"response.completed","response":{}}',
        b'{"model_name":"llm","text_output":"a"}',
        b'{"model":"m","message":{"role":"assistant","content":"a"},"done":false}',
        b"plain text",
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_what_ends_the_peek(data: bytes) -> None:
    assert is_content(data)


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("vllm/chat_stream_usage", 1),
        ("vllm/chat_stream_continuous_usage", 1),
        ("vllm/completions_stream", 0),
        ("sglang/chat_stream_usage", 1),
        ("sglang/completions_stream", 0),
        ("sglang/generate_stream", 0),
        ("llamacpp/chat_stream_usage", 1),
        ("llamacpp/chat_stream_timings_per_token", 3),
        ("llamacpp/completions_stream", 0),
        ("llamacpp/native_completion_stream", 0),
        ("triton/generate_stream_llm", 0),
    ],
)
def test_recorded_streams(name: str, held: int) -> None:
    contents = [is_content(event) for event in recorded_events(name)]
    assert contents.index(True) == held


@given(st.binary())
def test_any_bytes_are_survived(data: bytes) -> None:
    is_content(data)
    is_content(b'{"choices":[{"delta":' + data)
