"""Token counts of every API's answers, streamed and whole."""

import json

import pytest
from tests.engines.recorded import recorded, recorded_events

from proa.wire.usage import Usage, has_usage, note_answer


def streamed(*events: bytes) -> Usage:
    usage = Usage()
    for event in events:
        if has_usage(event):
            usage.note(event)
    return usage


def whole(body: bytes) -> Usage:
    usage = Usage()
    note_answer(usage, body)
    return usage


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("vllm/chat_stream_usage", (32, 4)),
        ("vllm/chat_stream_continuous_usage", (32, 3)),
        ("vllm/completions_stream", (4, 3)),
        ("sglang/chat_stream_usage", (32, 4)),
        ("sglang/completions_stream", (4, 3)),
        ("llamacpp/chat_stream_usage", (36, 8)),
        ("llamacpp/completions_stream", (4, 4)),
        ("llamacpp/chat_stream_nousage", (None, None)),
    ],
)
def test_recorded_streams(name: str, counts: tuple[int | None, int | None]) -> None:
    usage = streamed(*recorded_events(name))
    assert (usage.prompt_tokens, usage.completion_tokens) == counts


@pytest.mark.parametrize(
    ("events", "counts"),
    [
        ([b'{"usage":null}', b'{"usage":{"prompt_tokens":5,"completion_tokens":2}}'], (5, 2)),
        ([b'{"usage":{"prompt_tokens":0,"completion_tokens":0}}',
          b'{"usage":{"prompt_tokens":5,"completion_tokens":2}}', b'{"usage":null}'], (5, 2)),
        ([b'{"usage": {"prompt_tokens": 5, "completion_tokens": 2}}'], (5, 2)),
        ([b'{"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}',
          b'{"type":"message_delta","usage":{"output_tokens":9}}'], (5, 9)),
        ([b'{"type":"response.completed","response":{"usage":{"input_tokens":5,"output_tokens":7}}}'],
         (5, 7)),
        ([b'{"usage":{"input_tokens_details":{"cached":3},"input_tokens":5,"output_tokens":7}}'],
         (5, 7)),
        ([b'{"done":true,"prompt_eval_count":5,"prompt_eval_duration":1,"eval_count":6}'], (5, 6)),
        ([b'{"done":true,"prompt_eval_count": 5, "eval_count": 6}'], (5, 6)),
        ([b'{"usage":{"prompt_tokens":5,"completion_tokens":2,"completion_tokens_details":{"x":1}}}'],
         (5, 2)),
        ([b'{"usage":{"cache_read_input_tokens":99,"input_tokens":5,"output_tokens":2}}'], (5, 2)),
        ([b'{"choices":[{"text":"\\"usage\\":{\\"prompt_tokens\\":7}"}]}'], (None, None)),
    ],
)  # fmt: skip
def test_forms_of_streams(events: list[bytes], counts: tuple[int | None, int | None]) -> None:
    usage = streamed(*events)
    assert (usage.prompt_tokens, usage.completion_tokens) == counts


def test_whole_answers() -> None:
    ollama = {"message": {"content": "x"}, "done": True, "prompt_eval_count": 5, "eval_count": 6}
    usage = {"prompt_tokens": 5, "completion_tokens": 6}
    for answer in (
        ollama,
        {"choices": [{"text": "x" * 10_000}], "usage": usage},
        {"usage": usage, "id": "x", "timings": {"predicted_n": 6}},
        {"content": [], "usage": {"input_tokens": 5, "output_tokens": 6}},
    ):
        for separators in ((",", ":"), (", ", ": ")):
            found = whole(json.dumps(answer, separators=separators).encode())
            assert (found.prompt_tokens, found.completion_tokens) == (5, 6)


def test_an_answer_without_usage_or_with_null_says_nothing() -> None:
    for body in (b"", b"{}", b'{"usage":null}', b"[DONE]", b"\xff\x00"):
        assert whole(body) == Usage()


def test_what_a_prompt_quotes_is_not_usage() -> None:
    text = '{"usage":{"prompt_tokens":7,"completion_tokens":8}}'
    answer = {"choices": [{"message": {"content": text}}]}
    assert whole(json.dumps(answer).encode()) == Usage()


def test_an_error_has_no_usage() -> None:
    assert whole(recorded("llamacpp/err_too_long").body) == Usage()
