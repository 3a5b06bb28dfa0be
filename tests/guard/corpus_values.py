"""Made-up values of every structured type, with the words that stand before them."""

import base64
import json
import string
from collections.abc import Callable
from datetime import date, timedelta
from random import Random
from typing import NamedTuple

from proa.guard import checksums


class Value(NamedTuple):
    """`written` is the value alone; `word` stands before it, and must where `needs_word`."""

    written: str
    words: tuple[str, ...]
    needs_word: bool = False


def digits(random: Random, count: int) -> str:
    return "".join(random.choices(string.digits, k=count))


def _letters(random: Random, count: int, alphabet: str = string.ascii_letters) -> str:
    return "".join(random.choices(alphabet, k=count))


def checked(stem: str, check: Callable[[str], bool]) -> str:
    """`stem` with the last digit that the rule asks for."""
    return next(stem + last for last in string.digits if check(stem + last))


def _born(random: Random, first: date, last: date) -> date:
    return first + timedelta(random.randrange((last - first).days))


def _thirteen(
    random: Random,
    centuries: dict[str, tuple[date, date]],
    check: Callable[[str], bool],
    words: tuple[str, ...],
) -> Value:
    digit = random.choice(list(centuries))
    stem = f"{_born(random, *centuries[digit]):%y%m%d}{digit}"
    is_new = random.random() < 0.5  # random digits, as since October 2020
    number = stem + digits(random, 6) if is_new else checked(stem + digits(random, 5), check)
    if random.random() < 0.15:
        return Value(number, words, needs_word=True)
    between = random.choice(
        ("-", "-", "-", "-", " - ", "–", "－", " ", "−", "\u200b-", "- ", "-\n")
    )
    return Value(number[:6] + between + number[6:], words)


def resident(random: Random) -> Value:
    last = {digit: (date(1930, 1, 1), date(1999, 12, 31)) for digit in "12"}
    this = {digit: (date(2000, 1, 1), date(2023, 12, 31)) for digit in "34"}
    return _thirteen(
        random,
        last | this,
        checksums.resident,
        ("주민등록번호", "주민번호", "주민등록번호:", "RRN", "resident number"),
    )


def foreigner(random: Random) -> Value:
    last = {digit: (date(1930, 1, 1), date(1999, 12, 31)) for digit in "56"}
    this = {digit: (date(2000, 1, 1), date(2023, 12, 31)) for digit in "78"}
    return _thirteen(
        random,
        last | this,
        checksums.foreigner,
        ("외국인등록번호", "국내거소신고번호", "alien registration number"),
    )


def passport(random: Random) -> Value:
    words = ("여권번호", "여권 번호는", "passport no.", "Passport:")
    if random.random() < 0.3:
        return Value(random.choice("MSRGD") + digits(random, 8), words, needs_word=True)
    if random.random() < 0.1:
        old = _letters(random, 2, string.ascii_uppercase) + digits(random, 7)
        return Value(old, words, needs_word=True)
    new = random.choice("MSRGD") + digits(random, 3) + _letters(random, 1, string.ascii_uppercase)
    return Value(new + digits(random, 4), words)


def licence(random: Random) -> Value:
    words = ("운전면허번호", "면허 번호:", "driver's license")
    region = random.choice(["28", *map(str, range(11, 27))])
    rest = digits(random, 2), digits(random, 6), digits(random, 2)
    kind = random.random()
    if kind < 0.15:
        return Value(region + "".join(rest), words, needs_word=True)
    if kind < 0.3:
        return Value(f"{random.choice(('서울', '경기', '부산'))} {'-'.join(rest)}", words)
    return Value("-".join((region, *rest)), words)


def business(random: Random) -> Value:
    words = ("사업자등록번호", "사업자번호", "사업자 등록번호:", "business registration no.")
    stem = f"{random.randrange(101, 1000)}{random.randrange(1, 100):02}{digits(random, 4)}"
    number = checked(stem, checksums.business)
    if random.random() < 0.2:
        return Value(number, words, needs_word=True)
    if random.random() < 0.1:
        return Value(f"{number[:3]} {number[3:5]} {number[5:]}", words, needs_word=True)
    return Value(f"{number[:3]}-{number[3:5]}-{number[5:]}", words)


