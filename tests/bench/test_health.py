"""Verdicts on the client: each way to be too slow, and a client that is not."""

import pytest

from proa.bench.health import ClientHealth, Validity, client_health, worst
from proa.bench.process_messages import Tick
from proa.bench.remark import Remark
from proa.bench.sample import ContentEvent, Failure, RequestSample


def tick(
    second: float, *, on_wire: int = 8, delay_s: float = 1e-4, lag_s: float = 1e-3,
    cpu: float = 0.2, runqueue: float = 0.0, share: int = 0, pausing: int = 0,
    by_kernel: bool = False,
) -> Tick:  # fmt: skip
    return Tick(
        share=share, at_s=second, on_wire=on_wire, oldest_sent_s=None, cpu_s=second * cpu,
        runqueue_s=second * runqueue, late_connects=0, pulse_delays_s=[delay_s] * 10,
        loop_lags_s=[lag_s] * 10, pausing=pausing, reads=100 if by_kernel else 0,
        kernel_reads=100 if by_kernel else 0, read_delays_s=[lag_s] * 10 if by_kernel else [],
    )  # fmt: skip


def request(sent_s: float, *, wired_s: float | None = None, **fields: object) -> RequestSample:
    given: dict[str, object] = {"users": 8, "user": 0, "end_s": sent_s + 1.0} | fields
    return RequestSample(
        number=0, target="t", level=0, sent_s=sent_s,
        wired_s=sent_s if wired_s is None else wired_s, **given,  # type: ignore[arg-type]
    )  # fmt: skip


REQUESTS = [request(n / 2, user=n) for n in range(20)]


def judged(ticks: list[Tick], samples: list[RequestSample] | None = None) -> ClientHealth:
    return client_health(ticks, samples or REQUESTS, start_s=0.0, end_s=10.0)


def test_a_client_with_time_to_spare_is_valid() -> None:
    told = judged([tick(n) for n in range(10)])
    assert (told.verdict, told.reasons) == (Validity.VALID, [])
    assert (told.asked, told.achieved) == (8, 8)
    assert told.cpu_share == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ({"delay_s": 0.002}, Validity.SUSPECT),
        ({"delay_s": 0.02}, Validity.INVALID),
        ({"lag_s": 0.01}, Validity.SUSPECT),
        ({"cpu": 0.97}, Validity.INVALID),
        ({"runqueue": 0.3}, Validity.SUSPECT),
        ({"on_wire": 1}, Validity.INVALID),
    ],
)
def test_each_shortage_is_named(given: dict[str, float], verdict: Validity) -> None:
    told = judged([tick(n, **given) for n in range(10)])  # type: ignore[arg-type]
    assert told.verdict is verdict
    assert len(told.reasons) == 1


def test_b23_a_cap_on_connections_is_seen_in_what_was_achieved() -> None:
    """B23: guidellm #487: 100 connections of the 128 that were asked."""
    told = judged([tick(n, on_wire=100) for n in range(10)], [request(1.0, users=128)])
    assert (told.asked, told.achieved, told.verdict) == (128, 100, Validity.INVALID)
    assert told.reasons == [Remark("load_missing", {"missing_share": 0.21875})]


def test_a_level_that_ended_within_its_warm_up_is_judged_too() -> None:
    told = client_health([tick(n, on_wire=1) for n in range(10)], REQUESTS, start_s=9, end_s=9)
    assert (told.asked, told.achieved, told.verdict) == (8, 1, Validity.INVALID)


def test_processes_are_added_up_and_the_busiest_is_judged() -> None:
    ticks = [
        tick(n, on_wire=4, share=share, cpu=0.1 + share / 2) for n in range(5) for share in (0, 1)
    ]
    told = judged(ticks)
    assert (told.processes, told.achieved) == (2, 8)
    assert told.cpu_share == pytest.approx(0.6)


def test_users_that_pause_after_failures_are_not_missing() -> None:
    told = judged([tick(n, on_wire=7, pausing=1) for n in range(10)])
    assert told.asked == pytest.approx(7.0)
    assert told.verdict is Validity.VALID


def test_late_sending_counts_from_the_schedule() -> None:
    late = [request(n + 0.1, users=None, scheduled_s=float(n), rate=1.0) for n in range(10)]
    told = judged([tick(n) for n in range(10)], late)
    assert told.send_lateness_p99_s == pytest.approx(0.1)
    assert told.verdict is Validity.INVALID


def test_without_pulses_nothing_is_valid() -> None:
    silent = Tick(
        share=0, at_s=1.0, on_wire=8, oldest_sent_s=None, cpu_s=0.0, runqueue_s=0.0,
        late_connects=0, pulse_delays_s=[], loop_lags_s=[],
    )  # fmt: skip
    assert judged([silent]).verdict is Validity.SUSPECT
    assert worst([]) is Validity.VALID


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ({"lag_s": 0.02, "delay_s": 0.02, "runqueue": 0.4}, Validity.VALID),
        ({"lag_s": 0.06}, Validity.SUSPECT),
        ({"lag_s": 0.6}, Validity.INVALID),
        ({"runqueue": 0.6}, Validity.SUSPECT),
        ({"cpu": 0.97}, Validity.INVALID),
        ({"on_wire": 1}, Validity.INVALID),
    ],
)
def test_with_the_kernels_stamps_only_what_a_late_loop_does_counts(
    given: dict[str, float], verdict: Validity
) -> None:
    told = judged([tick(n, by_kernel=True, **given) for n in range(10)])  # type: ignore[arg-type]
    assert (told.clock, told.verdict) == ("kernel", verdict)
    assert len(told.reasons) == (verdict is not Validity.VALID)


@pytest.mark.parametrize(
    ("lag_s", "verdict"),
    [(0.0005, Validity.VALID), (0.005, Validity.SUSPECT), (0.02, Validity.INVALID)],
)
def test_events_of_one_read_are_as_late_as_the_loop(lag_s: float, verdict: Validity) -> None:
    events = tuple(ContentEvent(1.0, 1, read) for read in (0, 0, 1))
    told = judged(
        [tick(n, by_kernel=True, lag_s=lag_s) for n in range(10)], [request(1.0, events=events)]
    )
    assert (told.verdict, told.stamp_delay_p99_s, told.shared_reads) == (verdict, lag_s, 1.0)


@pytest.mark.parametrize(
    ("idle_s", "verdict"),
    [(0.005, Validity.VALID), (0.03, Validity.SUSPECT), (0.25, Validity.INVALID)],
)
def test_users_that_idle_are_missing_load(idle_s: float, verdict: Validity) -> None:
    """A loop that reads an answer's end late sends the next request late: no time is wrong."""
    late = [
        request(n * (0.5 + idle_s), end_s=n * (0.5 + idle_s) + 0.5, user=user)
        for user in range(8)
        for n in range(int(10 / (0.5 + idle_s)))
    ]
    told = judged([tick(n, by_kernel=True) for n in range(10)], late)
    idle = sum(sample.sent_s > 0 for sample in late) * idle_s
    assert told.send_lateness_p99_s == 0.0
    assert told.achieved == pytest.approx(8 - idle / 10)
    assert told.verdict is verdict


def test_after_a_failure_nothing_is_late() -> None:
    paused = [request(n * 2.0, end_s=n * 2.0 + 1.0, failure=Failure.CUT) for n in range(5)]
    told = judged([tick(n, by_kernel=True) for n in range(10)], paused)
    assert (told.send_lateness_p99_s, told.verdict) == (0.0, Validity.VALID)
