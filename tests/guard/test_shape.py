"""What a shape denies is not there."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.guard.corpus import samples

from proa.guard.papers import plates
from proa.guard.runs import runs
from proa.guard.shape import Shape

CODE = re.compile("[0-9](?:(?<=[A-Za-z_+/=-].)|(?=[A-Za-z_+/=-]))")
PARTED = re.compile("[.:][0-9A-Fa-f]{0,4}[.:]")
CHARS = (
    "0019ab_-+=/.:() \n\t가나다라é\u00b7\u00a0\u2013\u200b\u2212\u3000ㅡー０－．＠\U0001d7ce😀“…"
)


@given(text=st.text(st.sampled_from(CHARS) | st.characters(), max_size=40))
@example(text="12가 3456")
@example(text="1 (0)-2. 3\n4 5 6 7")
@example(text="\ud800 123456789")
def test_what_it_denies_is_not_there(text: str) -> None:
    shape = Shape(text)
    assert shape.has_run or not list(runs(text))
    assert shape.has_plate or not list(plates(text))
    assert shape.has_code or not CODE.search(text)
    assert shape.has_parts or not PARTED.search(text)
    assert shape.has_digit or not re.search("[0-9０-９]", text)


def test_nor_in_the_corpus() -> None:
    for sample in samples(9, 300):
        test_what_it_denies_is_not_there.hypothesis.inner_test(sample.text)  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["회의는 “3월” 2026년 · 예산 … →", "오늘은 12,000원과 3.5% 이다."])
def test_prose_has_little(text: str) -> None:
    shape = Shape(text.replace("·", ","))
    assert (shape.has_run, shape.has_plate, shape.has_code) == (False, False, False)