def mobile(random: Random) -> Value:
    words = ("휴대폰", "연락처", "전화번호", "mobile", "HP", "핸드폰 번호는")
    kind = random.random()
    if kind < 0.1:
        middle = str(random.randrange(200, 1000))
        number = (random.choice(("011", "016", "017", "018", "019")), middle, digits(random, 4))
    else:
        number = ("010", digits(random, 4), digits(random, 4))
    between = random.choice(("-", "-", "-", "-", ".", " ", "", "–", "－", "ㅡ"))
    written = between.join(number)
    if kind > 0.9:
        written = random.choice(
            (
                "+82-10-{1}-{2}",
                "+82 (0)10-{1}-{2}",
                "+82 10 {1} {2}",
                "+8210{1}{2}",
                "(010) {1}-{2}",
            )
        ).format(*number)
    return Value(written, words)


def phone(random: Random) -> Value:
    words = ("전화", "사무실", "대표번호", "fax", "문의", "Tel")
    areas = (
        "02",
        "031",
        "032",
        "033",
        "041",
        "042",
        "051",
        "053",
        "055",
        "061",
        "064",
        "070",
        "0502",
    )
    number = (random.choice(areas), str(random.randrange(200, 10000)), digits(random, 4))
    form = random.choice(("{0}-{1}-{2}", "{0}-{1}-{2}", "({0}) {1}-{2}", "{0}.{1}.{2}"))
    return Value(form.format(*number), words)


CARD_STEMS = ("4", "51", "55", "2221", "2720", "9", "35", "62", "65", "6011")


def card(random: Random) -> Value:
    words = ("카드번호", "신용카드", "card number", "결제 카드:")
    if random.random() < 0.1:
        stem = random.choice(("34", "37"))
        number = checked(stem + digits(random, 12), checksums.luhn)
        return Value(f"{number[:4]}-{number[4:10]}-{number[10:]}", words)
    stem = random.choice(CARD_STEMS)
    number = checked(stem + digits(random, 15 - len(stem)), checksums.luhn)
    if random.random() < 0.2:
        return Value(number, words, needs_word=True)
    between = random.choice(("-", "-", " ", "–"))
    return Value(between.join(number[place : place + 4] for place in range(0, 16, 4)), words)


ACCOUNT_SHAPES = (
    (3, 3, 6),
    (3, 4, 4, 2),
    (6, 2, 6),
    (3, 6, 5),
    (4, 3, 6),
    (3, 6, 2, 3),
    (4, 2, 7),
    (3, 2, 6),
)


def account(random: Random) -> Value:
    words = (
        "계좌번호",
        "입금 계좌:",
        "국민은행",
        "농협",
        "신한은행 계좌",
        "카카오뱅크",
        "account no.",
    )
    groups = [digits(random, length) for length in random.choice(ACCOUNT_SHAPES)]
    groups[0] = random.choice("123456789") + groups[0][1:]
    kind = random.random()
    if kind < 0.1:
        return Value("-".join(groups), ("신한", "카뱅", "토스", "국민"), needs_word=True)
    if kind < 0.2:
        return Value(" ".join(groups), ("계좌번호", "계좌"), needs_word=True)
    between = "" if kind < 0.35 else "-"
    return Value(between.join(groups), words, needs_word=True)


def customs(random: Random) -> Value:
    return Value("P" + digits(random, 12), ("개인통관고유부호", "통관번호", "customs code"))


_PLACES = (
    "서울특별시 강남구",
    "서울 마포구",
    "부산광역시 해운대구",
    "경기도 성남시 분당구",
    "경기 수원시 팔달구",
    "대전 유성구",
    "제주특별자치도 제주시",
    "충북 청주시 상당구",
    "전라남도 순천시",
    "세종특별자치시",
)
_ROADS = (
    "테헤란로",
    "월드컵북로",
    "센텀중앙로",
    "판교역로",
    "정조로",
    "대학로",
    "첨단로",
    "중앙로14번길",
    "한누리대로",
    "병천면 아우내1길",
    "종로구 백범로3길",
)


