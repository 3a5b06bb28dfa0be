"""The streams with the scanner that is in use: cut at every character, the same as whole."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guard.streams import DIALECTS, chat, cut

from proa.guard.answer_editor import AnswerEditor
from proa.guard.policy import GuardRule
from proa.guard.scan import Scanner
from proa.guard.stream import StreamFilter
from proa.guard.tokens import TokenBook

CHAT = DIALECTS[0]
SCANNER = Scanner()
TEXTS = [
    "김민수 고객님 010-1234-5678로 연락드리겠습니다.",
    "주민등록번호는 900101-1234567 이고 이메일은 kim.minsu@example.co.kr 입니다.",
    "계좌 신한 110-123-456789 예금주 김민수, 2024년 11월 30일에 12,000원",
    "카드 4111-1111-1111-1111, 여권 M123A4567.",
    "서버는 192.168.10.24 이고 [전화_1] 로 전화하세요 [전화_2] [1]",
    "API key: sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD 입니다",
    "주소: 서울특별시 강남구 테헤란로 152, 3층\n다음 줄",
    "The quick brown fox, version 2.10.3 of 2024-11-30T12:00:00Z, jumps.",
]


def editor() -> AnswerEditor:
    book = TokenBook("ko")
    book.token("mobile_phone", "010-9999-8888")
    return AnswerEditor(SCANNER, GuardRule(mode="token"), book)


def streamed(pieces: list[str]) -> str:
    stream = StreamFilter(editor())
    out = b"".join(stream.feed(event) for event in chat("content")(pieces)) + stream.finish()
    return CHAT.text(out)


def whole(text: str) -> str:
    for edit in reversed(editor().edits(text)):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


@pytest.mark.parametrize("text", TEXTS)
def test_cut_at_every_character(text: str) -> None:
    expected = whole(text)
    for first in range(len(text) + 1):
        assert streamed([text[:first], text[first:]]) == expected
    assert streamed(list(text)) == expected


@settings(max_examples=60)
@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4), st.data())
def test_cut_anywhere(texts: list[str], data: st.DataObject) -> None:
    text = "\n".join(texts)
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=40))
    assert streamed([piece for piece in cut(text, places) if piece]) == whole(text)


@pytest.mark.parametrize("width", [1, 3, 7, 50])
def test_a_private_key_is_longer_than_what_is_held_and_does_not_pass(width: int) -> None:
    lines = ["z5BgijCdHaAYTrRwaObDTBrfhcJvKnnnW5am13tRyxk264I6GjENgqXeSUZO2TRF"] * 20
    key = "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"])
    text = f"키는 {key} 입니다. 그리고 010-1234-5678"
    out = streamed([text[at : at + width] for at in range(0, len(text), width)])
    assert not any(lines[0][at : at + 8] in out for at in range(len(lines[0]) - 7))
    assert out.endswith("010-****-****")


def test_the_signature_of_a_jwt_does_not_pass_whole() -> None:
    """Only 64 characters are held, so of longer secrets a beginning may have passed."""
    token = "eyJhbGciOiAiSFMyNTYifQ.eyJzdWIiOiAiNzkxNTUzNTM1MCJ9.G4M7cVi6zLdp2RVzE4unWddRB06DQg"
    assert "G4M7cVi6zLdp2RVz" not in streamed(list(f"({token}를 씁니다"))
