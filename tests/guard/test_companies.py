"""Business registration numbers; 220-81-62517 is published by its company."""

import pytest
from tests.guard.examples import SCANNER, found


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("220-81-62517", "220-81-62517"),
        ("번호는 ２２０－８１－６２５１７이고", "２２０－８１－６２５１７"),
        ("사업자번호 2208162517", "2208162517"),
        ("사업자번호 220 81 62517", "220 81 62517"),
        ("사업자등록번호 220-81-62510", "220-81-62510"),  # wrong, but told
        ("business registration no. 2208162517", "2208162517"),
    ],
)
def test_found(text: str, written: str) -> None:
    assert found(text) == [("business_number", written)]


@pytest.mark.parametrize(
    "text",
    ["2208162517", "220-81-62510", "220 81 62517", "220-81-625170", "1-220-81-62517",
     "220-8162517", "사업자번호 2208162510"],
)  # fmt: skip
def test_not_found(text: str) -> None:
    assert found(text) == []


def test_no_time_of_a_whole_day_is_a_business_number() -> None:
    text = "\n".join(f"{second} GET /" for second in range(1_764_547_200, 1_764_633_600, 7))
    assert SCANNER.scan(text) == []
