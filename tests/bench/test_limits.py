"""Why the boundary is where it is: each rule by what it goes by, and what it must not say."""

import pytest

from proa.bench.conditions import RunConditions
from proa.bench.decode import VisitLabel
from proa.bench.gauge_stats import GaugeSample
from proa.bench.health import Validity
from proa.bench.limits import Limit, reasons_of
from proa.bench.process_messages import Tick
from proa.bench.run import LevelVisit, RunStart, level_visit
from proa.bench.run_spec import LevelSpec, RunSpec
from proa.bench.sample import ContentEvent, Failure, RequestSample, TokenSource
from proa.bench.slo import parse_slo
from proa.bench.target import TargetSpec
from proa.bench.visit import visit_result
from proa.bench.window import Cause, LevelWindow

SLO = parse_slo("user_tokens_per_s>=30,ttft_s<=2")
SPEC = RunSpec(targets=(TargetSpec(name="t", url="http://h", model="m"),), slo=SLO)
START = RunStart(
    spec=SPEC, targets=[], check=None,
    conditions=RunConditions(started_unix_s=0.0, started_monotonic_s=0.0, asked={}),
)  # fmt: skip


def visit(
    users: int,
    gap_s: float,
    gauges: dict[str, float] | None = None,
    *,
    ttft_s: float = 0.1,
    failures: int = 0,
    delay_s: float = 1e-4,
    number: int = 0,
) -> LevelVisit:
    """100 requests of 20 tokens; gauges stay as they are all the time."""
    label = VisitLabel(number, users)
    samples = [
        RequestSample(
            number=n, target="t", level=number, user=0, users=users, sent_s=n / 10,
            wired_s=n / 10, first_content_s=n / 10 + ttft_s,
            last_content_s=n / 10 + ttft_s + 19 * gap_s, end_s=n / 10 + ttft_s + 19 * gap_s,
            output_tokens=20, token_source=TokenSource.USAGE, first_tokens=1, reads=20,
            failure=Failure.STATUS if n < failures else None,
            events=tuple(ContentEvent(n / 10 + ttft_s + k * gap_s, 1, k) for k in range(20)),
        )
        for n in range(100)
    ]  # fmt: skip
    tick = Tick(
        share=0, at_s=5.0, on_wire=users, oldest_sent_s=None, cpu_s=0.0, runqueue_s=0.0,
        late_connects=0, pulse_delays_s=[delay_s], loop_lags_s=[0.0],
    )  # fmt: skip
    window = LevelWindow(0.0, 20.0, 20.0, Cause.DURATION)
    result = visit_result(label, samples, [tick], window, next_number=100)
    told = [
        GaugeSample(float(at_s), *name.split("/"), value=value)  # type: ignore[arg-type,misc]
        for at_s in (1, 2)
        for name, value in (gauges or {}).items()
    ]
    return level_visit(LevelSpec(users), result, ([], []), start=START, gauges=told)


FAST = visit(8, 0.02)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (visit(32, 0.05, {"t/kv_use": 0.99, "t/waiting": 7.0, "t/running": 25.0}), Limit.KV_FULL),
        (visit(32, 0.05, {"t/kv_use": 0.4, "t/waiting": 8.0, "t/running": 24.0}), Limit.BATCH_CAP),
        (visit(32, 0.05, {"gpu:0/power_w": 346.0, "gpu:0/power_limit_w": 350.0}), Limit.POWER),
        (visit(32, 0.05, {"gpu:0/sm_share": 0.97}), Limit.COMPUTE),
        (visit(32, 0.05, {"gpu:0/kernel_share": 1.0}), Limit.STEP_TIME),
        (visit(32, 0.02, {"t/waiting": 0.0}, ttft_s=3.0), Limit.PREFILL),
        (visit(32, 0.05, {"t/waiting": 0.5, "t/running": 31.0}), Limit.STEP_TIME),
        (visit(32, 0.05, failures=30), Limit.ERRORS),
        (visit(32, 0.05, delay_s=0.5), Limit.CLIENT),
    ],
)
def test_the_first_reason_explains_most(at: LevelVisit, expected: Limit) -> None:
    reasons = reasons_of([FAST, at], SLO)
    assert reasons[0].limit is expected
    assert (reasons[0].users, reasons[0].is_over) == (32, True)


def test_numbers_of_a_bad_client_are_named_first() -> None:
    at = visit(32, 0.05, {"t/kv_use": 1.0, "t/waiting": 9.0}, delay_s=0.5)
    assert at.stats.client.verdict is Validity.INVALID
    assert [reason.limit for reason in reasons_of([FAST, at], SLO)][:2] == [
        Limit.CLIENT,
        Limit.KV_FULL,
    ]


def test_without_gauges_and_without_slower_steps_nothing_is_made_up() -> None:
    assert [reason.limit for reason in reasons_of([FAST], SLO)] == [Limit.UNKNOWN]
    assert reasons_of([FAST], SLO)[0].is_over is False
    assert reasons_of([], SLO) == []


def test_the_lowest_load_that_failed_is_explained() -> None:
    visits = [visit(48, 0.06), FAST, visit(32, 0.05)]
    assert {reason.users for reason in reasons_of(visits, SLO)} == {32}