def address(random: Random) -> Value:
    words = ("주소", "배송지:", "거주지는", "address:")
    number = str(random.randrange(1, 900)) + random.choice(("", "", f"-{random.randrange(1, 40)}"))
    inside = random.choice(
        (
            "",
            "",
            f", {random.randrange(101, 130)}동 {random.randrange(101, 999)}호",
            f" {random.randrange(1, 30)}층",
        )
    )
    if random.random() < 0.2:
        lot = random.choice(("역삼동", "성산동", "우동", "정자동"))
        return Value(f"{random.choice(_PLACES)} {lot} {number}{random.choice(('', '번지'))}", words)
    return Value(f"{random.choice(_PLACES)} {random.choice(_ROADS)} {number}{inside}", words)


def plate(random: Random) -> Value:
    words = ("차량번호", "차 번호", "번호판", "주차 차량")
    front = str(random.randrange(10, 700)) + random.choice("가나다라마거너더러머버서어고노도로모보")
    gap = random.choice(("", " "))
    return Value(f"{front}{gap}{digits(random, 4)}", words, needs_word=gap != "")


def insurance(random: Random) -> Value:
    words = ("건강보험증 번호", "보험증번호", "health insurance number")
    return Value(f"{random.randrange(1, 9)}-{digits(random, 10)}", words, needs_word=True)


def military(random: Random) -> Value:
    return Value(
        f"{random.randrange(10, 25)}-{digits(random, 8)}",
        ("군번", "군번은", "military number"),
        needs_word=True,
    )


def link(random: Random) -> Value:
    if random.random() < 0.5:
        return Value(
            base64.b64encode(random.randbytes(64)).decode(), ("CI", "연계정보"), needs_word=True
        )
    return Value(
        base64.b64encode(random.randbytes(48)).decode(),
        ("DI", "중복가입확인정보 DI"),
        needs_word=True,
    )


def birth(random: Random) -> Value:
    day = _born(random, date(1930, 1, 1), date(2020, 1, 1))
    form = random.choice(
        (
            f"{day:%Y-%m-%d}",
            f"{day:%Y.%m.%d}",
            f"{day:%y%m%d}",
            f"{day:%Y%m%d}",
            f"{day.year}년 {day.month}월 {day.day}일",
            f"{day.year}. {day.month}. {day.day}",
            f"{day:%y.%m.%d}",
            f"{day:%y/%m/%d}",
            f"{day:%m/%d/%Y}",
        )
    )
    return Value(form, ("생년월일", "생일은", "date of birth:", "생년월일:"), needs_word=True)


def email(random: Random) -> Value:
    words = ("이메일", "메일", "email", "e-mail:", "문의")
    if random.random() < 0.1:
        return Value(
            random.choice(("홍길동@예시.한국", "김서버@example.com", "문의@회사.kr")), words
        )
    local = _letters(random, random.randrange(2, 8), string.ascii_lowercase)
    local += random.choice(("", ".", "_", "-", "+")) + _letters(random, 2, string.ascii_lowercase)
    local += digits(random, random.randrange(3))
    domain = random.choice(
        (
            "example.com",
            "example.co.kr",
            "mail.example.org",
            "xn--vk1b.xn--3e0b707e",
            "sub.example.net",
        )
    )
    return Value(f"{local}@{domain}", words)


def ip(random: Random) -> Value:
    words = ("접속 IP", "IP 주소:", "client", "서버 주소는", "from")
    if random.random() < 0.3:
        groups = [f"{random.randrange(1, 65536):x}" for _ in range(8)]
        groups[0] = f"{random.choice((0x2001, 0x2404, 0xFE80, 0xFD00)):x}"
        return Value(
            random.choice((":".join(groups), ":".join(groups[:3]) + "::" + ":".join(groups[-2:]))),
            words,
        )
    return Value(".".join(str(random.randrange(1, 255)) for _ in range(4)), words)


