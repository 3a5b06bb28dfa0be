"""What the workers count of streams for the engines' speeds."""

import pytest

from proa.domain.fleet import EngineSpec
from proa.gateway.link import EngineLink
from proa.gateway.pace import Pace, Windows
from proa.routing.spec import BreakerSpec
from proa.telemetry.rows import UNIT_BYTES, Engine, SharedRows
from proa.wire.usage import Usage


@pytest.fixture
def link() -> EngineLink:
    row = SharedRows.create(2).rows[1]
    return EngineLink(EngineSpec(name="a", url="http://a"), row, 0, BreakerSpec())


def usage(completion_tokens: int) -> Usage:
    told = Usage()
    told.completion_tokens = completion_tokens
    return told


def test_events_and_time_count_from_the_first_content(link: EngineLink) -> None:
    pace = Pace(link, 400, 10.0)
    pace.window(3, 10.25)  # heads and role chunks
    assert (link.counts[Engine.EVENTS], link.counts[Engine.STREAM_US]) == (0, 0)
    pace.began(10.5)
    pace.window(8, 10.75)
    pace.window(2, 10.8)
    assert (link.counts[Engine.EVENTS], link.counts[Engine.STREAM_US]) == (10, 300_000)


def test_what_came_up_to_the_first_content_does_not_count(link: EngineLink) -> None:
    pace = Pace(link, 400, 10.0)
    pace.began(10.1, 2)
    pace.window(12, 10.25)
    pace.window(8, 10.5)
    assert pace.ended(Usage()) == 19
    assert link.counts[Engine.EVENTS] == 18


def test_a_paused_stream_is_left_out_from_then_on(link: EngineLink) -> None:
    pace = Pace(link, 400, 10.0)
    pace.began(10.0)
    pace.window(8, 10.25)
    pace.window(0, 10.5, is_paused=True)
    pace.window(90, 10.75)
    assert pace.ended(usage(99)) == 99
    assert (link.counts[Engine.EVENTS], link.counts[Engine.STREAM_US]) == (8, 250_000)
    assert link.counts[Engine.TOLD_EVENTS] == 0


def test_usage_tells_how_many_tokens_an_event_has(link: EngineLink) -> None:
    pace = Pace(link, 400, 10.0)
    pace.began(10.0)
    pace.window(25, 10.25)
    pace.ended(usage(101))
    assert (link.counts[Engine.TOLD_EVENTS], link.counts[Engine.TOLD_TOKENS]) == (25, 100)


def test_waiting_streams_are_counted_until_they_begin_or_leave(link: EngineLink) -> None:
    one, other = Pace(link, 400, 10.0), Pace(link, 100, 10.0)
    assert (link.waiting, link.waiting_bytes) == (2, 500)
    assert link.row[link.base + Engine.WAITING_BYTES] == 500
    one.began(10.5)
    other.left()
    other.left()
    assert (link.waiting, link.waiting_bytes) == (0, 0)
    assert link.row[link.base + Engine.WAITING] == 0


def test_only_a_prompt_that_met_no_other_tells_the_speed_of_prompts(link: EngineLink) -> None:
    alone = Pace(link, 10 * UNIT_BYTES, 10.0)
    alone.began(10.5)
    assert link.counts[Engine.FIRST_COUNT] == 1
    assert link.counts[Engine.FIRST_US] == 500_000
    assert link.counts[Engine.FIRST_UNITS2] == 100
    assert link.counts[Engine.FIRST_UNITS_US] == 5_000_000
    first, second = Pace(link, 160, 11.0), Pace(link, 160, 11.1)
    first.began(11.5)
    second.began(11.5)
    assert link.counts[Engine.FIRST_COUNT] == 1


def test_a_window_knows_how_many_sequences_the_engine_had(link: EngineLink) -> None:
    link.sequences = 10
    pace = Pace(link, 400, 10.0)
    pace.began(10.0)
    pace.window(8, 10.25)
    Windows().close(link, 20, 0.25, is_good=True)
    assert link.counts[Engine.SEQUENCES_US] == 15 * 250_000
    assert link.counts[Engine.WINDOW_US] == 250_000


def test_a_window_seen_late_counts_nothing(link: EngineLink) -> None:
    pace = Pace(link, 400, 10.0)
    pace.began(10.0)
    pace.window(8, 10.25)
    Windows().close(link, 20, 0.25, is_good=False)
    cells = (Engine.EVENTS, Engine.STREAM_US, Engine.SEQUENCES_US, Engine.WINDOW_US)
    assert [link.counts[cell] for cell in cells] == [0, 0, 0, 0]


def test_a_gateway_that_is_always_late_learns_from_every_fourth_window() -> None:
    windows = Windows()
    assert [windows.is_good(0.02) for _ in range(8)] == [False, False, False, True] * 2
    assert windows.is_good(0.001)
