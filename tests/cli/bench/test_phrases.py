"""What the bench remarks, in the reader's words."""

import re
from pathlib import Path

import pytest

import proa.bench
from proa.bench.remark import Remark
from proa.cli.bench.phrases import remarks_told
from proa.cli.texts import LANGUAGES, Texts, texts_of

SOURCE = Path(proa.bench.__file__).parent


def test_every_remark_has_its_words_and_no_words_are_left_over() -> None:
    code = "\n".join(path.read_text() for path in SOURCE.rglob("*.py"))
    for language in LANGUAGES:
        texts = texts_of("bench_report")[language]
        keys = {key.removeprefix("told_") for key in texts if key.startswith("told_")}
        written = {key for key in keys if re.search(rf'"{key}"', code)}
        assert keys - written <= {"input_length", "output_length"}
    assert set(re.findall(r'Remark\("(\w+)"', code)) <= keys


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "stamps are late by 2.5 ms (P99)"),
        ("ko", "시각 기록이 2.5 ms 늦습니다(P99)"),
    ],
)
def test_values_stand_in_the_words(language: str, said: str) -> None:
    remark = Remark("stamps_late", {"stamp_delay_p99_s": 0.0025})
    assert remarks_told([remark], Texts("bench_report", language)) == [said]
