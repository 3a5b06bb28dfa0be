"""The demo's catalogue: both languages say the same things, and the questions fit the routes."""

import re

from proa.cli.demo.result import KINDS
from proa.cli.demo.texts import load_catalogue

CATALOGUE = load_catalogue()


def placeholders(text: str) -> list[str]:
    return sorted(re.findall(r"\{\w+", text))


def test_both_languages_have_the_same_texts() -> None:
    assert CATALOGUE.ko.keys() == CATALOGUE.en.keys()
    for name, text in CATALOGUE.ko.items():
        assert sorted(re.findall(r"\{\w+", text)) == sorted(
            re.findall(r"\{\w+", CATALOGUE.en[name])
        )


def test_the_questions_are_a_real_mix() -> None:
    questions = CATALOGUE.questions
    assert {q.kind for q in questions} == set(KINDS)
    assert {q.stream for q in questions} == {True, False}
    assert any("가" <= letter <= "힣" for q in questions for letter in q.text)
    assert {q.api for q in questions if q.kind == "faq"} == {"/api/faq"}
