"""What the demo found, as values; `as_json` has the stable keys of `--format json`."""

import os
import statistics
from collections.abc import Iterable
from typing import Any

import msgspec

from proa.cli.demo.client import Answer
from proa.cli.demo.fleet import SLOTS, DemoFleet
from proa.cli.demo.load import AddedLatency, Phase

KINDS = ("faq", "classify", "chat", "report")
GOOD_SHARE = 0.9


class KindStats(msgspec.Struct, frozen=True):
    """Answers of one kind through the gateway; medians in seconds, None without a sample."""

    kind: str
    by_engine: dict[str, int]
    streamed: int
    whole: int
    first_token_s: float | None
    total_s: float | None


class DemoResult(msgspec.Struct, frozen=True, kw_only=True):
    """`phases` are main alone, aux alone and together, in this order.

    `load_before` is the machine's load average (1 minute) when the demo began.
    """

    fleet: DemoFleet
    phases: tuple[Phase, Phase, Phase]
    latency: list[AddedLatency]
    latency_errors: list[str]
    users: int
    load_before: float

    @property
    def together(self) -> Phase:
        return self.phases[2]

    @property
    def gain(self) -> float:
        """Tokens per second together over those of main alone."""
        return ratio(self.together.tokens_per_s, self.phases[0].tokens_per_s)

    @property
    def share_of_sum(self) -> float:
        """Tokens per second together over the sum of both alone."""
        main, aux, together = self.phases
        return ratio(together.tokens_per_s, main.tokens_per_s + aux.tokens_per_s)

    @property
    def why(self) -> str:
        """The name of the text that explains the gain."""
        if self.share_of_sum >= GOOD_SHARE:
            return "why_good"
        # The engines take a core each; gateway and client need something too.
        return "why_shared" if usable_cpus() < len(SLOTS) + 2 else "why_idle"

    @property
    def machine_was_busy(self) -> bool:
        """Other programs took so much of the CPUs that the speeds say little."""
        return self.load_before > usable_cpus() / 2

    @property
    def errors(self) -> list[str]:
        in_phases = [
            f"{phase.name}: {answer.error}"
            for phase in self.phases
            for answer in phase.answers
            if answer.error
        ]
        return in_phases + self.latency_errors

    def kinds(self) -> list[KindStats]:
        good = [answer for answer in self.together.answers if not answer.error]
        return [kind_stats(k, [a for a in good if a.question.kind == k]) for k in KINDS]

    def examples(self) -> list[Answer]:
        """One answered FAQ in Korean and one in English, where there are any."""
        faqs = [a for a in self.together.answers if a.question.kind == "faq" and a.text]
        korean = next((a for a in faqs if has_hangul(a.question.text)), None)
        english = next((a for a in faqs if not has_hangul(a.question.text)), None)
        return [answer for answer in (korean, english) if answer is not None]

    def as_json(self) -> dict[str, Any]:
        main, aux, together = self.phases
        return {
            "gateway_url": self.fleet.gateway_url,
            "engines": [
                {"name": name, "url": url, "slots": SLOTS[name], "cpu": self.fleet.cpus.get(name)}
                for name, url in self.fleet.engine_urls.items()
            ],
            "model": self.fleet.model,
            "cpus": usable_cpus(),
            "load_average_before": self.load_before,
            "users": self.users,
            "tokens_per_s": {
                "main": main.tokens_per_s,
                "aux": aux.tokens_per_s,
                "together": together.tokens_per_s,
            },
            "gain": self.gain,
            "share_of_sum": self.share_of_sum,
            "answers": [msgspec.to_builtins(stats) for stats in self.kinds()],
            "added_latency": [msgspec.to_builtins(line) for line in self.latency],
            "cancelled": together.cut,
            "errors": self.errors,
        }


def kind_stats(kind: str, answers: list[Answer]) -> KindStats:
    by_engine = {name: sum(answer.engine == name for answer in answers) for name in SLOTS}
    streamed = [answer for answer in answers if answer.question.stream]
    return KindStats(
        kind=kind,
        by_engine=by_engine,
        streamed=len(streamed),
        whole=len(answers) - len(streamed),
        first_token_s=median(a.first_token_s for a in streamed if a.first_token_s is not None),
        total_s=median(answer.total_s for answer in answers),
    )


def median(values: Iterable[float]) -> float | None:
    found = list(values)
    return statistics.median(found) if found else None


def ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def has_hangul(text: str) -> bool:
    return any("가" <= character <= "힣" for character in text)


def usable_cpus() -> int:
    return len(os.sched_getaffinity(0))
