"""A whole run: client processes, levels, what is read around them, and its end."""

import json

import msgspec
import pytest

from proa.bench.crew import Crew
from proa.bench.document import document
from proa.bench.lengths import LengthSpec
from proa.bench.paced_server import Pace, PacedServer
from proa.bench.process_messages import LoadSpec
from proa.bench.run import BenchRun, LevelVisit, RunResult, drift_of, process_counts
from proa.bench.run_spec import LevelSpec, Order, RunSpec, in_order, visits_of
from proa.bench.self_check import self_check
from proa.bench.slo import parse_slo
from proa.bench.target import TargetSpec
from proa.bench.window import Cause, WindowSpec
from proa.bench.workloads import WorkloadSpec
from proa.errors import UpstreamError
from proa.testing.chat import chat_events
from proa.testing.replies import json_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine

SMALL = WorkloadSpec(input=LengthSpec(100), output=LengthSpec(5))
WINDOW = WindowSpec(warmup_s=0.0, duration_s=None, requests=12)
SLO = parse_slo("user_tokens_per_s>=50,ttft_s<=5")


def spec(url: str, **changes: object) -> RunSpec:
    given: dict[str, object] = {
        "targets": (TargetSpec(name="t", url=url),),
        "workload": SMALL, "users": (2, 6), "window": WINDOW, "slo": SLO, "self_check_s": 0.0,
        "processes": 2, "settle_s": 0.0,
    } | changes  # fmt: skip
    return RunSpec(**given)  # type: ignore[arg-type]


async def ran(pace: Pace, **changes: object) -> tuple[RunResult, PacedServer]:
    server = PacedServer(pace)
    listener = server.listen()
    port = listener.port
    result = await BenchRun(spec(f"http://127.0.0.1:{port}", **changes)).run()
    listener.close()
    return result, server


async def test_b43_a_run_visits_its_levels_and_the_first_one_again() -> None:
    """B43: every prompt of the run is sent once. B23: the server saw as many as were asked."""
    result, server = await ran(Pace(ttft_s=0.02, gap_s=0.005))
    assert [visit.stats.users for visit in result.visits] == [*_order(), _order()[0]]
    for visit in result.visits:
        assert (visit.stats.requests, visit.stats.errors) == (12, 0)
        assert visit.stats.verdict == "pass"
        assert visit.stats.output_length.actual == 5
        assert visit.stats.input_length.actual == pytest.approx(100, rel=0.05)
    assert server.most_streams == 6
    assert result.drift is not None
    samples = [s for visit in result.visits for s in visit.result.samples]
    assert len({s.number for s in samples}) == len(samples)
    assert len({s.prompt for s in samples}) == len(samples)
    truths = {truth.prompt: truth for truth in server.truths}
    ended = [s for s in samples if not s.is_stopped]
    assert {s.prompt for s in ended} <= truths.keys()
    told = json.loads(json.dumps(document(result)))
    assert told["levels"][0]["ttft_s"]["p95"] is None
    assert told["levels"][0]["gpu"] == {"memory_share": None, "compute_share": None}
    assert told["client"]["verdict"] in ("valid", "suspect", "invalid")


def _order() -> list[int]:
    return [level.users or 0 for level in visits_of(spec("http://h"))[:2]]


async def test_b47_refusals_fail_the_level_that_has_them() -> None:
    """B47: a server that takes 4 at a time, and 6 users."""
    pace = Pace(ttft_s=0.05, gap_s=0.002, refuse_above=4)
    many = WindowSpec(warmup_s=0.0, duration_s=None, requests=60)
    result, _ = await ran(pace, users=(6,), processes=1, window=many)
    (visit,) = result.visits
    assert visit.stats.failures["status"] >= 1
    assert visit.stats.verdict == "fail"


