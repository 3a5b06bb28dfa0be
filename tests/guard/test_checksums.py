"""Check rules, by published numbers of companies, of cards for tests, of the IBAN registry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.guard import checksums


@pytest.mark.parametrize(
    ("rule", "digits"),
    [
        ("luhn", "4111111111111111"),
        ("luhn", "378282246310005"),
        ("business", "2208162517"),
        ("business", "1248100998"),
        ("corporate", "1301110006246"),
        ("corporate", "1101111129497"),
        ("iban", "DE89370400440532013000"),
        ("iban", "GB29NWBK60161331926819"),
        ("article", "4006381333931"),
    ],
)
def test_right_and_no_other_last_digit(rule: str, digits: str) -> None:
    check = getattr(checksums, rule)
    assert [last for last in "0123456789" if check(digits[:-1] + last)] == [digits[-1]]


@given(stem=st.text("0123456789", min_size=12, max_size=12))
def test_each_stem_of_a_person_has_a_check_digit(stem: str) -> None:
    for check in (checksums.resident, checksums.foreigner):
        assert sum(check(stem + last) for last in "0123456789") == 1


@pytest.mark.parametrize(
    ("digits", "year"),
    [("9001011", 1990), ("0001013", 2000), ("9801019", 1898), ("9801010", 1898), ("9001015", 1990),
     ("0001018", 2000), ("9013011", None), ("9002301", None), ("5001013", None), ("0002293", 2000),
     ("0002291", None)],
)  # fmt: skip
def test_born(digits: str, year: int | None) -> None:
    assert checksums.born(digits) == year
