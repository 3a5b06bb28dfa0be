"""What is asked of a demand, and what is taken where it was not said."""

from fractions import Fraction

import msgspec

from proa.planner import bounds as b
from proa.planner.assumptions import Answers, Assumption, Default
from proa.planner.text import Text


class DemandSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the demand; None is assumed, and told.

    Either `users` or `sessions`. `seconds_per_request` is the mean time of one request; without
    it, it follows from `ttft_s`, `output_tokens` and `tokens_per_s`. With `max_wait_share` or
    `max_wait_s`, at most that share of requests waits longer (M/M/c); a `burst_factor` given
    beside them holds too. The users grow by `growth_per_year` over `years`.
    """

    users: float | None = None
    active_share: float | None = None
    queries_per_user: float | None = None
    peak_hour_share: float | None = None
    seconds_per_request: float | None = None
    ttft_s: float | None = None
    output_tokens: float | None = None
    tokens_per_s: float | None = None
    burst_factor: float | None = None
    max_wait_share: float | None = None
    max_wait_s: float | None = None
    growth_per_year: float | None = None
    years: float | None = None
    sessions: int | None = None


class DemandAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """A `DemandSpec` with every answer in it, as exact numbers.

    `burst_factor` is None where the wait alone decides, `max_wait_…` where no wait was asked.
    """

    users: Fraction
    growth_per_year: Fraction
    years: Fraction
    active_share: Fraction
    queries_per_user: Fraction
    peak_hour_share: Fraction
    seconds_per_request: Fraction | None
    ttft_s: Fraction
    output_tokens: Fraction
    tokens_per_s: Fraction
    burst_factor: Fraction | None
    max_wait_share: Fraction | None
    max_wait_s: Fraction
    assumptions: tuple[Assumption, ...]

    @property
    def growth(self) -> Fraction:
        """The factor over all years; exact for whole years."""
        if self.years.denominator == 1:
            return (1 + self.growth_per_year) ** int(self.years)
        return Fraction(float(1 + self.growth_per_year) ** float(self.years))


ACTIVE_SHARE = Default(
    field="active_share",
    value=0.3,
    bounds=b.SHARE,
    as_percent=True,
    text=Text(
        "하루에 전체 사용자의 {value}가 이용한다고 가정", "{value} of the users are active on a day"
    ),
)
QUERIES_PER_USER = Default(
    field="queries_per_user",
    value=8,
    bounds=b.POSITIVE,
    text=Text(
        "활성 사용자 한 명이 하루 {value}회 질의한다고 가정",
        "an active user asks {value} times a day",
    ),
)
PEAK_HOUR_SHARE = Default(
    field="peak_hour_share",
    value=0.2,
    bounds=b.SHARE,
    as_percent=True,
    text=Text(
        "하루 요청의 {value}가 가장 붐비는 한 시간에 몰린다고 가정",
        "{value} of a day's requests come in its busiest hour",
    ),
)
BURST_FACTOR = Default(
    field="burst_factor",
    value=3,
    bounds=b.FACTOR,
    text=Text(
        "순간 집중을 평균의 {value}배로 가정", "moments of {value} times the mean sessions are met"
    ),
)
TOKENS_PER_S = Default(
    field="tokens_per_s",
    value=30,
    bounds=b.POSITIVE,
    text=Text(
        "사용자당 출력 속도를 초당 {value}토큰으로 가정",
        "each user gets {value} output tokens per second",
    ),
)
TTFT_S = Default(
    field="ttft_s",
    value=2,
    bounds=b.NOT_NEGATIVE,
    text=Text(
        "첫 토큰까지 평균 {value}초로 가정", "the first token comes after {value} s on average"
    ),
)
OUTPUT_TOKENS = Default(
    field="output_tokens",
    value=500,
    bounds=b.POSITIVE,
    text=Text("답변 길이를 평균 {value}토큰으로 가정", "an answer has {value} tokens on average"),
)
MAX_WAIT_SHARE = Default(
    field="max_wait_share",
    value=0.05,
    bounds=b.RARE,
    as_percent=True,
    text=Text(
        "기다림 한도를 넘는 요청을 {value} 이하로 가정",
        "at most {value} of the requests may wait longer than the limit",
    ),
)
MAX_WAIT_S = Default(
    field="max_wait_s",
    value=1,
    bounds=b.NOT_NEGATIVE,
    text=Text("기다림 한도를 {value}초로 가정", "the limit of the wait is {value} s"),
)


def demand_answers(spec: DemandSpec, users: float) -> DemandAnswers:
    """Every answer, checked; what had to be assumed is listed once.

    Raises:
        FieldError: a number is outside its range.
    """
    answers = Answers()
    growth = b.checked("growth_per_year", spec.growth_per_year or 0, b.GROWTH)
    years = (1 if growth else 0) if spec.years is None else spec.years
    is_timed = spec.seconds_per_request is not None
    asks_wait = spec.max_wait_share is not None or spec.max_wait_s is not None
    quiet = Answers()  # what does not enter the result is no assumption
    timing = quiet if is_timed else answers
    waiting = answers if asks_wait else quiet
    is_burst = spec.burst_factor is not None or not asks_wait
    max_wait_share = waiting.take(spec.max_wait_share, MAX_WAIT_SHARE)
    return DemandAnswers(
        users=b.checked("users", users, b.POSITIVE),
        growth_per_year=growth,
        years=b.checked("years", years, b.YEARS),
        active_share=answers.take(spec.active_share, ACTIVE_SHARE),
        queries_per_user=answers.take(spec.queries_per_user, QUERIES_PER_USER),
        peak_hour_share=answers.take(spec.peak_hour_share, PEAK_HOUR_SHARE),
        seconds_per_request=_checked_time(spec.seconds_per_request),
        ttft_s=timing.take(spec.ttft_s, TTFT_S),
        output_tokens=timing.take(spec.output_tokens, OUTPUT_TOKENS),
        tokens_per_s=answers.take(spec.tokens_per_s, TOKENS_PER_S),
        burst_factor=answers.take(spec.burst_factor, BURST_FACTOR) if is_burst else None,
        max_wait_share=max_wait_share if asks_wait else None,
        max_wait_s=waiting.take(spec.max_wait_s, MAX_WAIT_S),
        assumptions=tuple(answers.assumptions),
    )


def _checked_time(seconds: float | None) -> Fraction | None:
    return None if seconds is None else b.checked("seconds_per_request", seconds, b.POSITIVE)
