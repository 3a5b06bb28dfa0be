"""Users in virtual time against a server that is a function of the request."""

from collections.abc import Callable

import pytest

from proa.bench.closed_loop import FIRST_PAUSE_S, ClosedLoop, staggered
from proa.bench.raw import Asked, RawEnd, RawExchange
from proa.testing.virtual_timers import VirtualTimers

OK, BUSY = b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 503 Busy\r\n"


class Server:
    """Answers after `took_s(user, its how manieth)` seconds."""

    def __init__(self, timers: VirtualTimers, took_s: Callable[[int, int], float]) -> None:
        self.timers = timers
        self.took_s = took_s
        self.sent: list[tuple[float, int]] = []
        self.in_flight = self.most = 0
        self.head_of: Callable[[int], bytes] = lambda _: OK

    def __call__(
        self, user: int, scheduled_s: float | None, on_end: Callable[[RawExchange], None]
    ) -> None:
        del scheduled_s
        now_s = self.timers.now()
        count = sum(who == user for _, who in self.sent)
        self.sent.append((now_s, user))
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        raw = RawExchange(
            Asked(len(self.sent), 0, user), now_s, now_s, [now_s], [self.head_of(user)]
        )

        def end() -> None:
            self.in_flight -= 1
            raw.end, raw.ended_s = RawEnd.COMPLETE, self.timers.now()
            on_end(raw)

        self.timers.call_at(now_s + self.took_s(user, count), end)


def test_b36_each_user_starts_its_next_request_at_once() -> None:
    """B36: llmperf #56: one user's long answer holds nobody up; there are no waves."""
    timers = VirtualTimers()
    server = Server(timers, lambda user, _: 10.0 if user == 3 else 0.1)
    ClosedLoop(range(4), server, timers, begin_s=0.0, stagger_s=0.0)
    timers.advance(9.95)
    by_user = [sum(who == user for _, who in server.sent) for user in range(4)]
    assert by_user == [100, 100, 100, 1]
    assert (server.in_flight, server.most) == (4, 4)


def test_b41_users_start_one_after_the_other_and_never_above_the_level() -> None:
    """B41: sglang #39398: the warm-up is the same load and obeys the level."""
    timers = VirtualTimers()
    server = Server(timers, lambda *_: 3.0)
    ClosedLoop(range(8), server, timers, begin_s=1.0, stagger_s=2.0)
    timers.advance(20.0)
    assert [at_s for at_s, _ in server.sent[:8]] == pytest.approx([1 + 0.25 * n for n in range(8)])
    assert server.most == 8
    assert staggered(4, 2.0) == [0.0, 0.5, 1.0, 1.5]


def test_b48_a_failure_is_not_repeated_and_its_user_pauses() -> None:
    """B48: gpustack #1677: a 503 is one request's end; the next one is another request."""
    timers = VirtualTimers()
    server = Server(timers, lambda *_: 0.0)
    server.head_of = lambda _: BUSY
    ClosedLoop(range(1), server, timers, begin_s=0.0, stagger_s=0.0)
    timers.advance(2 * FIRST_PAUSE_S + 0.1)
    assert [at_s for at_s, _ in server.sent] == [0.0, FIRST_PAUSE_S, 2 * FIRST_PAUSE_S]


def test_b47_a_refused_user_is_busy_as_long_as_a_served_one() -> None:
    """B47: InferenceX #357: one of four users is refused, so a quarter of the requests fail."""
    timers = VirtualTimers()
    server = Server(timers, lambda user, _: 0.001 if user == 3 else 2.0)
    server.head_of = lambda user: BUSY if user == 3 else OK
    loop = ClosedLoop(range(4), server, timers, begin_s=0.0, stagger_s=0.0)
    timers.advance(101.0)
    by_user = [sum(who == user for _, who in server.sent) for user in range(4)]
    assert by_user[:3] == [51, 51, 51]
    assert by_user[3] == pytest.approx(51, abs=4)
    assert loop.pausing == 1


def test_nothing_is_sent_after_the_stop() -> None:
    timers = VirtualTimers()
    server = Server(timers, lambda *_: 1.0)
    loop = ClosedLoop(range(2), server, timers, begin_s=0.0, stagger_s=3.0)
    timers.advance(1.2)
    assert not loop.is_over
    loop.stop()
    timers.advance(10.0)
    assert loop.is_over
    assert len(server.sent) == 2
