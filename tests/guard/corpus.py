"""Texts with made-up personal data in them, and where; and texts that only look like it.

    python -m tests.guard.corpus

prints precision and recall of every type. The same seed gives the same texts.
"""

import string
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from tests.guard.corpus_values import VALUES, Value, checked, digits

from proa.guard import checksums
from proa.guard.finding import Finding
from proa.guard.scan import Scanner

Span = tuple[str, int, int]


class Sample(NamedTuple):
    """A text and what is in it: type, first character, end."""

    text: str
    truth: list[Span]


_SENTENCES = (
    "고객님께서 요청하신 내용을 확인했습니다. ",
    "아래 내용을 표로 정리해 주세요. ",
    "회의는 다음 주 화요일 오후 3시에 시작합니다. ",
    "배송은 2~3일 정도 걸립니다. ",
    "Please summarise the following ticket. ",
    "The customer wrote again yesterday. ",
    "매출은 전년 대비 12.5% 늘어 1,234,567,890원입니다. ",
    "서울은 대한민국의 수도이고 인구는 940만 명이다. ",
    "",
)
_AFTER = (
    "로",
    "입니다.",
    "으로 연락 주세요.",
    "이고",
    " 입니다",
    ".",
    ",",
    "을 사용합니다",
    ")",
    " → 확인 필요",
    "",
    "\n",
    "의",
)
_COMPANY_WORDS = ("법인등록번호", "법인번호:", "corporate registration no.")


def _particle(random: Random, value: Value) -> tuple[str, str]:
    word = random.choice(value.words) if value.needs_word or random.random() < 0.5 else ""
    if word.rstrip().endswith(("=", ":", "\n")):
        return word, random.choice(_AFTER)
    return word + random.choice((" ", " ", ": ", "는 ") if word else ("", "(")), random.choice(
        _AFTER
    )


def _around(random: Random, type_: str, value: Value) -> tuple[str, str]:
    """What stands before and behind a value: prose, a table, JSON, code."""
    before, after = _particle(random, value)
    after = after or random.choice((" ", "\n", "가", "도 "))
    kind = random.random()
    if type_ in ("password", "jwt", "private_key", "api_key", "ci_di", "email", "iban"):
        after = random.choice((" 입니다.", "\n", " ", "를 씁니다"))
    if type_ == "password" and kind < 0.3:
        return before, "\n"
    if kind < 0.1:
        return f"| {before} | ", " | 확인 |\n"
    if kind < 0.2:
        return f'{{"note": "{before}', '", "n": 3}'
    if kind < 0.25:
        return f"customer = '{before}", "'  # 확인\n"
    if kind < 0.3:
        return f"3,{before},", ",완료\n"
    return before, after


def _order(random: Random) -> str:
    return f"주문번호 20{digits(random, 2)}113{random.randrange(2)}-{digits(random, 7)}"


def _barcode(random: Random) -> str:
    stem = "880" + digits(random, 9)
    total = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(stem))
    return f"바코드 {stem}{-total % 10}"


def _corporate(random: Random) -> str:
    court = random.choice(("110111", "110114", "180111", "131111"))
    number = checked(court + digits(random, 6), checksums.corporate)
    return f"{random.choice(_COMPANY_WORDS)} {number[:6]}-{number[6:]}"


def _uuid(random: Random) -> str:
    hexes = "".join(random.choices("0123456789abcdef", k=32))
    return "-".join((hexes[:8], hexes[8:12], hexes[12:16], hexes[16:20], hexes[20:]))


