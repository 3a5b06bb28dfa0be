"""Generated prose: no rule is left open, and Korean particles fit their words."""

import random
import re

import pytest

from proa.bench.texts.english import ENGLISH
from proa.bench.texts.grammar import Rules, TextSource, sentence
from proa.bench.texts.korean import KOREAN


@pytest.mark.parametrize("rules", [ENGLISH, KOREAN])
def test_every_symbol_has_a_rule_and_none_is_left(rules: Rules) -> None:
    named = {
        name for forms in rules.values() for form in forms for name in re.findall(r"{(\w+)}", form)
    }
    assert named | {"sentence"} == set(rules)
    dice = random.Random(0)
    for _ in range(500):
        assert not set(sentence(rules, dice)) & set("{}[]/")


@pytest.mark.parametrize(
    ("word", "expected"),
    [("책", "책을"), ("나무", "나무를"), ("지점", "지점을"), ("목록", "목록을")],
)
def test_particles_follow_the_last_letter(word: str, expected: str) -> None:
    assert sentence({"sentence": [f"{word}[을/를]"]}, random.Random(0)) == expected


@pytest.mark.parametrize(("word", "expected"), [("교실", "교실로"), ("시청", "시청으로")])
def test_the_direction_particle_takes_a_final_l_as_a_vowel(word: str, expected: str) -> None:
    assert sentence({"sentence": [f"{word}[으로/로]"]}, random.Random(0)) == expected


@pytest.mark.parametrize("words", [1, 17, 500, 5000])
def test_texts_have_exactly_the_words_asked(words: int) -> None:
    source = TextSource(KOREAN, stock=50)
    assert len(source.text(words, random.Random(3)).split()) == words