IBAN_LENGTHS = {"DE": 18, "FR": 23, "GB": 18, "CH": 17, "NL": 14}


def iban(random: Random) -> Value:
    country = random.choice(list(IBAN_LENGTHS))
    bank = (
        _letters(random, 4, string.ascii_uppercase)
        if country in ("GB", "NL")
        else digits(random, 4)
    )
    rest = bank + digits(random, IBAN_LENGTHS[country] - 4)
    check = next(f"{n:02}" for n in range(2, 99) if checksums.iban(f"{country}{n:02}{rest}"))
    number = f"{country}{check}{rest}"
    if random.random() < 0.5:
        number = " ".join(number[place : place + 4] for place in range(0, len(number), 4))
    return Value(number, ("IBAN", "해외 송금 IBAN:", "iban"))


def foreign(random: Random) -> Value:
    form = random.choice(
        (
            "+1 202 555 01##",
            "+1-212-555-01##",
            "+44 20 7946 0###",
            "+81 3 1234 5###",
            "+81-90-1234-56##",
            "+49 30 1234 56##",
            "+33 1 99 00 12 ##",
            "+86 138 1234 56##",
        )
    )
    return Value(
        "".join(random.choice(string.digits) if c == "#" else c for c in form),
        ("해외 전화", "phone", "연락처", "call"),
    )


_LONG = string.ascii_letters + string.digits


def api_key(random: Random) -> Value:
    made = random.choice(
        (
            lambda: "sk-" + _letters(random, 48, _LONG),
            lambda: "AKIA" + _letters(random, 16, string.ascii_uppercase + "234567"),
            lambda: "ghp_" + _letters(random, 36, _LONG),
            lambda: "hf_" + _letters(random, 34, _LONG),
            lambda: "AIza" + _letters(random, 35, _LONG + "_-"),
            lambda: "xoxb-" + digits(random, 12) + "-" + _letters(random, 24, _LONG),
            lambda: "sk-proj-" + _letters(random, 40, _LONG + "_"),
            lambda: "glpat-" + _letters(random, 20, _LONG),
        )
    )()
    return Value(made[:-1] + "7", ("API 키", "api_key =", "token:", "export KEY="))


def jwt(random: Random) -> Value:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    head = part({"alg": "HS256", "typ": "JWT"})
    body = part({"sub": digits(random, 10)})
    sign = base64.urlsafe_b64encode(random.randbytes(32)).decode().rstrip("=")
    return Value(f"{head}.{body}.{sign}", ("Authorization: Bearer", "토큰", "jwt ="))


def private_key(random: Random) -> Value:
    kind = random.choice(("", "RSA ", "EC ", "OPENSSH "))
    lines = [base64.b64encode(random.randbytes(48)).decode() for _ in range(random.randrange(2, 6))]
    body = "\n".join(lines)
    return Value(
        f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----",
        ("키:\n", "key\n"),
    )


def password(random: Random) -> Value:
    written = (
        _letters(random, 6, string.ascii_letters) + digits(random, 2) + random.choice("!@#$%") + "x"
    )
    return Value(written, ("password=", "비밀번호: ", "PWD=", "passwd: "), needs_word=True)


VALUES: dict[str, Callable[[Random], Value]] = {
    "resident_number": resident,
    "foreigner_number": foreigner,
    "passport": passport,
    "driver_licence": licence,
    "business_number": business,
    "mobile_phone": mobile,
    "phone": phone,
    "card": card,
    "bank_account": account,
    "customs_code": customs,
    "address": address,
    "vehicle_plate": plate,
    "health_insurance": insurance,
    "military_number": military,
    "ci_di": link,
    "birth_date": birth,
    "email": email,
    "ip_address": ip,
    "iban": iban,
    "foreign_phone": foreign,
    "api_key": api_key,
    "jwt": jwt,
    "private_key": private_key,
    "password": password,
}
