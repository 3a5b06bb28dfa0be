"""Texts made to be slow take time in proportion to their length."""

import time
from collections.abc import Callable

import pytest

from proa.guard.scan import Scanner

REPEATED = (
    "0",
    "1-",
    "@",
    "a@",
    "a@a.",
    "1 ",
    "12-",
    "0-",
    "010-",
    "900101-1",
    ":",
    "1:",
    "::",
    "f",
    "1.",
    "eyJ",
    "eyJaaaaaaaa.",
    "sk-",
    "ghp_",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----\n",
    "password=",
    "비밀번호 ",
    "서울 강남구 ",
    "서울 강남구 테헤란로 ",
    "공",
    "공일",
    "+1",
    "+12345678 ",
    "12가 345 ",
    "생년월일 ",
    "1990년 ",
    "DE44 ",
    "AAAA ",
    "M123A",
    "aaaaaaaaaaaaaaaaaaa ",
    "a.",
    "xn--",
    "１",
    "1\u200b",
    "1\n",
    "4111-1111-",
    "계좌 1234567890",
    "가@가.",
    "1.1.1.1 ",
    "서울 12-",
    "a@b.kr 900101-1234567 ",
    "여권 ",
    "여권 PM1234567 ",
    "신한 110-123-456789 ",
    "계좌번호 123 456 789012 ",
    "생년월일 90.01.01 ",
    "ａ＠",
    "AWS_SECRET_ACCESS_KEY=",
)
SHORT, TIMES = 10_000, 4
SCANNER = Scanner()


def cpu_s(action: Callable[[], object]) -> float:
    """The least of three."""
    took = []
    for _ in range(3):
        start = time.process_time()
        action()
        took.append(time.process_time() - start)
    return min(took)


def repeated(unit: str, chars: int) -> str:
    return (unit * (chars // len(unit) + 1))[:chars]


@pytest.mark.parametrize("unit", REPEATED)
def test_four_times_the_text_takes_no_more_than_eight_times_the_time(unit: str) -> None:
    short, long = repeated(unit, SHORT), repeated(unit, TIMES * SHORT)
    SCANNER.scan(short)  # what is imported and compiled once
    least_s = max(cpu_s(lambda: SCANNER.scan(short)), 2e-3)
    assert cpu_s(lambda: SCANNER.scan(long)) < 2 * TIMES * least_s  # sixteen times, were it square


@pytest.mark.parametrize("unit", ["0", "1-", "@", "900101-", "서울 강남구 "])
def test_a_megabyte_of_one_thing_in_slices(unit: str) -> None:
    text = repeated(unit, 1 << 20)
    pieces = list(SCANNER.scan_slices(text, 1 << 16))
    assert not any(pieces)
    assert pieces.count(None) >= 15


@pytest.mark.parametrize("unit", REPEATED)
def test_what_is_open_at_the_end_is_short(unit: str) -> None:
    text = repeated(unit, SHORT)
    assert len(text) - 64 <= SCANNER.may_begin(text) <= len(text)
