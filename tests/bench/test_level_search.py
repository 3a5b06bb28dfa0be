"""The search on a virtual server, from requests to the sentence: 24 users get 30 tok/s, 32 18."""

import math
import random

import msgspec
import pytest

from proa.bench.decode import VisitLabel
from proa.bench.health import ClientHealth, Validity
from proa.bench.level_search import (
    LevelSearch,
    boundary_of_run,
    drift_of_run,
    hinge_of_run,
    level_search,
    search_of,
)
from proa.bench.levels import level_stats
from proa.bench.run import LevelVisit
from proa.bench.run_spec import LevelSpec, Order, RunSpec
from proa.bench.sample import Failure, RequestSample
from proa.bench.slo import SloSpec, parse_slo
from proa.bench.statistics.boundary_text import boundary_text
from proa.bench.target import TargetSpec
from proa.bench.visit import VisitResult
from proa.bench.window import Cause, LevelWindow, WindowSpec

TARGETS = (TargetSpec(name="t", url="http://127.0.0.1:1"),)
SLO = parse_slo("user_tokens_per_s>=30,ttft_s<=2")
GOLDEN = RunSpec(targets=TARGETS, users=(8, 16, 24, 32, 48), slo=SLO, seed=3)


def speed(users: int) -> float:
    """30 tok/s and a little more up to 27 users, then down to 18 at 32: the batch is full."""
    gap_s = 0.0218 + 0.0004 * users + max(0.0, users - 27) * 0.0043
    return 1 / gap_s


class VirtualServer:
    """Answers in virtual time; users send again as soon as they have their answer."""

    def __init__(self, *, refuses_above: int = 10_000, slower_by: float = 0.0) -> None:
        self._rng = random.Random(1)
        self._refuses_above = refuses_above
        self._slower_by = slower_by
        self._now_s = 0.0
        self._number = 0

    def request(self, users: int, sent_s: float) -> RequestSample:
        self._number += 1
        plain = RequestSample(
            number=self._number, target="t", level=0, user=self._number % users, users=users,
            sent_s=sent_s,
        )  # fmt: skip
        if users > self._refuses_above and self._rng.random() < 0.3:
            return msgspec.structs.replace(
                plain, end_s=sent_s + 0.01, status=429, failure=Failure.STATUS
            )
        slower = 1 + self._slower_by * self._now_s / 3600
        gap_s = slower / speed(users) * math.exp(self._rng.gauss(0, 0.01))
        first_s = sent_s + 0.4
        last_s = first_s + 199 * gap_s
        return msgspec.structs.replace(
            plain, first_content_s=first_s, last_content_s=last_s, end_s=last_s, output_tokens=200
        )

    def visit(self, level: LevelSpec, search: LevelSearch, slo: SloSpec) -> LevelVisit:
        users = level.users or 1
        enough = search.enough(level)
        begin_s = self._now_s
        samples: list[RequestSample] = []
        each_s = 7.0 / users
        while not enough(samples):
            samples.append(self.request(users, begin_s + 10 + each_s * len(samples)))
        self._now_s = samples[-1].sent_s + 7.0
        window = LevelWindow(begin_s + 10, self._now_s, self._now_s, Cause.ENOUGH)
        client = ClientHealth(verdict=Validity.VALID)
        return LevelVisit(
            level=level,
            stats=level_stats(samples, window, client, slo=slo),
            result=VisitResult(
                label=VisitLabel(0, users, None),
                samples=samples,
                window=window,
                client=client,
                next_number=0,
            ),
        )


def run(server: VirtualServer, spec: RunSpec) -> list[LevelVisit]:
    made = search_of(spec)
    assert made is not None
    assert spec.slo is not None
    search = LevelSearch(made, spec.slo, seed=spec.seed)
    visits: list[LevelVisit] = []
    while (level := search.next_level(visits)) is not None:
        visits.append(server.visit(level, search, spec.slo))
    return visits


def test_24_users_keep_30_tokens_and_32_do_not() -> None:
    assert speed(24) >= 30
    assert speed(32) == pytest.approx(18, abs=0.6)
    visits = run(VirtualServer(), GOLDEN)
    found = boundary_of_run(GOLDEN, visits)
    assert found is not None
    assert (found.passes, found.fails) == (24, 32)
    assert found.estimate == pytest.approx(27, abs=1)
    assert found.high is not None
    assert 25 <= found.low <= 27 <= found.high <= 29
    text = boundary_text(found, SLO, "en")
    assert text.startswith("24 users keep ≥ 30 tok/s, TTFT ≤ 2 s (")
    where = f"boundary {found.estimate:g}, 90% interval {found.low:g}–{found.high:g}"
    assert f"32 users do not; {where}" in text
    assert sum(visit.stats.requests for visit in visits) < 1000
    assert visits[-1].level == visits[0].level


def test_its_hinge_is_the_servers() -> None:
    found = hinge_of_run(run(VirtualServer(), GOLDEN))
    assert found is not None
    assert found.knee_users == pytest.approx(27, abs=1)
    assert found.b_s == pytest.approx(0.0004, rel=0.1)
    assert found.c_s == pytest.approx(0.0043, rel=0.1)


def test_b47_a_server_that_refuses_above_24_does_not_pass_there() -> None:
    """B47: what it serves it serves quickly, and fails all the same."""
    visits = run(VirtualServer(refuses_above=24), GOLDEN)
    found = boundary_of_run(GOLDEN, visits)
    assert found is not None
    assert (found.estimate, found.fails) == (24, 32)


