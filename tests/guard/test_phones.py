"""Korean and other phone numbers; nobody has those of 010-1234-5678's kind."""

import pytest
from tests.guard.examples import found


@pytest.mark.parametrize(
    "written",
    [
        "010-1234-5678", "010.1234.5678", "010 1234 5678", "01012345678", "010-12345678",
        "0101234-5678", "010 - 1234 - 5678", "010–1234–5678", "０１０－１２３４－５６７８",
        "(010) 1234-5678", "011-234-5678", "019-1234-5678", "+82-10-1234-5678",
        "+82 (0)10-1234-5678", "+82(0)1012345678", "+821012345678", "+82 10 1234 5678",
        "＋82-10-1234-5678", "82-10-1234-5678", "010-\n1234-5678", "공일공 일이삼사 오육칠팔",
        "영일영-일이삼사-오육칠팔", "공일공일이삼사오육칠팔",
    ],
)  # fmt: skip
@pytest.mark.parametrize("around", ["{}", "전화는 {}로", "연락처({})", '"{}"', "{},"])
def test_mobile_phones(written: str, around: str) -> None:
    assert found(around.format(written)) == [("mobile_phone", written)]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("02-345-6789", "02-345-6789"),
        ("(02)3456-7890로", "(02)3456-7890"),
        ("02)3456-7890", "02)3456-7890"),
        ("031.345.6789", "031.345.6789"),
        ("070-1234-5678", "070-1234-5678"),
        ("0507-1234-5678", "0507-1234-5678"),
        ("전화 0234567890", "0234567890"),
        ("+82-2-345-6789", "+82-2-345-6789"),
        ("+82 64 345 6789", "+82 64 345 6789"),
    ],
)
def test_other_phones_of_korea(text: str, written: str) -> None:
    assert found(text) == [("phone", written)]


@pytest.mark.parametrize(
    "written",
    ["+1 415-555-2671", "+1 (415) 555-2671", "+44 20 7946 0958", "+81 90-1234-5678",
     "+86 138 0013 8000", "+4915123456789"],
)  # fmt: skip
def test_phones_of_other_countries(written: str) -> None:
    assert found(f"call {written} now") == [("foreign_phone", written)]


@pytest.mark.parametrize(
    "text",
    ["1588-1234", "대표번호 1644-1234", "0234567890", "010-1234-56789", "0010-1234-5678",
     "010-123-456", "0.01012345678", "a01012345678b", "+999 1234 5678", "+1 2345", "3 + 4155552671",
     "2026-010-1234-5678", "공일공 일이삼", "구공일공일이삼사오육칠팔", "02-12-3456"],
)  # fmt: skip
def test_not_found(text: str) -> None:
    assert found(text) == []


def test_half_a_pair_of_brackets() -> None:
    assert found("010)1234-5678") == [("mobile_phone", "010)1234-5678")]
