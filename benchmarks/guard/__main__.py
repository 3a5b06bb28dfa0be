"""What the guard finds in a made corpus, how fast, and what presidio-analyzer finds in the same.

    python -m benchmarks.guard [--peers DIR] [--texts N]

DIR is an environment with presidio-analyzer; without it only proa is measured.
"""

import argparse
import json
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from tests.guard.corpus import Sample, samples

from proa.guard.scan import Scanner

Span = tuple[str, int, int]
SEED = 20_260_101
PHONE = "phone (all kinds)"
OURS = dict.fromkeys(("mobile_phone", "phone", "foreign_phone"), PHONE)
PRESIDIO = {
    "KR_RRN": "resident_number", "KR_FRN": "foreigner_number", "KR_PASSPORT": "passport",
    "KR_DRIVER_LICENSE": "driver_licence", "KR_BRN": "business_number", "CREDIT_CARD": "card",
    "EMAIL_ADDRESS": "email", "IP_ADDRESS": "ip_address", "IBAN_CODE": "iban",
    "PHONE_NUMBER": PHONE,
}  # fmt: skip
_PROSE = (
    "대한민국의 수도는 서울이며 인구는 약 940만 명이다. "
    "회의는 2026년 3월에 열렸고 예산은 12,000원이었다. "
    "오늘 논의한 내용은 다음과 같다. "
)


def named(spans: Iterable[Span], names: dict[str, str]) -> list[Span]:
    return [(names.get(type_, type_), start, end) for type_, start, end in spans]


def scores(truth: list[list[Span]], found: list[list[Span]]) -> dict[str, tuple[float, float]]:
    """Precision and recall by type; what overlaps a value of its type counts as right."""
    types = {type_ for spans in truth for type_, _, _ in spans}
    told: dict[str, tuple[float, float]] = {}
    for type_ in sorted(types):
        here = [[span for span in spans if span[0] == type_] for spans in truth]
        there = [[span for span in spans if span[0] == type_] for spans in found]
        right = sum(_hits(f, t) for f, t in zip(there, here, strict=True))
        recalled = sum(_hits(t, f) for f, t in zip(there, here, strict=True))
        said = sum(map(len, there))
        told[type_] = (right / said if said else 0.0, recalled / sum(map(len, here)))
    return told


def _hits(spans: list[Span], others: list[Span]) -> int:
    return sum(any(a < d and c < b for _, c, d in others) for _, a, b in spans)


def ours(made: list[Sample]) -> tuple[list[list[Span]], float]:
    """The findings, and CPU seconds."""
    scanner = Scanner()
    scanner.scan(made[0].text)
    start = time.process_time()
    found = [scanner.scan(sample.text) for sample in made]
    cpu_s = time.process_time() - start
    return [[(one.type, one.start, one.end) for one in each] for each in found], cpu_s


def prose_us_per_kb(rounds: int = 2000) -> float:
    """CPU time per 1,024 bytes of Korean prose with years and amounts, the best of five."""
    text, scanner, best = _PROSE * 5, Scanner(), float("inf")
    for _ in range(5):
        start = time.process_time()
        for _ in range(rounds // 5):
            scanner.scan(text)
        best = min(best, (time.process_time() - start) / (rounds // 5))
    return best * 1e6 / (len(text.encode()) / 1024)


def presidio(environment: Path, made: list[Sample]) -> tuple[str, list[list[Span]], float]:
    program = Path(__file__).with_name("presidio_program.py")
    lines = "".join(json.dumps(sample.text) + "\n" for sample in made)
    ran = subprocess.run(
        [environment / "bin" / "python", program],
        input=lines, capture_output=True, text=True, check=True,
    )  # fmt: skip
    told = json.loads(ran.stdout)
    found = [[(type_, a, b) for type_, a, b in spans] for spans in told["found"]]
    return told["version"], found, told["cpu_s"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=__doc__)
    parser.add_argument("--peers", type=Path, metavar="DIR")
    parser.add_argument("--texts", type=int, default=3000, metavar="N")
    args = parser.parse_args()
    made = list(samples(SEED, args.texts))
    kb = sum(len(sample.text.encode()) for sample in made) / 1024
    truth = [named(sample.truth, OURS) for sample in made]
    found, cpu_s = ours(made)
    table = {"proa": scores(truth, [named(spans, OURS) for spans in found])}
    times = {"proa": cpu_s}
    if args.peers is not None:
        version, found, times["presidio"] = presidio(args.peers, made)
        table[f"presidio {version}"] = scores(truth, [named(spans, PRESIDIO) for spans in found])
    print(f"{args.texts} texts, {kb:.0f} KB; precision and recall")
    print(f"{'':20}" + "".join(f"{name:>20}" for name in table))
    for type_ in table["proa"]:
        cells = ("{:.3f} {:.3f}".format(*told[type_]) for told in table.values())
        print(f"{type_:20}" + "".join(f"{cell:>20}" for cell in cells))
    for name, cpu_s in times.items():
        print(f"{name}: {cpu_s / kb * 1e6:.0f} µs of CPU per KB of the corpus")
    print(f"proa: {prose_us_per_kb():.0f} µs of CPU per KB of Korean prose")


if __name__ == "__main__":
    main()