def test_b44_drift_is_seen_at_the_end() -> None:
    """B44: levels come in random order, so that drift is not taken for load."""
    drift = drift_of_run(run(VirtualServer(slower_by=0.5), GOLDEN))
    assert drift is not None
    assert drift.is_seen
    assert drift.change > 0.01
    steady = drift_of_run(run(VirtualServer(), GOLDEN))
    assert steady is not None
    assert not steady.is_seen


def test_visits_with_an_invalid_client_say_nothing_of_the_engine() -> None:
    visits = run(VirtualServer(), GOLDEN)
    before = boundary_of_run(GOLDEN, visits)
    bad = [
        msgspec.structs.replace(
            visit,
            result=msgspec.structs.replace(
                visit.result,
                client=ClientHealth(verdict=Validity.INVALID),
                samples=[
                    msgspec.structs.replace(sample, output_tokens=20)
                    for sample in visit.result.samples
                ],
            ),
        )
        for visit in visits[:4]
    ]
    assert boundary_of_run(GOLDEN, [*visits, *bad]) == before
    assert boundary_of_run(GOLDEN, bad) is None


def test_a_search_needs_an_slo_levels_and_users() -> None:
    assert search_of(msgspec.structs.replace(GOLDEN, slo=None)) is None
    assert search_of(msgspec.structs.replace(GOLDEN, users=(24,))) is None
    assert search_of(msgspec.structs.replace(GOLDEN, rates=(1.0,))) is None
    few = msgspec.structs.replace(
        GOLDEN, window=WindowSpec(requests=200), order=Order.ASCENDING, repeat_first=False
    )
    made = search_of(few)
    assert made is not None
    assert (made.visit_requests, made.ascending, made.repeat_first) == (200, True, False)


class VirtualQueue:
    """25 places, each request holds one for 2 s: 12.5 requests/s, and above that a queue."""

    def __init__(self) -> None:
        self._rng = random.Random(5)

    def visit(self, level: LevelSpec, search: LevelSearch, window_s: float) -> LevelVisit:
        assert level.rate is not None
        free_s = [0.0] * 25
        samples: list[RequestSample] = []
        enough = search.enough(level)
        at_s = 0.0
        while at_s < 10 + window_s:
            at_s += self._rng.expovariate(level.rate)
            place = min(range(25), key=free_s.__getitem__)
            begin_s = max(at_s, free_s[place])
            free_s[place] = begin_s + 2.0
            if at_s >= 10:
                samples.append(self._sample(len(samples), level.rate, at_s, begin_s))
                if enough(samples):
                    break
        window = LevelWindow(10.0, at_s, at_s, Cause.DURATION)
        client = ClientHealth(verdict=Validity.VALID)
        return LevelVisit(
            level=level,
            stats=level_stats(samples, window, client, slo=SLO),
            result=VisitResult(
                label=VisitLabel(0, None, level.rate), samples=samples, window=window,
                client=client, next_number=0,
            ),
        )  # fmt: skip

    def _sample(self, number: int, rate: float, sent_s: float, begin_s: float) -> RequestSample:
        return RequestSample(
            number=number, target="t", level=0, user=number, rate=rate, sent_s=sent_s,
            scheduled_s=sent_s, first_content_s=begin_s + 0.1, last_content_s=begin_s + 2.0,
            end_s=begin_s + 2.0, output_tokens=60,
        )  # fmt: skip


def test_rates_are_searched_as_users_are() -> None:
    """The queue of 25 places: its capacity is 12.5/s, and 2 s of waiting come just below it."""
    spec = RunSpec(
        targets=TARGETS, rates=(5.0, 10.0, 15.0, 20.0), slo=SLO, seed=3,
        window=WindowSpec(duration_s=60.0),
    )  # fmt: skip
    made, queue = search_of(spec), VirtualQueue()
    assert made is not None
    search = LevelSearch(made, SLO, seed=3, is_open=True)
    visits: list[LevelVisit] = []
    while (level := search.next_level(visits)) is not None:
        visits.append(queue.visit(level, search, 60.0))
    found = boundary_of_run(spec, visits)
    assert found is not None
    assert (found.passes, found.fails, found.decided) == (10.0, 15.0, True)
    assert found.estimate == pytest.approx(12.5, abs=0.7)
    said = boundary_text(found, SLO, "en", of_rates=True)
    assert said.startswith("10 requests/s keep ≥ 30 tok/s, TTFT ≤ 2 s (")
    assert "15 requests/s do not; boundary 1" in said
    assert "초당 10건에서는" in boundary_text(found, SLO, "ko", of_rates=True)


def test_a_growing_queue_is_no_early_pass() -> None:
    search = level_search(RunSpec(targets=TARGETS, rates=(5.0, 10.0), slo=SLO, search=True))
    assert search is not None
    search.next_level([])
    enough = search.enough(LevelSpec(rate=10.0))
    queue = VirtualQueue()
    good = [queue._sample(n, 10.0, n / 10, n / 10) for n in range(320)]
    bad = [queue._sample(n, 10.0, n / 10, n / 10 + 9) for n in range(320)]
    assert not any(enough(good[:count]) for count in range(1, 321))
    assert any(enough(bad[:count]) for count in range(1, 321))
