"""Errors in streams: every known form is found, and no generated text is taken for one."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines.recorded import recorded, recorded_events

from proa.engines.events import error_in_event


@pytest.mark.parametrize(
    ("name", "at", "status", "words"),
    [
        ("vllm/err_admission_stream", 0, 503, "engine is currently busy"),
        ("vllm/crash_midstream", -2, 500, "EngineCore encountered an issue"),
        ("sglang/err_queue_full_stream", 0, 503, "request queue is full"),
    ],
)
def test_recorded_errors(name: str, at: int, status: int, words: str) -> None:
    events = recorded_events(name)
    error = error_in_event(events[at])
    assert error is not None
    assert (error.status, error.data) == (status, events[at])
    assert words in error.message
    assert error_in_event(events[-1]) is None  # [DONE]


@pytest.mark.parametrize(
    "name",
    [
        "vllm/chat_stream_usage",
        "sglang/chat_stream_usage",
        "llamacpp/chat_stream_usage",
        "triton/generate_stream_llm",
    ],
)
def test_recorded_good_streams_have_none(name: str) -> None:
    events = recorded_events(name)
    assert len(events) > 2
    assert not any(error_in_event(event) for event in events)


@pytest.mark.parametrize(
    ("event", "status"),
    [
        ('{"error":{"message":"m","code":503}}', 503),
        ('{"error":{"message":"m","code":"429"}}', 429),
        ('{"error":{"message":"m","code":"rate_limit_exceeded"}}', 429),
        ('{"error":{"message":"m","type":"invalid_request_error","code":null}}', 400),
        ('{"error":{"message":"m","type":"BadRequestError"}}', 400),
        ('{"error":{"message":"m"}}', 500),
        ('{"error":{"message":"m","code":200}}', 500),
        ('{"error":{"message":"m","code":true}}', 500),
        ('{"error":{"message":"m","code":{"a":1}}}', 500),
        ('{"error":{"message":"m","code":503,"type":"unavailable_error"}}', 503),
        ('{"error":{"message":"m"},"choices":[{"finish_reason":"error"}]}', 500),
        ('{"object":"error","message":"m","type":"503","param":null,"code":503}', 503),
        ('{"object":"error","message":"m","type":"BadRequestError","code":400}', 400),
        ('{"error":"m"}', 500),
        ('{ "error" : "m" }', 500),
        ('{"error":"m","error_type":"overloaded"}', 429),
        ('{"error":"m","error_type":"generation"}', 424),
        ('{"error":"m","error_type":"validation"}', 422),
        ('{"error":{"message":"m","http_status_code":422}}', 422),
        ('{"type":"error","error":{"type":"overloaded_error","message":"m"}}', 503),
        ('{"type":"error","error":{"type":"rate_limit_error","message":"m"}}', 429),
        ('{"type":"error","error":{"type":"api_error","message":"m"}}', 500),
        ('{"type":"error","error":{"type":"invalid_request_error","message":"m"}}', 400),
        ('{"type":"error","code":"server_error","message":"m","param":null}', 500),
        ('{"type":"error","code":"rate_limit_exceeded","message":"m"}', 429),
        ('{"type":"response.failed","response":{"error":{"code":"server_error","message":"m"}}}', 500),  # noqa: E501
        ('{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"m"}}}', 429),  # noqa: E501
    ],
)  # fmt: skip
def test_every_form(event: str, status: int) -> None:
    error = error_in_event(event.encode())
    assert error is not None
    assert (error.status, error.message, error.data) == (status, "m", event.encode())


def test_texts_that_mean_a_full_queue() -> None:
    triton = error_in_event(b'{"error":"[request id: <id_unknown>] Exceeds maximum queue size"}')
    ollama = error_in_event(b'{"error":"server busy, please try again.  maximum pending requests"}')
    assert triton is not None
    assert ollama is not None
    assert (triton.status, ollama.status) == (503, 503)


def test_an_error_instead_of_an_answer() -> None:
    reply = recorded("triton/generate_llm_stream_true_nonstream_endpoint")
    assert reply.status == 200
    assert error_in_event(reply.body) is not None


def test_a_failed_response_without_an_error_object_is_still_failed() -> None:
    for response in (b"null", b"{}", b'{"error":null}'):
        error = error_in_event(b'{"type":"response.failed","response":%b}' % response)
        assert error is not None
        assert error.status == 500


@pytest.mark.parametrize(
    "event",
    [
        '{"choices":[{"delta":{"content":"error"}}]}',
        '{"choices":[{"delta":{"content":"{\\"error\\":{\\"code\\":503}}"}}]}',
        '{"choices":[{"delta":{"tool_calls":[{"function":{"name":"error"}}]}}]}',
        '{"choices":[{"delta":{},"finish_reason":"error"}]}',
        '{"choices":[{"delta":{"error":{"code":503}}}]}',
        '{"error":null,"choices":[]}',
        '{"error":"","choices":[]}',
        '{"error":{},"choices":[]}',
        '{"error":false}',
        '{"type":"response.created","response":{"error":null,"status":"in_progress"}}',
        '{"type":"response.output_text.delta","delta":"response.failed"}',
        '{"type":"content_block_delta","delta":{"type":"text_delta","text":"error"}}',
        '{"model":"m","message":{"role":"assistant","content":"error"},"done":false}',
        '["error"]',
        '"error"',
        '{"error":',
        '{"error":' + "[" * 100_000,
        "[DONE]",
        "",
    ],
)
def test_what_is_no_error(event: str) -> None:
    assert error_in_event(event.encode()) is None


@given(st.text())
def test_generated_text_is_never_an_error(text: str) -> None:
    chunk = {"object": "chat.completion.chunk", "choices": [{"delta": {"content": text}}]}
    ollama = {"message": {"content": text}, "done": False}
    claude = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}
    responses = {"type": "response.output_text.delta", "delta": text}
    for event in (chunk, ollama, claude, responses):
        assert error_in_event(msgspec.json.encode(event)) is None


@given(st.binary())
def test_any_bytes_are_survived(data: bytes) -> None:
    error_in_event(b'{"error":' + data)
    error_in_event(data + b'"error"')
