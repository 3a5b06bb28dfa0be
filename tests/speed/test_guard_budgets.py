"""What a search for personal data costs, in calls and lines of ours.

On one core of an AMD EPYC of 2.4 GHz a KB of Korean prose takes 20 to 30 µs; nearly all of it is
spent within `re`, whose share `benchmarks.guard` measures.
"""

import pytest
from tests.guard.corpus import samples
from tests.speed.counting import Cost, cost_of

from proa.guard.scan import Scanner

SCANNER = Scanner()
PROSE = (
    "대한민국의 수도는 서울이며 인구는 약 940만 명이다. 회의는 2026년 3월에 열렸고 예산은 "
    "12,000원이었다. 오늘 논의한 내용은 다음과 같다. "
)
LETTERS = "안녕하세요 반갑습니다 좋은 아침입니다 "
FULL = "".join(sample.text for sample in samples(1, 200))


@pytest.mark.parametrize(
    ("text", "budget"),
    [(PROSE * 5, Cost(20, 60)), (PROSE * 50, Cost(20, 60)), (LETTERS * 20, Cost(12, 44))],
    ids=["prose", "ten times the prose", "letters"],
)
def test_prose_takes_no_step_per_character(text: str, budget: Cost) -> None:
    SCANNER.scan(text)
    cost = cost_of(lambda: SCANNER.scan(text), 3)
    assert cost.calls <= budget.calls
    assert cost.lines <= budget.lines


def test_a_text_full_of_findings_stays_within_its_budget() -> None:
    SCANNER.scan(FULL)
    cost = cost_of(lambda: SCANNER.scan(FULL), 3)
    kb = len(FULL.encode()) / 1024
    assert cost.calls / kb <= 325
    assert cost.lines / kb <= 495


def test_what_is_open_at_the_end_of_korean_words_is_told_at_once() -> None:
    cost = cost_of(lambda: SCANNER.may_begin(LETTERS), 3)
    assert cost.calls <= 26
    assert cost.lines <= 24
