"""Cards, accounts and IBANs; the card numbers are those that schemes publish for tests."""

import pytest
from tests.guard.examples import SCANNER, found


@pytest.mark.parametrize(
    "written",
    ["4111111111111111", "4111-1111-1111-1111", "4111 1111 1111 1111",
     "４１１１－１１１１－１１１１－１１１１",
     "5555-5555-5555-4444", "2221-0000-0000-0009", "2720-9900-0000-0007", "3782-822463-10005",
     "378282246310005", "3056-930902-5904", "6011-1111-1111-1117", "3530-1113-3330-0000",
     "9410-1234-5678-9010"],
)  # fmt: skip
@pytest.mark.parametrize("around", ["카드 {}로 결제", "card: {}", "결제({})"])
def test_cards(written: str, around: str) -> None:
    assert found(around.format(written)) == [("card", written)]


@pytest.mark.parametrize(
    "text",
    ["4111-1111-1111-1112", "7111-1111-1111-1114", "4111-1111-1111-1111-1", "0.4111111111111111",
     "4111-111111-11111", "주문번호 4111111111111111", "운송장번호 4111-1111-1111-1111",
     "41111111111111111"],
)  # fmt: skip
def test_no_cards(text: str) -> None:
    assert "card" not in [one[0] for one in found(text)]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("계좌번호 302-1234-5678-91로", "302-1234-5678-91"),
        ("입금은 110-123-456789", "110-123-456789"),
        ("예금주 김, 123456-01-234567", "123456-01-234567"),
        ("신한 110-123-456789로", "110-123-456789"),
        ("카뱅 3333-01-1234567", "3333-01-1234567"),
        ("토스(1000-1234-5678)", "1000-1234-5678"),
        ("카카오뱅크 3333011234567", "3333011234567"),
        ("계좌번호: 123 456 789012", "123 456 789012"),
        ("account no. 123-456-789012", "123-456-789012"),
    ],
)
def test_accounts(text: str, written: str) -> None:
    assert found(text) == [("bank_account", written)]


@pytest.mark.parametrize(
    "text",
    ["110-123-456789", "송장 110-123-456789", "계좌를 만든 날은 2026-11-30", "계좌 12345",
     "계좌 이야기는 그만하고, 다음 주에는 부품을 주문해야 합니다. 부품은 110-123-456789",
     "우리 2026년", "하나 1234567890", "계좌 수 1,234,567,890"],
)  # fmt: skip
def test_no_accounts(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "written", ["DE89370400440532013000", "DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819"]
)
def test_ibans(written: str) -> None:
    assert found(f"IBAN {written} ABC") == [("iban", written)]
    assert found(f"IBAN {written[:2]}00{written[4:]}") == []


def test_a_card_without_any_sign_of_one_is_the_least_sure() -> None:
    texts = ("4111111111111111", "4111-1111-1111-1111", "카드 4111111111111111")
    confidences = [SCANNER.scan(text)[0].confidence for text in texts]
    assert confidences == sorted(set(confidences))
