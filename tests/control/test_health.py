"""When an engine is believed to have come or gone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.control.health import MISSES_WHEN_BUSY, MISSES_WHEN_IDLE, HealthTrack
from proa.control.traffic import EngineTraffic, traffic_in
from proa.domain.fleet import EngineState
from proa.engines.base import Health
from proa.telemetry.rows import Engine, SharedRows, engine_base

IDLE = EngineTraffic()


def ready_track() -> HealthTrack:
    track = HealthTrack()
    track.observe(Health.UP, IDLE, 0.0)
    return track


def test_one_missed_probe_is_not_down() -> None:
    track = ready_track()
    for _ in range(MISSES_WHEN_IDLE - 1):
        assert track.observe(Health.MISSED, IDLE, 1.0) is EngineState.READY
    assert track.observe(Health.UP, IDLE, 1.0) is EngineState.READY
    for _ in range(MISSES_WHEN_IDLE - 1):
        assert track.observe(Health.MISSED, IDLE, 2.0) is EngineState.READY
    assert track.observe(Health.MISSED, IDLE, 3.0) is EngineState.UNREACHABLE


@pytest.mark.parametrize(
    ("health", "state"),
    [(Health.DOWN, EngineState.UNREACHABLE), (Health.LOADING, EngineState.LOADING)],
)
def test_certain_news_count_at_once(health: Health, state: EngineState) -> None:
    assert ready_track().observe(health, EngineTraffic(5, 1), 1.0) is state


def test_g60_answers_that_keep_arriving_prove_life() -> None:
    track = ready_track()
    for received in range(1, 120):  # a health endpoint that is blocked for a minute
        state = track.observe(Health.MISSED, EngineTraffic(1, received), 1.0)
        assert state is EngineState.READY


def test_a_silent_engine_with_requests_gets_more_patience() -> None:
    track = ready_track()
    busy = EngineTraffic(in_flight=1, received=0)
    for _ in range(MISSES_WHEN_BUSY - 1):
        assert track.observe(Health.MISSED, busy, 1.0) is EngineState.READY
    assert track.observe(Health.MISSED, busy, 1.0) is EngineState.UNREACHABLE


def test_a_slow_start_only_for_what_was_away() -> None:
    track = HealthTrack()
    track.observe(Health.UP, IDLE, 100.0)
    assert track.ready_since_s == 0.0
    track.observe(Health.DOWN, IDLE, 101.0)
    track.observe(Health.UP, IDLE, 102.0)
    track.observe(Health.UP, IDLE, 103.0)
    assert track.ready_since_s == 102.0
    fresh = HealthTrack()
    fresh.observe(Health.LOADING, IDLE, 5.0)
    fresh.observe(Health.UP, IDLE, 6.0)
    assert fresh.ready_since_s == 6.0


@given(st.lists(st.sampled_from(Health)), st.sampled_from(Health))
def test_the_newest_certain_news_decides(history: list[Health], last: Health) -> None:
    track = HealthTrack()
    for health in history:
        track.observe(health, IDLE, 1.0)
    before = track.state
    after = track.observe(last, IDLE, 2.0)
    assert after is not EngineState.UNKNOWN or last is Health.MISSED
    if last is Health.UP:
        assert after is EngineState.READY
    if last is Health.MISSED:
        assert after in (before, EngineState.UNREACHABLE)


def test_traffic_is_the_sum_over_workers() -> None:
    rows = SharedRows.create(3)
    rows.use(2)
    for n in (1, 2):
        rows.rows[n][engine_base(7) + Engine.IN_FLIGHT] = n
        rows.rows[n][engine_base(7) + Engine.RECEIVED] = 10 * n
    assert traffic_in(rows, 7) == EngineTraffic(3, 30)
    assert traffic_in(rows, 6) == EngineTraffic(0, 0)
