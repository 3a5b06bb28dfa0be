"""A schedule is kept whatever the answers do; a cap delays, and the delay is told."""

from collections.abc import Callable
from itertools import islice

import pytest
from tests.bench.test_closed_loop import Server

from proa.bench.arrivals import ArrivalSpec, dispersion, send_times
from proa.bench.open_loop import OpenLoop
from proa.bench.raw import RawExchange
from proa.testing.virtual_timers import VirtualTimers


class Scheduled(Server):
    """Notes when each request was due."""

    def __init__(self, timers: VirtualTimers, took_s: float) -> None:
        super().__init__(timers, lambda *_: took_s)
        self.due: list[float] = []

    def __call__(
        self, user: int, scheduled_s: float | None, on_end: Callable[[RawExchange], None]
    ) -> None:
        self.due.append(scheduled_s or 0.0)
        super().__call__(user, scheduled_s, on_end)


def test_slow_answers_do_not_slow_the_sending() -> None:
    timers = VirtualTimers()
    server = Scheduled(timers, took_s=100.0)
    OpenLoop(iter([0.0, 0.5, 1.0, 1.5]), server, timers, begin_s=2.0)
    timers.advance(10.0)
    assert [at_s for at_s, _ in server.sent] == [2.0, 2.5, 3.0, 3.5]
    assert server.most == 4


def test_b32_a_cap_delays_and_the_scheduled_time_stays() -> None:
    """B32: guidellm #1048: the wait for a place is in the scheduled latency."""
    timers = VirtualTimers()
    server = Scheduled(timers, took_s=2.0)
    loop = OpenLoop(iter([0.0, 0.1, 0.2]), server, timers, begin_s=0.0, max_concurrency=1)
    timers.advance(1.0)
    assert not loop.is_over
    timers.advance(9.0)
    assert [at_s for at_s, _ in server.sent] == [0.0, 2.0, 4.0]
    assert server.due == [0.0, 0.1, 0.2]
    assert server.most == 1
    assert loop.is_over


def test_b33_bursts_that_a_cap_makes_are_told() -> None:
    """B33: vllm #45502: rate 500, cap 256, a server that answers all at once every second."""
    timers = VirtualTimers()
    server = Scheduled(timers, took_s=0.0)
    server.took_s = lambda *_: 1.0 - timers.now() % 1.0
    times = islice(send_times(ArrivalSpec(500.0, seed=1)), 2000)
    OpenLoop(times, server, timers, begin_s=0.0, max_concurrency=256)
    timers.advance(30.0)
    asked = dispersion(send_for(2000), window_s=0.1)
    got = dispersion([at_s for at_s, _ in server.sent], window_s=0.1)
    assert asked == pytest.approx(1.0, abs=0.4)
    assert got is not None
    assert got > 50


def send_for(count: int) -> list[float]:
    return list(islice(send_times(ArrivalSpec(500.0, seed=1)), count))


def test_b33_without_a_cap_the_server_gets_the_rate_as_asked() -> None:
    """B33: a pure open loop: no answer, however late, makes a burst or a gap."""
    timers = VirtualTimers()
    server = Scheduled(timers, took_s=0.0)
    server.took_s = lambda *_: 1.0 - timers.now() % 1.0
    times = islice(send_times(ArrivalSpec(500.0, seed=1)), 2000)
    OpenLoop(times, server, timers, begin_s=0.0, max_concurrency=None)
    timers.advance(30.0)
    assert [at_s for at_s, _ in server.sent] == pytest.approx(send_for(2000))
