"""From the workers' cells to a timing, and over a restart."""

import json

import msgspec
import pytest

from proa.control.learned_speeds import LearnedSpeeds, read_remembered
from proa.domain.fleet import EngineKind, EngineSpec, EngineState, EngineView, ModelView
from proa.domain.lengths import limit_class
from proa.domain.timing import EngineTiming, TimingSource
from proa.telemetry.rows import Engine, SharedRows, engine_base

SPEC = EngineSpec(name="main", url="http://10.0.0.1:8000")
VIEW = EngineView(name="main", kind=EngineKind.VLLM, state=EngineState.READY)
STEP_S = 0.01


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class Bench:
    """A worker's rows, written by hand, and who learns from them."""

    def __init__(self, remembered: object = None) -> None:
        self.rows = SharedRows.create(4)
        self.rows.use(2)
        self.clock = Clock()
        kept = None if remembered is None else read_remembered(remembered)
        self.speeds = LearnedSpeeds(
            self.rows, lambda: {"main": 3}, remembered=kept, clock=self.clock, wall_clock=self.clock
        )

    def timing(self, spec: EngineSpec = SPEC, view: EngineView = VIEW) -> EngineTiming | None:
        return self.speeds.timing(spec, view)

    def window(self, streams: int, *, row: int = 1, sequences: int | None = None) -> None:
        """A worker's window of 250 ms, with one token per stream and step."""
        cells, base = self.rows.rows[row], engine_base(3)
        stream_us = streams * 250_000
        cells[base + Engine.EVENTS] += round(stream_us / 1e6 / STEP_S)
        cells[base + Engine.STREAM_US] += stream_us
        cells[base + Engine.SEQUENCES_US] += stream_us * (sequences or streams)
        cells[base + Engine.WINDOW_US] += 250_000

    def look(self) -> None:
        self.clock.now_s += 0.25
        self.speeds.observe()


def learned() -> Bench:
    bench = Bench()
    bench.timing()
    bench.look()
    for _ in range(4):
        bench.window(10)
        bench.look()
    return bench


def test_nothing_counted_is_nothing_known() -> None:
    bench = Bench()
    bench.look()
    assert bench.timing() is None


def test_a_step_is_stream_time_over_tokens() -> None:
    timing = learned().timing()
    assert timing is not None
    assert timing.step.step_s(10) == pytest.approx(STEP_S, rel=0.02)
    assert timing.source is TimingSource.LEARNED


def test_workers_add_up_and_an_ended_one_takes_nothing_back() -> None:
    bench = learned()
    for row in (1, 2):
        bench.window(10, row=row, sequences=20)
    bench.look()
    bench.rows.retire(2)
    bench.look()
    bench.window(10, sequences=10)
    bench.look()
    timing = bench.timing()
    assert timing is not None
    assert timing.step.step_s(10) == pytest.approx(STEP_S, rel=0.1)


def test_the_time_since_the_last_stream_is_told() -> None:
    bench = learned()
    bench.clock.now_s += 90.0
    timing = bench.timing()
    assert timing is not None
    assert timing.age_s == pytest.approx(90.0)


def test_another_address_is_another_engine() -> None:
    bench = learned()
    assert bench.timing(msgspec.structs.replace(SPEC, url="http://10.0.0.9:1")) is None


def test_it_is_remembered_over_a_restart() -> None:
    before = learned()
    known, kept = before.timing(), json.loads(json.dumps(before.speeds.to_remember()))
    after = Bench(kept)
    after.clock.now_s = before.clock.now_s + 60.0
    timing = after.timing()
    assert known is not None
    assert timing is not None
    assert timing.step == known.step
    assert timing.age_s == pytest.approx(60.0, abs=1.0)


def test_what_is_remembered_of_an_engine_that_is_away_is_kept() -> None:
    kept = learned().speeds.to_remember()
    assert Bench(kept).speeds.to_remember() == kept


def test_what_was_not_written_by_it_is_refused() -> None:
    with pytest.raises(ValueError, match="step"):
        read_remembered({"main": {"timing": {}}})


def test_the_catalogue_is_asked_by_gpu_and_model_until_traffic_tells() -> None:
    bench, spec = Bench(), msgspec.structs.replace(SPEC, gpu="rtx-pro-6000-96gb")
    assert bench.timing(spec) is None
    models = (ModelView("Qwen/Qwen3-8B", msgspec.Raw(b"{}")),)
    timing = bench.timing(spec, msgspec.structs.replace(VIEW, models=models, models_known=True))
    assert timing is not None
    assert timing.source is TimingSource.CATALOGUE
    assert timing.step.base_s == pytest.approx(0.00635)


def test_answers_tell_what_limits_are_worth() -> None:
    bench = learned()
    cells, base = bench.rows.rows[1], engine_base(3)
    cells[base + Engine.LIMITED_TOKENS + limit_class(100)] += 10 * 80
    cells[base + Engine.LIMITS + limit_class(100)] += 10 * 100
    bench.look()
    assert bench.speeds.limit_use()[limit_class(100)] == pytest.approx(0.8)
    assert bench.speeds.limit_use()[limit_class(1000)] == 0.0
