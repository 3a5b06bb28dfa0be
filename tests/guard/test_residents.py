"""Thirteen digits: people born long ago or on no day at all, and companies."""

import pytest
from tests.guard.examples import SCANNER, found

PERSON = "resident_number"


@pytest.mark.parametrize(
    "written",
    [
        "900101-1234567",
        "900101 1234567",
        "900101 - 1234567",
        "900101- 1234567",
        "900101–1234567",
        "900101—1234567",
        "900101−1234567",
        "900101－1234567",
        "900101ㅡ1234567",
        "900101·1234567",
        "900101--1234567",
        "900101-\n1234567",
        "900101\u200b-1234567",
        "９００１０１-１２３４５６７",
        "𝟗00101-1234567",
    ],
)
@pytest.mark.parametrize("around", ["{}", "번호 {}로", "({})", "값={};", "v{}", "{}님", "| {} |"])
def test_any_dash_any_width_any_particle(written: str, around: str) -> None:
    assert found(around.format(written)) == [(PERSON, written)]


@pytest.mark.parametrize(
    "text",
    [
        "901301-1234567",  # the thirteenth month
        "900230-1234567",
        "900101-12345678",
        "1900101-1234567",
        "900101.1234567",
        "900101,1234567",
        "500101-3234567",  # born in 2050
        "9001011234567",  # bare, with a wrong check digit
        "1764547200123",
        "송장번호 9001011234568",
        "8801234567893",
    ],
)
def test_what_is_no_number_of_a_person(text: str) -> None:
    assert not [one for one in found(text) if one[0] in (PERSON, "foreigner_number")]


def test_bare_digits_need_a_word_or_the_check_digit() -> None:
    assert found("주민번호 9001011234567") == [(PERSON, "9001011234567")]
    assert [last for last in range(10) if found(f"값 900101123456{last}")] == [8]


@pytest.mark.parametrize("century", "567 8".replace(" ", ""))
def test_foreigners(century: str) -> None:
    written = f"000101-{century}234567"
    assert found(f"외국인 {written}이고") == [("foreigner_number", written)]


@pytest.mark.parametrize("century", "90")
def test_born_before_1900(century: str) -> None:
    assert found(f"번호 980101-{century}234567") == [(PERSON, f"980101-{century}234567")]


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("법인등록번호 110111-1234569", "corporate_number"),
        ("법인등록번호 110111-1234560", "corporate_number"),  # wrong, but told
        ("130111-0006246", "corporate_number"),  # published; would be born in 1813
        ("110111-1129497", "corporate_number"),  # published; would be born in 1911
        ("주민등록번호 110111-1129497", PERSON),
        ("110111-3234567", PERSON),  # a child of 2011
        ("법인 대표자 주민번호 900101-1234567", PERSON),
    ],
)
def test_companies_are_told_from_people(text: str, type_: str) -> None:
    assert [one[0] for one in found(text)] == [type_]


def test_surer_with_a_word_and_with_the_check_digit() -> None:
    confidences = [
        SCANNER.scan(text)[0].confidence
        for text in (
            "9001011234568",
            "900101-1234567",
            "900101-1234568",
            "주민번호 900101-1234567",
            "주민번호 900101-1234568",
        )
    ]
    assert confidences == sorted(confidences)
    assert len(set(confidences)) >= 4