DECOYS: tuple[Callable[[Random], str], ...] = (
    _order,
    _barcode,
    _uuid,
    lambda r: f"접수번호 {digits(r, 14)}번",
    lambda r: f"운송장 {digits(r, 4)}-{digits(r, 4)}-{digits(r, 4)}",
    lambda r: f"timestamp={1_600_000_000 + r.randrange(300_000_000)}",
    lambda r: f"ts: {1_600_000_000_000 + r.randrange(300_000_000_000)}",
    lambda r: f"log_2026{r.randrange(1001, 1231)}{r.randrange(1000, 2359)}.txt",
    lambda r: f"2026-{r.randrange(1, 13):02}-{r.randrange(1, 29):02} 12:{r.randrange(10, 60)}:30",
    lambda r: f"2026. {r.randrange(1, 13)}. {r.randrange(1, 29)}. 오후 {r.randrange(1, 13)}시",
    lambda r: f"총 {r.randrange(10**9):,}원",
    lambda r: f"대표번호 {r.choice(('1588', '1644', '1899'))}-{digits(r, 4)}",
    lambda r: f"버전 {r.randrange(10)}.{r.randrange(20)}.{r.randrange(300)}",
    lambda r: "".join(r.choices("0123456789abcdef", k=40)),
    lambda r: f"좌표 37.{digits(r, 6)}, 127.{digits(r, 6)}",
    lambda r: f"제{r.randrange(1, 900)}조 제{r.randrange(1, 9)}항",
    lambda r: f"{r.randrange(10, 90)}조 {r.randrange(1000, 9999)}억",
    lambda r: f"std::vector<int> v({digits(r, 3)}); // {digits(r, 8)}",
    lambda r: "@app.route('/v1') def f(x): return x @ y",
    lambda r: f"{r.random()} {r.random() * 1e9}",
    lambda r: f"x = 0x{''.join(r.choices('0123456789ABCDEF', k=16))}",
    lambda r: ":".join("".join(r.choices(string.hexdigits, k=2)) for _ in range(6)),
    lambda r: f"ISBN 978-89-{digits(r, 4)}-{digits(r, 3)}-{digits(r, 1)}",
    lambda r: f"우편번호 {digits(r, 5)}, 서울 시내",
    lambda r: f"{r.randrange(1, 20)}가지 방법과 {r.randrange(2, 30)}개 항목 {digits(r, 4)}",
    lambda r: f"모델명 SM-S{digits(r, 3)}N, 부품 A{digits(r, 6)}",
    lambda r: f"| {digits(r, 3)} | {digits(r, 4)} | {digits(r, 5)} | {digits(r, 2)} |",
    lambda r: f"{digits(r, 4)} {digits(r, 4)} {digits(r, 3)}",
    lambda r: f"password={r.choice(('$DB_PASSWORD', 'os.environ[x]', '<secret>', 'getpass()'))}",
    lambda r: f"우리 2026-{r.randrange(1, 13):02}에 {digits(r, 4)}건, 하나 {digits(r, 5)}",
    lambda r: f"시리얼 AB{digits(r, 7)}, 사건번호 2026가단{digits(r, 6)}",
)


def samples(seed: int, count: int) -> Iterator[Sample]:
    """`count` texts; of each six one has no personal data at all."""
    random = Random(seed)
    types = [*VALUES, "corporate_number"]
    for number in range(count):
        yield _sample(random, types, 0 if number % 6 == 5 else random.randrange(1, 4))


def _sample(random: Random, types: list[str], wanted: int) -> Sample:
    text = random.choice(_SENTENCES)
    truth: list[Span] = []
    for _ in range(wanted):
        type_ = random.choice(types)
        if type_ == "corporate_number":
            said = _corporate(random)
            at = len(text) + said.rindex(" ") + 1
            text += said
            truth.append((type_, at, len(text)))
            text += random.choice((" 입니다. ", ", ", "\n")) + random.choice(_SENTENCES)
        else:
            value = VALUES[type_](random)
            before, after = _around(random, type_, value)
            text += before
            truth.append((type_, len(text), len(text) + len(value.written)))
            text += value.written + after + random.choice(_SENTENCES)
        text += random.choice((" ", "\n", ". "))
        text += "나머지 내용은 첨부한 문서에 있으니 천천히 살펴보고 답을 주시면 좋겠습니다. "
        if random.random() < 0.6:
            text += random.choice(DECOYS)(random) + random.choice(
                ("입니다. ", ". ", "\n", " 참고 ")
            )
    for _ in range(2 if not wanted else 0):
        text += random.choice(DECOYS)(random) + "\n" + random.choice(_SENTENCES)
    return Sample(text, truth)


class Score:
    """Findings told right, missed and invented, by type."""

    def __init__(self) -> None:
        self.right: Counter[str] = Counter()
        self.missed: Counter[str] = Counter()
        self.invented: Counter[str] = Counter()
        self.faults: list[str] = []

    def count(self, sample: Sample, found: list[Finding]) -> None:
        """A finding is right when type and both ends are."""
        spans = {(one.type, one.start, one.end) for one in found}
        truth = set(sample.truth)
        self.right.update(type_ for type_, _, _ in truth & spans)
        self.missed.update(type_ for type_, _, _ in truth - spans)
        self.invented.update(type_ for type_, _, _ in spans - truth)
        for name, wrong in (("missed", truth - spans), ("invented", spans - truth)):
            for type_, start, end in sorted(wrong):
                before, behind = sample.text[max(0, start - 30) : start], sample.text[end:][:12]
                told = f"{before!r} » {sample.text[start:end]!r} « {behind!r}"
                self.faults.append(f"{name} {type_} {told}")

    def recall(self, type_: str) -> float:
        return self.right[type_] / max(1, self.right[type_] + self.missed[type_])

    def precision(self, type_: str) -> float:
        return self.right[type_] / max(1, self.right[type_] + self.invented[type_])


def main() -> None:
    score, scanner = Score(), Scanner()
    for sample in samples(1, 12_000):
        score.count(sample, scanner.scan(sample.text))
    for type_ in [*VALUES, "corporate_number"]:
        count = score.right[type_] + score.missed[type_]
        print(f"{type_:20}{count:7}{score.precision(type_):9.4f}{score.recall(type_):9.4f}")
    by_kind: Counter[str] = Counter()
    for fault in score.faults:
        kind = " ".join(fault.split()[:2])
        by_kind[kind] += 1
        if by_kind[kind] <= 4:
            print(fault)


if __name__ == "__main__":
    main()
