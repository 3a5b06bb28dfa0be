"""The client's side on real sockets: one record per attempt, and stamps before parsing."""

import asyncio
import dataclasses
import time
from collections.abc import Callable

import pytest

from proa.bench.ask import get
from proa.bench.body import BodySpec, body_of, prompt_hash
from proa.bench.client import TargetClient
from proa.bench.decode import VisitLabel, decoded
from proa.bench.lengths import LengthSpec
from proa.bench.paced_server import Pace, PacedServer
from proa.bench.raw import Asked, RawEnd, RawExchange
from proa.bench.sample import Failure, RequestSample
from proa.bench.target import TargetSpec
from proa.bench.workloads import Prompts, TokenScale, WorkloadSpec
from proa.testing.chat import chat_completion, chat_events
from proa.testing.replies import Framing, informational, json_reply, scattered, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Close, Reset, Signal, Stall, WaitFor

BODY = b'{"stream":true}'


def told(raw: RawExchange) -> RequestSample:
    return decoded(raw, VisitLabel(0), ("t",), origin_s=0.0)


class Sending:
    """A client of a scripted engine, and the exchanges that have ended."""

    def __init__(self, engine: ScriptedEngine, max_connections: int | None = None) -> None:
        target = TargetSpec(name="t", url=engine.url)
        self.client = TargetClient(target, max_connections=max_connections)
        self.ended: list[RawExchange] = []
        self._changed = asyncio.Event()

    def send(self, then: Callable[[], None] = lambda: None) -> None:
        def end(raw: RawExchange) -> None:
            self.ended.append(raw)
            self._changed.set()
            then()

        self.client.send(
            RawExchange(Asked(0, 0, 0), time.monotonic(), times=[], reads=[]), BODY, end
        )

    async def wait(self, count: int) -> list[RequestSample]:
        while len(self.ended) < count:
            self._changed.clear()
            await self._changed.wait()
        return [told(raw) for raw in self.ended]


@pytest.mark.parametrize("framing", list(Framing))
async def test_an_answers_end_is_seen_in_every_framing(framing: Framing) -> None:
    async with ScriptedEngine([sse_reply(chat_events(), framing=framing)]) as engine:
        sending = Sending(engine)
        await sending.client.open(1)
        sending.send()
        (sample,) = await sending.wait(1)
    assert (sample.failure, sample.output_tokens) == (None, 3)


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_answers_in_scattered_writes(seed: int) -> None:
    reply = scattered(sse_reply(chat_events(), line_end=b"\r\n"), seed=seed)
    async with ScriptedEngine([reply.preceded_by(informational()), reply]) as engine:
        sending = Sending(engine)
        await sending.client.open(1)
        sending.send(then=sending.send)
        samples = await sending.wait(2)
        assert engine.connections_made == 1
        sending.client.stop()
    assert [(s.failure, s.output_tokens) for s in samples] == [(None, 3)] * 2


async def test_b48_nothing_is_sent_twice() -> None:
    """B48: gpustack #1677: 503 twice, then 200: three requests, two of them failures."""
    busy = json_reply({"error": {"message": "busy"}}, status=503)
    async with ScriptedEngine([busy, busy, sse_reply(chat_events())]) as engine:
        sending = Sending(engine)
        await sending.client.open(1)
        sending.send(then=lambda: sending.send(then=sending.send))
        samples = await sending.wait(3)
        assert len(engine.requests) == 3
        assert engine.violations == []
        sending.client.stop()
    assert [s.failure for s in samples] == [Failure.STATUS, Failure.STATUS, None]


@pytest.mark.parametrize("end", [Close(), Reset()])
async def test_a_cut_answer_is_a_failure(end: Close | Reset) -> None:
    role, text, *_ = chat_events()
    async with ScriptedEngine([sse_reply([role, text, end], done=False)]) as engine:
        sending = Sending(engine)
        await sending.client.open(1)
        sending.send()
        (sample,) = await sending.wait(1)
    assert sample.failure is Failure.CUT


async def test_a_timeout_ends_what_is_too_old_and_only_that() -> None:
    begun = asyncio.Event()
    async with ScriptedEngine([sse_reply([Signal(begun), Stall()])]) as engine:
        sending = Sending(engine)
        await sending.client.open(1)
        sending.send()
        await begun.wait()
        sending.client.end_older(time.monotonic() - 60, "60 s")
        assert sending.ended == []
        sending.client.end_older(time.monotonic(), "0 s")
        (sample,) = await sending.wait(1)
    assert (sample.failure, sample.failure_text) == (Failure.TIMEOUT, "0 s")


async def test_b23_all_that_was_asked_is_in_flight_at_once() -> None:
    """B23: guidellm #487: 128 users are 128 requests at the server, not 100."""
    gate = asyncio.Event()
    async with ScriptedEngine(lambda _: sse_reply([WaitFor(gate), *chat_events()])) as engine:
        sending = Sending(engine)
        await sending.client.open(128)
        for _ in range(128):
            sending.send()
        await engine.wait_requests(128)
        assert sending.client.on_wire == 128
        assert sending.client.late_connects == 0
        gate.set()
        samples = await sending.wait(128)
        sending.client.stop()
    assert {s.failure for s in samples} == {None}


