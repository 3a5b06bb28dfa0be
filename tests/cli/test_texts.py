"""Both languages of every verb say the same things; the language comes from the locale."""

import re
from pathlib import Path

import pytest

from proa.cli.texts import columns, language_of, padded, texts_of

VERBS = sorted(
    path.stem
    for path in (Path(__file__).parents[2] / "src/proa/cli/translations").glob("*.toml")
    if path.name != "demo.toml"  # it has questions beside the texts, and a test of its own
)


def names_in(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)", text))


@pytest.mark.parametrize("verb", VERBS)
def test_both_languages_have_the_same_texts(verb: str) -> None:
    texts = texts_of(verb)
    assert texts.keys() == {"ko", "en"}
    assert texts["ko"].keys() == texts["en"].keys()
    for key, text in texts["ko"].items():
        assert sorted(re.findall(r"\{\w+", text)) == sorted(
            re.findall(r"\{\w+", texts["en"][key])
        ), key


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"LANG": "ko_KR.UTF-8"}, "ko"),
        ({"LANG": "ko_KR.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "ko_KR.UTF-8", "LC_ALL": ""}, "ko"),
        ({"LC_MESSAGES": "ko", "LANG": "en_US"}, "ko"),
        ({}, "en"),
    ],
)
def test_the_language_comes_from_the_locale(environment: dict[str, str], language: str) -> None:
    assert language_of(environment) == language


def test_korean_letters_take_two_columns() -> None:
    assert columns("엔진 a") == 6
    assert padded("엔진", 6) + "|" == "엔진  |"