async def test_an_open_loop_tells_both_clocks() -> None:
    result, _ = await ran(Pace(gap_s=0.002), users=(), rates=(40.0,), processes=1)
    (visit,) = result.visits
    assert visit.stats.scheduled_ttft_s is not None
    assert visit.stats.ttft_s.mean is not None
    assert visit.stats.scheduled_ttft_s.mean >= visit.stats.ttft_s.mean  # type: ignore[operator]
    assert visit.stats.rate == 40.0


async def test_an_interrupted_run_keeps_what_it_measured() -> None:
    server = PacedServer(Pace(gap_s=0.002))
    listener = server.listen()
    url = f"http://127.0.0.1:{listener.port}"
    endless = WindowSpec(warmup_s=0.0, duration_s=600.0)
    bench: BenchRun

    def stop_at_ten(told: object) -> None:
        if server.requests > 30:
            bench.interrupt()

    bench = BenchRun(spec(url, window=endless, processes=1), on_progress=stop_at_ten)
    result = await bench.run()
    listener.close()
    assert result.stopped is Cause.INTERRUPTED
    assert len(result.visits) == 1
    assert result.visits[0].stats.requests > 5


async def test_b22_b23_a_client_with_one_connection_is_never_valid() -> None:
    """B22, B23: the self-check finds the client's own limit before anything is measured."""
    async with Crew(1) as crew:
        check = await self_check(
            crew, SMALL, users=8, seconds=0.5, held_back=LoadSpec(max_connections=1)
        )
    assert check.verdict == "invalid"
    assert any(reason.code == "load_missing" for reason in check.reasons)


async def test_targets_that_cannot_be_used_are_named() -> None:
    with pytest.raises(UpstreamError, match=r"t \(http://127.0.0.1:1\)"):
        await BenchRun(spec("http://127.0.0.1:1")).run()
    busy = json_reply({"error": {"message": "no such model"}}, status=404)
    async with ScriptedEngine([busy]) as engine:
        with pytest.raises(UpstreamError, match="no such model"):
            await BenchRun(spec(engine.url)).run()


def test_b44_orders() -> None:
    """B44: vllm #54227: levels in random order, so that drift does not look like load."""
    asked = spec("http://h", users=(8, 16, 24, 32, 48), order=Order.ASCENDING)
    assert [level.users for level in visits_of(asked)] == [8, 16, 24, 32, 48, 8]
    mixed = visits_of(spec("http://h", users=(8, 16, 24, 32, 48), seed=3))
    assert sorted(level.users or 0 for level in mixed[:5]) == [8, 16, 24, 32, 48]
    assert mixed[5] == mixed[0]
    assert [level.users for level in mixed] != [8, 16, 24, 32, 48, 8]
    assert visits_of(spec("http://h", rates=(2.0,))) == [LevelSpec(rate=2.0)]


def test_a_fixed_list_ends_the_run() -> None:
    following = in_order([LevelSpec(1)])
    assert following([]) == LevelSpec(1)
    nothing: list[LevelVisit] = []
    assert drift_of(nothing) is None
    assert process_counts(6) == [1, 2, 4]


async def test_a_conversation_goes_on_with_the_answer_it_got() -> None:
    """Each user's turns on a real socket: the past as it was sent and answered, and one more."""
    async with ScriptedEngine(lambda _: sse_reply(chat_events())) as engine:
        workload = msgspec.structs.replace(SMALL, turns=3, turn_tokens=20, force_output=False)
        changes = {"users": (2,), "processes": 1, "workload": workload, "slo": None}
        await BenchRun(spec(engine.url, **changes)).run()
        asked = [json.loads(bytes(request.body))["messages"] for request in engine.requests]
    by_turn = {count: [m for m in asked if len(m) == count] for count in (1, 3, 5)}
    assert all(by_turn.values())
    assert {len(messages) for messages in asked} == {1, 3, 5}
    for longer in (*by_turn[3], *by_turn[5]):
        assert longer[:-2] in asked
        assert longer[-2] == {"role": "assistant", "content": "Hello from a script."}
    questions = [messages[-1]["content"] for messages in asked]
    assert len(set(questions)) == len(questions)
