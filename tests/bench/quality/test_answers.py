"""Questions as they are sent, and answers as they are read."""

import json

import pytest

from proa.bench.quality.answers import answer_of, question_body
from proa.bench.quality.cases import QualityCase
from proa.bench.quality.checks import Check
from proa.bench.raw import RawEnd
from proa.bench.sample import Failure
from proa.bench.target import TargetSpec
from proa.testing.scripted_sse import failed_exchange, whole_answer

CASE = QualityCase(
    id="sum", messages=[{"role": "user", "content": "17 + 25?"}], check=Check(number=42)
)
CHAT = TargetSpec(name="a", url="http://h", model="m")


def chat(content: str | None, **choice: object) -> dict[str, object]:
    message = {"role": "assistant", "content": content}
    given = {"index": 0, "message": message, "finish_reason": "stop"} | choice
    return {"choices": [given], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}


def test_the_same_question_in_both_apis() -> None:
    body = json.loads(question_body(CHAT, CASE, logprobs=True))
    assert (body["temperature"], body["logprobs"], body["max_tokens"]) == (0, True, 128)
    assert body["messages"] == CASE.messages
    plain = TargetSpec(name="a", url="http://h", model="m", path="/v1/completions")
    body = json.loads(question_body(plain, CASE, logprobs=True))
    assert (body["prompt"], body["logprobs"]) == ("17 + 25?", 1)
    assert "logprobs" not in json.loads(question_body(CHAT, CASE, logprobs=False))


def test_an_answer_with_log_probabilities_of_either_api() -> None:
    content = [{"token": "4", "logprob": -0.1}, {"token": "2", "logprob": -0.2}]
    answer = answer_of(whole_answer(chat("42", logprobs={"content": content})), CASE, side="a")
    assert (answer.right, answer.text, answer.output_tokens) == (True, "42", 3)
    assert (answer.tokens, answer.logprobs) == (["4", "2"], [-0.1, -0.2])
    legacy = {"tokens": ["4", "2"], "token_logprobs": [-0.1, -0.2]}
    answer = answer_of(whole_answer(chat("42", logprobs=legacy)), CASE, side="a")
    assert answer.logprobs == [-0.1, -0.2]


@pytest.mark.parametrize(
    "logprobs", [None, {"content": None}, {"tokens": ["4"], "token_logprobs": [None]}]
)
def test_without_log_probabilities_there_is_an_answer_all_the_same(logprobs: object) -> None:
    answer = answer_of(whole_answer(chat("42", logprobs=logprobs)), CASE, side="a")
    assert (answer.right, answer.logprobs) == (True, [])


def test_an_empty_answer_is_wrong_and_a_failure_is_none() -> None:
    empty = answer_of(whole_answer({"choices": [{"message": {"content": ""}}]}), CASE, side="b")
    assert (empty.right, empty.failure) == (False, None)
    refused = answer_of(
        whole_answer({"error": {"message": "too long"}}, status=400), CASE, side="b"
    )
    assert (refused.right, refused.failure) == (None, Failure.STATUS)
    assert "too long" in refused.failure_text
    late = answer_of(failed_exchange(RawEnd.TIMEOUT), CASE, side="b")
    assert (late.right, late.failure) == (None, Failure.TIMEOUT)
