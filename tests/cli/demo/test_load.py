"""The demo's loads and its arithmetic."""

import asyncio
import itertools

import pytest

from proa.cli.demo.client import Answer, Target
from proa.cli.demo.load import Phase, added_latency, beyond_engine_s, closed_loop
from proa.cli.demo.texts import Question
from proa.testing.chat import chat_events
from proa.testing.received import ReceivedRequest
from proa.testing.replies import sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply, Stall, WaitFor

QUESTION = Question(kind="chat", max_tokens=8, stream=True, text="Hi")


def target_of(engine: ScriptedEngine) -> Target:
    return Target("main", engine.url, model="m", system="", is_gateway=False)


async def test_as_many_users_as_asked_and_the_last_answers_are_awaited() -> None:
    gate = asyncio.Event()
    reply = sse_reply([chat_events(["a"])[1], WaitFor(gate), *chat_events(["a"])[2:]])
    phase = Phase("main")
    async with ScriptedEngine(lambda request: reply) as engine, target_of(engine) as target:
        loop = closed_loop(phase, target, itertools.repeat(QUESTION), users=3, drain_s=5.0)
        async with loop:
            await engine.wait_running(3)
            phase.begin()
            phase.end()
            gate.set()
    assert (len(phase.answers), phase.cut) == (3, 0)
    assert engine.peak_running == 3
    assert phase.tokens == 0, "nothing counts after the end"


async def test_what_does_not_end_is_cancelled() -> None:
    def script(request: ReceivedRequest) -> Reply:
        return sse_reply([chat_events(["a"])[1], Stall()])

    phase = Phase("main")
    async with ScriptedEngine(script) as engine, target_of(engine) as target:
        loop = closed_loop(phase, target, itertools.repeat(QUESTION), users=2, drain_s=0.0)
        async with loop:
            await phase.run_for(0.0, least_tokens=0)
            await engine.wait_running(2)
        await engine.wait_aborted(2)
    assert (phase.cut, phase.answers, phase.running) == (2, [], 0)


async def test_a_phase_waits_for_its_least_tokens() -> None:
    phase = Phase("main")
    waiting = asyncio.create_task(phase.run_for(0.001, least_tokens=3))
    phase.begin()
    phase.count_tokens(3)
    await asyncio.wait_for(waiting, 5)
    assert phase.tokens == 3


def answer_with(*marks: tuple[int, float, float]) -> Answer:
    return Answer(QUESTION, marks=list(marks))


def test_added_latency_is_the_median_of_differences_without_the_engines_time() -> None:
    pairs = [
        (answer_with((50, 1.010, 1.0)), answer_with((50, 2.013, 2.0))),
        (answer_with((50, 1.020, 1.0)), answer_with((50, 1.021, 1.0))),
        (answer_with((50, 1.030, 1.0)), answer_with((50, 1.032, 1.0))),
    ]
    [found] = added_latency(pairs, (50, 200))
    assert (found.tokens, found.pairs) == (50, 3)
    assert found.added_ms == pytest.approx(2.0)
    assert found.direct_ms == pytest.approx(20.0)


def test_only_marks_near_the_length_count_and_errors_none() -> None:
    answer = answer_with((3, 9.0, 1.0), (49, 1.2, 1.0), (50, 1.4, 1.0))
    assert beyond_engine_s(answer, 50) == pytest.approx(0.3)
    assert beyond_engine_s(answer, 200) is None
    answer.error = "cut"
    assert beyond_engine_s(answer, 50) is None
