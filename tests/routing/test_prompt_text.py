"""Text comes out of every form of prompt, and no form breaks the reader."""

import base64
import json
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.routing.prompt_text import RAW_LIMIT_BYTES, message_text
from proa.routing.tokens import TokenEstimator, text_features


def encoded(value: object, *, ascii_only: bool = False) -> bytes:
    return json.dumps(value, ensure_ascii=ascii_only).encode()


CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"city":"서울"}'}}


@pytest.mark.parametrize(
    ("value", "text", "messages", "token_ids"),
    [
        ("안녕 \"친구\"\n", '안녕 "친구"\n', 1, 0),
        (["a", "b"], "a\nb", 1, 0),
        ([1, 2, 3], "", 1, 3),
        ([[1, 2], [3]], "", 1, 3),
        ([{"role": "system", "content": "a"}, {"role": "user", "content": "b"}], "a\nb", 2, 0),
        ([{"role": "user", "content": [{"type": "text", "text": "a"},
          {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}], "a", 1, 0),
        ([{"role": "assistant", "content": None, "tool_calls": [CALL]}],
         json.dumps('{"city":"서울"}', ensure_ascii=False), 1, 0),
        ([{"role": "user", "content": [{"type": "tool_result", "content":
          [{"type": "text", "text": "a"}]}]}], "a", 1, 0),
        ([{"role": "assistant", "content": [{"type": "tool_use", "input": {"x": 1}}]}],
         '{"x": 1}', 1, 0),
        ([], "", 1, 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ascii_only", [True, False])
def test_text_is_found(
    value: object, text: str, messages: int, token_ids: int, ascii_only: bool
) -> None:
    found = message_text(encoded(value, ascii_only=ascii_only))
    if "arguments" not in json.dumps(value) or not ascii_only:  # those stay as they are written
        assert found.text.decode() == text
    assert (found.messages, found.token_ids, found.scale) == (messages, token_ids, 1.0)


def test_values_that_templates_print_are_added() -> None:
    tools = msgspec.Raw(b'[{"type":"function"}]')
    assert message_text(msgspec.Raw(b'"a"'), tools).text == b'a\n[{"type":"function"}]'


@pytest.mark.parametrize(
    "odd",
    [
        b'{"role":"user"}',
        b"5",
        b'[{"content":5}]',
        b'"\\ud800"',
        b'"\xff"',
        b"[" * 9000,
        b"",
        b"nul",
    ],
)
def test_what_is_not_understood_counts_as_written(odd: bytes) -> None:
    found = message_text(odd)
    assert found.messages == 1
    assert isinstance(found.text, bytes)


@given(text=st.text(), ascii_only=st.booleans())
def test_any_string_comes_out_whole(text: str, ascii_only: bool) -> None:
    assert message_text(encoded(text, ascii_only=ascii_only)).text.decode() == text


PARAGRAPHS = (
    "휴가 신청은 사내 포털에서 할 수 있으며, 승인은 팀장이 합니다.\n",
    'The quick brown fox said "hello" to 12 lazy dogs.\n',
    "def area(width: float, height: float) -> float:\n    return width * height\n",
)


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("mix", [(0,), (1,), (2,), (0, 1, 2)])
def test_a_large_prompt_is_sampled_to_within_a_tenth(
    ascii_only: bool, mix: tuple[int, ...]
) -> None:
    rng = Random(9)
    text = "".join(PARAGRAPHS[rng.choice(mix)] for _ in range(6000))
    value = encoded([{"role": "user", "content": text}], ascii_only=ascii_only)
    assert len(value) > RAW_LIMIT_BYTES
    found = message_text(value)
    assert len(found.text) < RAW_LIMIT_BYTES
    estimator = TokenEstimator()
    whole = sum(
        estimator.estimate(text_features(text[i : i + 4000].encode()))
        for i in range(0, len(text), 4000)
    )
    assert estimator.estimate(text_features(found)) == pytest.approx(whole, rel=0.1)


def test_the_inside_of_a_large_image_is_not_text() -> None:
    image = base64.b64encode(Random(1).randbytes(3_000_000)).decode()
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}}
    found = message_text(encoded([{"role": "user", "content": [part]}]))
    assert TokenEstimator().estimate(text_features(found)) < 40_000
