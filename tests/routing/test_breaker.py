"""The breaker opens by broken tries only, and always finds its way back."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from proa.domain.outcome import Outcome
from proa.routing.breaker import Breaker, BreakerState, slow_start_share
from proa.routing.spec import BreakerSpec

SPEC = BreakerSpec(failures=3, open_s=1.0, max_open_s=8.0, successes=2, slow_start_s=5.0)
HARMLESS = (Outcome.CLIENT_FAULT, Outcome.NOT_READY, Outcome.BUSY, Outcome.CANCELLED)


def opened(at_s: float = 0.0) -> Breaker:
    breaker = Breaker(SPEC)
    for _ in range(SPEC.failures):
        breaker.record(Outcome.BROKEN, at_s)
    assert breaker.state(at_s) is BreakerState.OPEN
    return breaker


@pytest.mark.parametrize("outcome", HARMLESS)
def test_what_is_not_the_engines_fault_opens_nothing(outcome: Outcome) -> None:
    """sglang issue 25811: ten too long prompts opened the breaker for everybody."""
    breaker = Breaker(SPEC)
    for _ in range(10):
        breaker.record(outcome, 0.0)
    assert breaker.share(0.0) == 1.0
    assert breaker.state(0.0) is BreakerState.CLOSED


def test_failures_count_in_a_row() -> None:
    breaker = Breaker(SPEC)
    for outcome in (Outcome.BROKEN, Outcome.BROKEN, Outcome.OK, Outcome.BROKEN, Outcome.BROKEN):
        breaker.record(outcome, 0.0)
    assert breaker.state(0.0) is BreakerState.CLOSED
    breaker.record(Outcome.BUSY, 0.0)
    breaker.record(Outcome.BROKEN, 0.0)
    assert breaker.state(0.0) is BreakerState.OPEN


def test_it_closes_after_good_trials_and_starts_slowly() -> None:
    """sglang issue 31206: half open that never closes."""
    breaker = opened()
    assert breaker.share(0.99) == 0.0
    for now_s in (1.0, 1.1):
        assert breaker.state(now_s) is BreakerState.HALF_OPEN
        assert breaker.share(now_s) == 1.0
        assert breaker.begin(now_s)
        assert breaker.share(now_s) == 0.0
        assert not breaker.begin(now_s)
        breaker.record(Outcome.OK, now_s, trial=True)
    assert breaker.state(1.1) is BreakerState.CLOSED
    assert breaker.share(1.1) == pytest.approx(0.1)
    assert breaker.share(3.6) == pytest.approx(0.55)
    assert breaker.share(6.1) == 1.0


@pytest.mark.parametrize("outcome", HARMLESS)
def test_a_trial_without_a_verdict_is_followed_by_another(outcome: Outcome) -> None:
    breaker = opened()
    for _ in range(5):
        assert breaker.begin(1.0)
        breaker.record(outcome, 1.0, trial=True)
    assert breaker.state(1.0) is BreakerState.HALF_OPEN


def test_the_open_time_doubles_until_full_recovery() -> None:
    breaker, now_s, waits = opened(), 0.0, []
    for _ in range(5):
        start_s = now_s
        while breaker.state(now_s) is BreakerState.OPEN:
            now_s += 0.25
        waits.append(now_s - start_s)
        assert breaker.begin(now_s)
        breaker.record(Outcome.BROKEN, now_s, trial=True)
    assert waits == [1.0, 2.0, 4.0, 8.0, 8.0]
    now_s += 8.0
    for _ in range(SPEC.successes):
        assert breaker.begin(now_s)
        breaker.record(Outcome.OK, now_s, trial=True)
    now_s += SPEC.slow_start_s
    for _ in range(SPEC.failures):
        breaker.record(Outcome.BROKEN, now_s)
    assert breaker.state(now_s + 0.99) is BreakerState.OPEN
    assert breaker.state(now_s + 1.0) is BreakerState.HALF_OPEN


def test_late_ends_of_older_tries_tell_about_the_past() -> None:
    breaker = opened()
    for _ in range(50):
        breaker.record(Outcome.BROKEN, 0.5)
    assert breaker.state(1.0) is BreakerState.HALF_OPEN
    breaker.record(Outcome.BROKEN, 1.0)
    breaker.record(Outcome.OK, 1.0)
    assert breaker.state(1.0) is BreakerState.HALF_OPEN


def test_a_slow_start_of_no_length_is_over_at_once() -> None:
    assert slow_start_share(5.0, 5.0, 0.0) == 1.0
    assert slow_start_share(5.0, 4.0, 2.0) == pytest.approx(0.1)


class BreakerMachine(RuleBasedStateMachine):
    """Any order of tries and ends: one trial at a time, share within bounds, a way back."""

    def __init__(self) -> None:
        super().__init__()
        self.breaker = Breaker(SPEC)
        self.now_s = 0.0
        self.running: list[bool] = []

    @rule(seconds=st.floats(0.0, 10.0))
    def wait(self, seconds: float) -> None:
        self.now_s += seconds

    @rule()
    def begin(self) -> None:
        due = self.breaker.state(self.now_s) is BreakerState.HALF_OPEN and True not in self.running
        trial = self.breaker.begin(self.now_s)
        assert trial == due
        self.running.append(trial)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), outcome=st.sampled_from(Outcome))
    def end(self, data: st.DataObject, outcome: Outcome) -> None:
        trial = self.running.pop(data.draw(st.integers(0, len(self.running) - 1)))
        before = self.breaker.state(self.now_s)
        self.breaker.record(outcome, self.now_s, trial=trial)
        after = self.breaker.state(self.now_s)
        if outcome in HARMLESS:
            assert after is before
        if after is BreakerState.OPEN and before is not BreakerState.OPEN:
            assert outcome is Outcome.BROKEN

    @invariant()
    def one_trial(self) -> None:
        assert self.running.count(True) <= 1

    @invariant()
    def share_fits_the_state(self) -> None:
        share, state = self.breaker.share(self.now_s), self.breaker.state(self.now_s)
        if state is BreakerState.OPEN:
            assert share == 0.0
        elif state is BreakerState.HALF_OPEN:
            assert share == (0.0 if True in self.running else 1.0)
        else:
            assert 0.1 <= share <= 1.0

    def teardown(self) -> None:
        for trial in self.running:
            self.breaker.record(Outcome.CANCELLED, self.now_s, trial=trial)
        self.now_s += SPEC.max_open_s
        for _ in range(SPEC.successes):
            trial = self.breaker.begin(self.now_s)
            self.breaker.record(Outcome.OK, self.now_s, trial=trial)
        assert self.breaker.share(self.now_s + SPEC.slow_start_s) == pytest.approx(1.0)


TestBreakerMachine = BreakerMachine.TestCase
TestBreakerMachine.settings = settings(max_examples=60, stateful_step_count=30)
