"""Precision and recall over a made corpus, whole, in slices and cut where a stream may cut."""

from functools import cache
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guard.corpus import Sample, Score, samples
from tests.guard.corpus_values import VALUES

from proa.guard.finding import Finding
from proa.guard.open_end import HELD_CHARS
from proa.guard.scan import Scanner

LEAST = 0.99
TEXTS = 3000
SCANNER = Scanner()


@cache
def score() -> Score:
    made = Score()
    for sample in samples(20_201_005, TEXTS):
        made.count(sample, SCANNER.scan(sample.text))
    return made


@cache
def some() -> list[Sample]:
    return list(samples(7, 400))


@pytest.mark.parametrize("type_", [*VALUES, "corporate_number"])
def test_almost_all_are_found_and_almost_nothing_else(type_: str) -> None:
    made = score()
    assert made.right[type_] > TEXTS / 30
    assert made.recall(type_) >= LEAST, made.faults
    assert made.precision(type_) >= LEAST, made.faults


def streamed(text: str, cuts: list[int]) -> list[Finding]:
    """What is found by one who lets go all that is not open, as soon as it is not."""
    kept: list[Finding] = []
    settled = 0
    for cut in (*cuts, len(text)):
        seen = text[:cut]
        found = SCANNER.scan(seen)
        until = len(text) if cut == len(text) else max(settled, SCANNER.may_begin(seen))
        until = next((one.start for one in found if one.start < until < one.end), until)
        kept += [one for one in found if settled <= one.start and one.end <= until]
        settled = max(settled, until)
    return kept


def short_enough_to_hold(text: str, found: list[Finding]) -> list[Finding]:
    """Without what is longer than what is held, and without addresses in Korean before the @."""
    return [
        one
        for one in found
        if one.end - one.start < HELD_CHARS
        and one.type != "private_key"
        and not (one.type == "email" and text[one.start] >= "가")
    ]


@pytest.mark.parametrize("number", range(0, 400, 40))
def test_a_stream_cut_at_every_character_finds_the_same(number: int) -> None:
    for sample in some()[number : number + 12]:
        text = sample.text[:400]
        found = short_enough_to_hold(text, streamed(text, list(range(1, len(text)))))
        assert found == short_enough_to_hold(text, SCANNER.scan(text))


@settings(max_examples=150, deadline=None)
@given(number=st.integers(0, 399), seed=st.integers(0, 2**32))
def test_a_stream_cut_anywhere_finds_the_same(number: int, seed: int) -> None:
    text = some()[number].text
    random = Random(seed)
    cuts = sorted(random.sample(range(1, len(text)), min(len(text) - 1, random.randrange(1, 30))))
    found = short_enough_to_hold(text, streamed(text, cuts))
    assert found == short_enough_to_hold(text, SCANNER.scan(text))


@pytest.mark.parametrize("chars", [97, 1000, 4096])
def test_slices_find_what_the_whole_has(chars: int) -> None:
    text = "".join(sample.text for sample in some()[:120])
    pieces = list(SCANNER.scan_slices(text, chars))
    assert [one for piece in pieces if piece for one in piece] == SCANNER.scan(text)
    assert pieces.count(None) >= len(text) // (8 * chars)
