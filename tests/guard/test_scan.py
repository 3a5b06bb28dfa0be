"""What a scanner takes for what, example by example; all people and numbers are made up."""

import pytest

from proa.errors import FieldError
from proa.guard.detectors import DetectorSpec
from proa.guard.scan import Scanner
from proa.guard.types import LABELS

SCANNER = Scanner()


def found(text: str, scanner: Scanner = SCANNER) -> list[tuple[str, str]]:
    return [(one.type, text[one.start : one.end]) for one in scanner.scan(text)]


# What presidio-analyzer 0aa9f8e, the regex mode of the production stack, LiteLLM and the
# guardrails of OpenAI miss or invent, by their sources.
MISSED_BY_PEERS = [
    ("번호 900101 - 1234567 확인", "resident_number", "900101 - 1234567"),
    ("번호 900101–1234567 확인", "resident_number", "900101–1234567"),
    ("번호 ９００１０１－１２３４５６７ 확인", "resident_number", "９００１０１－１２３４５６７"),
    ("번호 900101 1234567 확인", "resident_number", "900101 1234567"),
    ("번호 980101-9234567 확인", "resident_number", "980101-9234567"),
    ("번호 980101-0234567 확인", "resident_number", "980101-0234567"),
    ("주민번호는 9001011234567입니다", "resident_number", "9001011234567"),
    ("여권번호 G12345678", "passport", "G12345678"),
    ("여권 M123A4567를", "passport", "M123A4567"),
    ("카드 4111111111111111로 결제", "card", "4111111111111111"),
    ("카드 9410-1234-5678-9010로", "card", "9410-1234-5678-9010"),
    ("카드 2221-0000-0000-0009로", "card", "2221-0000-0000-0009"),
    ("전화는 010-1234-5678로", "mobile_phone", "010-1234-5678"),
    ("공일공 일이삼사 오육칠팔로 전화", "mobile_phone", "공일공 일이삼사 오육칠팔"),
    ("사무실 02-345-6789", "phone", "02-345-6789"),
    ("계좌번호 302-1234-5678-91", "bank_account", "302-1234-5678-91"),
    ("통관부호 P123456789012를", "customs_code", "P123456789012"),
    ("사업자 220-81-62517 (공개된 번호)", "business_number", "220-81-62517"),
    ("법인등록번호 110111-1234569", "corporate_number", "110111-1234569"),
    ("서울특별시 강남구 테헤란로 12로", "address", "서울특별시 강남구 테헤란로 12"),
    ("홍길동@예시.한국으로", "email", "홍길동@예시.한국"),
    ("메일은 a.b@example.co.kr로", "email", "a.b@example.co.kr"),
]


@pytest.mark.parametrize(("text", "type_", "written"), MISSED_BY_PEERS)
def test_what_peers_miss_is_found(text: str, type_: str, written: str) -> None:
    assert found(text) == [(type_, written)]


@pytest.mark.parametrize(
    "text",
    [
        "시각 202611301355 기록",  # a region of driver's licences, no more
        "시각 1700000004 초",  # one in ten Unix times has a business number's check digit
        "timestamp=1764547200",
        "ts 1764547200123",
        "바코드 8801234567893",
        "주문번호 20261130-0001234",
        "버전 10.0.19.41 이상",
        "0.4111111111111111",
        "550e8400-e29b-41d4-a716-446655440000",
        "서울 04524 우편번호",
        "10조 5000억",
        "12월 3456건",
        "12:34:56 std::vector<int> a::b",
        "password: required, password = None",
        "@app.route('/') user@host",
        "2026-11-30 12:30:45.123456",
    ],
)
def test_what_only_looks_like_it_is_not_found(text: str) -> None:
    assert found(text) == []


def test_a_wrong_check_digit_rejects_no_resident_number() -> None:
    for last in range(10):
        assert found(f"900101-123456{last}")[0][0] == "resident_number"
        assert found(f"900101-523456{last}")[0][0] == "foreigner_number"


def test_a_right_check_digit_makes_surer() -> None:
    sure = {SCANNER.scan(f"900101-123456{last}")[0].confidence for last in range(10)}
    assert len(sure) == 2


def test_offsets_are_of_the_original_text() -> None:
    text = "\u200b가９００１０１\u200b－\u200b１２３４５６７는"
    [one] = SCANNER.scan(text)
    assert text[one.start : one.end] == "９００１０１\u200b－\u200b１２３４５６７"


def test_only_the_types_asked_for() -> None:
    text = "010-1234-5678 a@example.com 900101-1234567"
    assert found(text, Scanner(frozenset(("email",)))) == [("email", "a@example.com")]
    with pytest.raises(FieldError, match="types"):
        Scanner(frozenset(("e-mail",)))


def test_private_networks_can_be_left_out() -> None:
    text = "10.1.2.3 fd00::1:2 8.8.8.8"
    assert found(text, Scanner(private_addresses=False)) == [("ip_address", "8.8.8.8")]
    assert len(found(text)) == 3


def test_each_type_has_two_labels() -> None:
    assert all(korean and english.isupper() for korean, english in LABELS.values())


@pytest.mark.parametrize("text", ["안녕하세요, 반갑습니다", "오늘 날씨가 맑습니다 ", "네.\n", ""])
def test_korean_words_are_not_held(text: str) -> None:
    assert SCANNER.may_begin(text) == len(text)


EMPLOYEE = DetectorSpec(name="employee_number", pattern=r"E-[0-9]{6}", context=("사번",))


def test_a_detector_of_the_users() -> None:
    scanner = Scanner(detectors=(EMPLOYEE,))
    assert found("사번은 E-123456입니다. E-1", scanner) == [("employee_number", "E-123456")]
    assert found("부품 E-123456", scanner) == []


def test_a_detector_with_a_check_rule() -> None:
    spec = DetectorSpec(name="member", pattern=r"M[0-9]{8}", checksum="luhn")
    only_digits = DetectorSpec(name="member", pattern=r"[0-9]{8}", checksum="luhn")
    assert found("M12345674", Scanner(frozenset(), (spec,))) == []  # the M is no digit
    assert found("M12345674", Scanner(frozenset(), (only_digits,))) == [("member", "12345674")]
    assert found("M12345675", Scanner(frozenset(), (only_digits,))) == []


@pytest.mark.parametrize(
    ("field", "spec"),
    [
        ("pattern", DetectorSpec(name="x", pattern=r"(a)\1")),
        ("pattern", DetectorSpec(name="x", pattern=r"(?=a)b")),
        ("pattern", DetectorSpec(name="x", pattern=r"(")),
        ("pattern", DetectorSpec(name="x", pattern=r"a*")),
        ("name", DetectorSpec(name="email", pattern=r"a")),
        ("name", DetectorSpec(name="사번", pattern=r"a")),
        ("checksum", DetectorSpec(name="x", pattern=r"a", checksum="crc")),
    ],
)
def test_a_detector_that_cannot_be_used_names_its_field(
    field: str, spec: DetectorSpec, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(FieldError) as raised:
        Scanner(detectors=(spec,))
    assert raised.value.field == field
    assert capfd.readouterr().err == ""
