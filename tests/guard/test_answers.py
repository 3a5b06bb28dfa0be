"""Whole answers of every API: masked, restored, and otherwise byte for byte as they came."""

import json
from pathlib import Path

import pytest
from tests.guard.fake_scanner import FakeScanner

from proa.guard.answer_editor import AnswerEditor
from proa.guard.answers import edited_answer
from proa.guard.json_text import UnreadableBody
from proa.guard.mask import mask
from proa.guard.policy import GuardRule
from proa.guard.tokens import TokenBook

PHONE = "010-1234-5678"
MASKED = mask("mobile_phone", PHONE)
ORIGINAL = '010-9999-"8\\8'
DATA = Path(__file__).parents[1] / "engines" / "data"


def editor(mode: str = "token") -> AnswerEditor:
    book = TokenBook("ko")
    book.token("mobile_phone", ORIGINAL)
    rule = GuardRule(mode="count") if mode == "count" else GuardRule(mode="token")
    return AnswerEditor(FakeScanner(), rule, book)


def run(body: bytes, content_type: bytes = b"application/json") -> bytes:
    return edited_answer(body, editor(), content_type)


@pytest.mark.parametrize(
    "answer",
    [
        '{"choices":[{"index":0,"message":{"role":"assistant","content":"%s"}}]}',
        '{"choices":[{"message":{"reasoning_content":"%s"}}]}',
        '{"choices":[{"message":{"refusal":"%s"}}]}',
        '{"choices":[{"text":"%s"}]}',
        '{"output":[{"type":"message","content":[{"type":"output_text","text":"%s"}]}]}',
        '{"output":[{"type":"reasoning","summary":[{"text":"%s"}]}]}',
        '{"type":"message","content":[{"type":"text","text":"%s"}]}',
        '{"content":[{"type":"tool_use","id":"1","name":"f","input":{"a":"%s"}}]}',
        '{"content":[{"type":"thinking","thinking":"%s","signature":"x"}]}',
        '{"message":{"role":"assistant","content":"%s"},"done":true}',
        '{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"a":"%s"}}}]}}',
        '{"response":"%s"}',
        '{"model_name":"m","text_output":"%s"}',
        '{"outputs":[{"name":"o","datatype":"BYTES","data":["%s"]}]}',
        '{"results":[{"index":0,"document":{"text":"%s"},"relevance_score":0.99}]}',
        '[{"generated_text":"%s"}]',
        '{"error":{"message":"bad %s","code":400}}',
        '{"detail":"%s"}',
        '{"prompt":"%s"}',
    ],
)
def test_every_text_is_masked_and_restored(answer: str) -> None:
    assert (
        run((answer % f"{PHONE} [전화_1]").encode())
        == (answer % f"{MASKED} {json.dumps(ORIGINAL)[1:-1]}").encode()
    )


def test_arguments_stay_json() -> None:
    arguments = json.dumps({"전화": "[전화_1]", "n": 1, "p": f"{PHONE}\n", "id": 9001011234567})
    arguments = arguments.replace("\\uc804\\ud654_1", "전화_1")
    body = {"choices": [{"message": {"tool_calls": [{"function": {"arguments": arguments}}]}}]}
    answer = json.loads(run(json.dumps(body).encode()))
    told = answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
    number = mask("resident_number", "9001011234567")
    assert json.loads(told) == {"전화": ORIGINAL, "n": 1, "p": f"{MASKED}\n", "id": number}


def test_probabilities_go_with_the_text() -> None:
    body = b'{"choices":[{"text":"%b","logprobs":{"tokens":["010-"]},"token_ids":[1]}]}'
    assert run(body % PHONE.encode()) == (
        b'{"choices":[{"text":"%b","logprobs":null,"token_ids":[]}]}' % MASKED.encode()
    )
    assert run(body % b"x") == body % b"x"


def test_ids_stay() -> None:
    body = b'{"id":"%b","choices":[{"message":{"tool_calls":[{"id":"%b"}]}}]}'
    body %= PHONE.encode(), PHONE.encode()
    assert run(body) is body


def test_counted_and_not_changed() -> None:
    counting = editor("count")
    body = b'{"response":"%b"}' % PHONE.encode()
    assert edited_answer(body, counting) is body
    assert counting.counts == {"mobile_phone": 1}


def test_no_numbers_in_an_answer_are_read_as_json() -> None:
    body = b'{"text":"%b","logprob":NaN,"x":[-Infinity]}'
    assert run(body % PHONE.encode()) == body % MASKED.encode()


def test_sound_passes_and_text_is_searched() -> None:
    assert run(b"\xff\xfb" + PHONE.encode(), b"audio/mpeg") == b"\xff\xfb" + PHONE.encode()
    assert run(PHONE.encode(), b"text/plain; charset=utf-8") == MASKED.encode()


@pytest.mark.parametrize("body", [b"\xff", b"{", b'{"a":"\xff"}'])
def test_what_cannot_be_read_does_not_pass(body: bytes) -> None:
    with pytest.raises(UnreadableBody):
        run(body)


def test_recorded_answers_pass_byte_for_byte() -> None:
    seen = 0
    for path in sorted(DATA.glob("*/*.txt")):
        head, _, body = path.read_bytes().replace(b"\r\n", b"\n").partition(b"\n\n")
        if b"application/json" in head and body.strip().startswith((b"{", b"[")):
            assert run(body) == body
            seen += 1
    assert seen > 20
