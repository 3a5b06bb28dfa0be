"""What the user said last, in all forms of bodies, and at a bounded cost."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.wire.last_message import last_user_text, user_of


def user(content: object) -> dict[str, object]:
    return {"role": "user", "content": content}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"messages": [user("one"), user("two"), {"role": "assistant", "content": "x"}]}, "two"),
        ({"messages": [user([{"type": "text", "text": "a"}, {"type": "image"}])]}, "a"),
        ({"messages": [user([{"text": "a"}, {"text": "b"}])]}, "a\nb"),
        ({"messages": [user([{"type": "image"}])]}, None),
        ({"messages": [{"role": "system", "content": "x"}]}, None),
        ({"messages": [7, user("kept"), {"role": "user", "content": 7}]}, "kept"),
        ({"messages": []}, None),
        ({"prompt": "p"}, "p"),
        ({"prompt": [1, 2]}, None),
        ({"input": "i"}, "i"),
        ({"input": [user("r")]}, "r"),
        ({"inputs": "t"}, "t"),
        ({"text_input": "t"}, "t"),
        ({}, None),
    ],
)
def test_it_is_found_in_every_apis_form(fields: dict[str, object], text: str | None) -> None:
    assert last_user_text(json.dumps(fields).encode()) == text


@pytest.mark.parametrize("body", [b"", b"no", b"[]", b'{"messages":"x"}', b"\xff{}"])
def test_an_unreadable_body_says_nothing(body: bytes) -> None:
    assert last_user_text(body) is None
    assert user_of(body) == ""


def test_the_user_of_a_body() -> None:
    assert user_of(b'{"user":"u1"}') == "u1"
    assert user_of(b'{"user":null}') == ""


LONG = st.text(min_size=1, max_size=40).filter(lambda text: text.isprintable())


@given(text=LONG, form=st.sampled_from(["content", "parts", "prompt"]), escaped=st.booleans())
def test_of_a_long_body_the_beginning_of_the_text_is_read(
    text: str, form: str, escaped: bool
) -> None:
    whole = text * (40_000 // len(text) + 1)
    earlier = [user("earlier"), {"role": "assistant", "content": 'a "user" said'}]
    fields = {
        "content": {"messages": [*earlier, user(whole)], "user": "id"},
        "parts": {"messages": [*earlier, user([{"type": "text", "text": whole}])]},
        "prompt": {"prompt": whole},
    }[form]
    found = last_user_text(json.dumps(fields, ensure_ascii=escaped).encode())
    assert found is not None
    assert len(found) >= 512
    assert whole.startswith(found)


@pytest.mark.parametrize(
    "fields",
    [{"messages": [{"role": "system", "content": "x" * 40_000}]}, {"data": "x" * 40_000}],
)
def test_a_long_body_without_a_user_says_nothing(fields: dict[str, object]) -> None:
    assert last_user_text(json.dumps(fields).encode()) is None


def test_a_megabyte_is_searched_and_not_decoded() -> None:
    body = json.dumps({"messages": [user("가나다라 " * 200_000)]}).encode()
    began = time.process_time()
    for _ in range(20):
        last_user_text(body)
    assert (time.process_time() - began) / 20 < 0.02