async def test_a_capped_client_waits_and_its_time_counts() -> None:
    async with ScriptedEngine() as engine:
        sending = Sending(engine, max_connections=1)
        await sending.client.open(4)
        for _ in range(3):
            sending.send()
        assert sending.client.on_wire == 1
        samples = await sending.wait(3)
        assert engine.connections_made == 1
        sending.client.stop()
    waits = [s.wired_s - s.sent_s for s in samples if s.wired_s is not None]
    assert waits == sorted(waits)
    assert samples[2].sent_s < (samples[0].end_s or 0)


async def test_a_server_that_closes_each_time_gets_new_connections() -> None:
    reply = sse_reply(chat_events(), headers=(("connection", "close"),))
    async with ScriptedEngine([reply, reply]) as engine:
        sending = Sending(engine, max_connections=1)
        sending.send(then=sending.send)
        samples = await sending.wait(2)
        assert engine.connections_made == 2
        sending.client.stop()
    assert [s.failure for s in samples] == [None, None]


async def test_a_refused_connection_is_a_failure() -> None:
    async with ScriptedEngine() as engine:
        sending = Sending(engine)
        await engine.stop()
        sending.send()
        (sample,) = await sending.wait(1)
        with pytest.raises(OSError, match=r".+"):
            await sending.client.open(1)
    assert sample.failure is Failure.CONNECT


async def test_a_stop_ends_everything_without_failures() -> None:
    begun = asyncio.Event()
    async with ScriptedEngine([sse_reply([Signal(begun), Stall()])]) as engine:
        sending = Sending(engine, max_connections=1)
        sending.send()
        sending.send()
        await begun.wait()
        assert sending.client.oldest_sent_s() is not None
        sending.client.stop()
        samples = await sending.wait(2)
    assert {raw.end for raw in sending.ended} == {RawEnd.STOPPED}
    assert {s.failure for s in samples} == {None}


async def test_an_unstreamed_answer() -> None:
    async with ScriptedEngine([json_reply(chat_completion())]) as engine:
        sending = Sending(engine)
        sending.send()
        (sample,) = await sending.wait(1)
        status, page = await get(TargetSpec(name="t", url=engine.url), "/health")
        sending.client.stop()
    assert (sample.failure, sample.ttft_s, sample.output_tokens) == (None, None, 3)
    assert (status, page) == (200, b'{"status":"ok"}')


async def test_a_kept_connection_that_the_server_closed_unsaid_is_no_failure() -> None:
    """llama.cpp closes after its second answer, without a word in its head.

    Source: xllamacpp 2026.10; RFC 9112, section 9.3.1.
    """
    answer = sse_reply(chat_events())
    async with ScriptedEngine([dataclasses.replace(answer, close=True), answer]) as engine:
        sending = Sending(engine)
        await sending.client.open(1)
        sending.send(then=sending.send)
        first, second = await sending.wait(2)
    assert (first.failure, second.failure) == (None, None)
    assert second.wired_s is not None
    assert second.wired_s >= second.sent_s
    assert sending.client.late_connects == 1


async def test_b22_prompts_of_50_000_tokens_hold_nobody_up() -> None:
    """B22: vllm #39963: 8 users with 50k-token bodies, all in flight and read at the full speed."""
    prompts = Prompts(WorkloadSpec(input=LengthSpec(50_000)), TokenScale())
    server = PacedServer(Pace(ttft_s=0.05, gap_s=0.002, tokens=25))
    listener = server.listen()
    target = TargetSpec(name="t", url=f"http://127.0.0.1:{listener.port}", model="m")
    load = BodySpec(force=False, usage=True)
    bodies = [body_of(target, prompts.make(number), load) for number in range(8)]
    assert all(len(body) > 200_000 for body in bodies)
    client, loop = TargetClient(target), asyncio.get_running_loop()
    await client.open(8)
    ended = [loop.create_future() for _ in bodies]
    for body, end in zip(bodies, ended, strict=True):
        asked = Asked(0, 0, 0, prompt_hash(body))
        raw = RawExchange(asked, time.monotonic(), times=[], reads=[])
        client.send(raw, body, end.set_result)
    samples = [told(await end) for end in ended]
    client.stop()
    listener.close()
    assert server.most_streams == 8
    assert {truth.prompt for truth in server.truths} == {sample.prompt for sample in samples}
    assert [sample.failure for sample in samples] == [None] * 8
    behind = {truth.prompt: truth.last_s - truth.first_s for truth in server.truths}
    for sample in samples:
        took_s = (sample.last_content_s or 0.0) - (sample.first_content_s or 0.0)
        assert took_s == pytest.approx(behind[sample.prompt], abs=0.02)


async def test_a_page_that_does_not_come_in_time_leaves_no_trace() -> None:
    errors: list[dict[str, object]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: errors.append(context))
    gate = asyncio.Event()
    async with ScriptedEngine(lambda _: sse_reply([WaitFor(gate)])) as engine:
        with pytest.raises(TimeoutError):
            await get(TargetSpec(name="t", url=engine.url), "/v1/x", timeout_s=0.05)
        await asyncio.sleep(0)
        gate.set()
    assert errors == []
