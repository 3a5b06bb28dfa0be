"""Passports, licences, customs codes, insurance, service, plates, link codes, dates of birth."""

import pytest
from tests.guard.examples import found

CI = "Ab3+" * 21 + "Zz=="
DI = "Ab3/" * 16


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("M123A4567", "M123A4567"),
        ("여권번호는M123A4567입니다", "M123A4567"),
        ("여권 m123a4567", "m123a4567"),
        ("여권번호 M12345678로", "M12345678"),
        ("passport: G12345678", "G12345678"),
        ("Passport no. S12345678.", "S12345678"),
        ("여권번호 PM1234567이고", "PM1234567"),
    ],
)
def test_passports(text: str, written: str) -> None:
    assert found(text) == [("passport", written)]


@pytest.mark.parametrize(
    "text", ["M12345678", "m123a4567", "PM1234567", "XM123A4567", "M123A45678", "여권 A12345678"]
)
def test_no_passports(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("11-12-345678-90로", "11-12-345678-90"),
        ("28–12–345678–90", "28–12–345678–90"),
        ("면허번호 111234567890", "111234567890"),
        ("driver's license 11 12 345678 90", "11 12 345678 90"),
        ("서울 12-345678-90입니다", "서울 12-345678-90"),
        ("경기12-345678-90", "경기12-345678-90"),
    ],
)
def test_licences(text: str, written: str) -> None:
    assert found(text) == [("driver_licence", written)]


@pytest.mark.parametrize(
    "text", ["202611301355", "111234567890", "27-12-345678-90", "10-12-345678-90", "12-345678-90"]
)
def test_no_licences(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "type_", "written"),
    [
        ("통관부호 P123456789012를", "customs_code", "P123456789012"),
        ("건강보험증 번호 1-1234567890", "health_insurance", "1-1234567890"),
        ("건강보험증번호: 11234567890", "health_insurance", "11234567890"),
        ("군번 12-76012345입니다", "military_number", "12-76012345"),
        ("CI는 " + CI + " 입니다", "ci_di", CI),
        ("DI: " + DI + " 끝", "ci_di", DI),
        ("12가3456", "vehicle_plate", "12가3456"),
        ("123가4567 차", "vehicle_plate", "123가4567"),
        ("차량번호 12가 3456이", "vehicle_plate", "12가 3456"),
        ("서울 12가 3456", "vehicle_plate", "12가 3456"),
    ],
)
def test_others(text: str, type_: str, written: str) -> None:
    assert found(text) == [(type_, written)]


@pytest.mark.parametrize(
    "text",
    ["P12345678901", "XP123456789012", "1-1234567890", "12-76012345", DI, "A" * 90, "12가 3456",
     "10조5000억", "10조 5000억", "1,012가3456", "12각3456", "12가34567", "2.12가3456"],
)  # fmt: skip
def test_no_others(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("생년월일 1990-01-02", "1990-01-02"),
        ("생년월일은 1990년 1월 2일이고", "1990년 1월 2일"),
        ("생일: 19900102", "19900102"),
        ("생년월일 900102입니다", "900102"),
        ("생년월일: 90.01.02.", "90.01.02"),
        ("출생 90/1/2", "90/1/2"),
        ("DOB: 01/02/1990", "01/02/1990"),
        ("date of birth: 1990.1.2", "1990.1.2"),
        ("Birthday 25/12/1990", "25/12/1990"),
    ],
)
def test_dates_of_birth(text: str, written: str) -> None:
    assert found(text) == [("birth_date", written)]


@pytest.mark.parametrize(
    "text",
    ["1990-01-02", "회의는 1990년 1월 2일", "생년월일 1990-13-02", "생년월일 901302",
     "생일 1월 2일",
     "born 2026", "생년월일 90.13.02", "DOB: 31/31/1990", "생년월일 90.01.02.03"],
)  # fmt: skip
def test_no_dates_of_birth(text: str) -> None:
    assert found(text) == []
