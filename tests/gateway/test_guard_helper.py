"""Large bodies are searched in a helper process: beside streams, through faults and goodbyes."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from benchmarks.guard_lag import measured
from msgspec.structs import replace
from tests.gateway.guarded import (
    MAIL,
    PHONE,
    TEXT,
    chat_request,
    content,
    echo,
    guard_count,
    guarding,
    said,
)
from tests.gateway.harness import Gateway
from tests.gateway.supervised import settings_for, supervised, until, url_of

from proa.gateway.guard_helper import JOB_MAX_S
from proa.guard.policy import GuardSettings
from proa.telemetry.rows import GUARD_AT, Guard
from proa.testing.raw_client import RawClient
from proa.testing.replies import json_reply
from proa.testing.scripted_engine import ScriptedEngine

LARGE = "가나다라마바사 아자차카. " * 4_000 + TEXT


@asynccontextmanager
async def warm(engine: ScriptedEngine, **more: Any) -> AsyncIterator[Gateway]:
    """A gateway whose helper has started."""
    async with guarding(engine, **more) as gateway:
        await gateway.ask(chat_request("가" * 20_000))
        assert gateway.plane.guard_helper.spawned == 1
        yield gateway


async def test_large_bodies_and_answers_are_as_small_ones() -> None:
    async with ScriptedEngine(echo) as engine, warm(engine, mode="token") as gateway:
        answer = await gateway.ask(chat_request(LARGE))
        assert said(engine.requests[-1]).endswith("제 번호는 [전화_1]이고 메일은 [이메일_1]입니다")
        assert content(answer) == f"말씀하신 것은: {LARGE}"
        assert gateway.records[-1].pii == {"mobile_phone": 1, "email": 1}
        assert gateway.records[-1].model == "scripted"
        assert gateway.plane.guard_helper.spawned == 1
        answer = await gateway.ask(chat_request(LARGE, max_tokens=3))
        assert answer.status == 200


async def test_a_large_body_can_be_refused() -> None:
    async with ScriptedEngine() as engine, warm(engine, mode="block") as gateway:
        answer = await gateway.ask(chat_request(LARGE))
        assert (answer.status, b"pii_blocked" in answer.body.data) == (400, True)
        bad = chat_request(LARGE).replace(b'"model"', b'"messages": 1, "model"')
        head, _, body = bad.partition(b"\r\n\r\n")
        lines = [line for line in head.split(b"\r\n") if not line.startswith(b"content-length")]
        lines.append(b"content-length: %d" % len(body))
        answer = await gateway.ask(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        assert (answer.status, b"unreadable_body" in answer.body.data) == (400, True)
        assert len(engine.requests) == 1


async def test_a_helper_that_dies_fails_its_requests_and_another_starts() -> None:
    async with ScriptedEngine() as engine, warm(engine) as gateway:
        helper = gateway.plane.guard_helper
        os.kill(helper.pid, signal.SIGSTOP)
        ask = asyncio.ensure_future(gateway.ask(chat_request(LARGE)))
        await gateway.until(lambda: bool(helper._jobs), "job")
        os.kill(helper.pid, signal.SIGKILL)
        answer = await ask
        assert (answer.status, b"guard_failed" in answer.body.data) == (503, True)
        assert PHONE.encode() not in answer.body.data
        assert len(engine.requests) == 1
        assert guard_count(gateway, Guard.FAILED) == 1
        assert (await gateway.ask(chat_request(LARGE))).status == 200
        assert PHONE not in said(engine.requests[-1])
        assert helper.spawned == 2


async def test_a_helper_that_hangs_is_ended() -> None:
    async with ScriptedEngine() as engine, warm(engine) as gateway:
        helper = gateway.plane.guard_helper
        os.kill(helper.pid, signal.SIGSTOP)
        ask = asyncio.ensure_future(gateway.ask(chat_request(LARGE)))
        await gateway.until(lambda: bool(helper._jobs), "job")
        gateway.advance(JOB_MAX_S + 1)
        assert (await ask).status == 503
        assert helper.pid == 0


async def test_no_process_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: Any, **__: Any) -> Any:
        raise OSError("no memory")

    monkeypatch.setattr("proa.gateway.guard_helper._spawned", refuses)
    async with ScriptedEngine() as engine, guarding(engine) as gateway:
        answer = await gateway.ask(chat_request(LARGE))
        assert (answer.status, b"guard_failed" in answer.body.data) == (503, True)
        assert engine.requests == []


async def test_a_client_that_leaves_while_its_body_is_searched() -> None:
    async with ScriptedEngine() as engine, warm(engine) as gateway:
        helper = gateway.plane.guard_helper
        os.kill(helper.pid, signal.SIGSTOP)
        async with gateway.client() as client:
            await client.send(chat_request(LARGE))
            await gateway.until(lambda: bool(helper._jobs), "job")
        await gateway.until_idle()
        assert gateway.records[-1].status == 499
        assert not helper._jobs
        os.kill(helper.pid, signal.SIGCONT)
        assert (await gateway.ask(chat_request(LARGE))).status == 200
        assert len(engine.requests) == 2


async def test_a_reload_while_a_body_is_searched() -> None:
    """The request keeps the rules that it began with, also where the guard is gone."""
    async with ScriptedEngine() as engine, warm(engine) as gateway:
        settings, helper = gateway.plane.settings, gateway.plane.guard_helper
        os.kill(helper.pid, signal.SIGSTOP)
        ask = asyncio.ensure_future(gateway.ask(chat_request(LARGE)))
        await gateway.until(lambda: bool(helper._jobs), "job")
        gateway.apply(replace(settings, guard=None))
        os.kill(helper.pid, signal.SIGCONT)
        assert (await ask).status == 200
        assert PHONE not in said(engine.requests[-1])
        gateway.apply(replace(settings, guard=GuardSettings(mode="block")))
        assert (await gateway.ask(chat_request(LARGE))).status == 400


async def test_a_drain_waits_for_a_body_that_is_searched() -> None:
    async with ScriptedEngine() as engine, warm(engine) as gateway:
        helper = gateway.plane.guard_helper
        os.kill(helper.pid, signal.SIGSTOP)
        ask = asyncio.ensure_future(gateway.ask(chat_request(LARGE)))
        await gateway.until(lambda: bool(helper._jobs), "job")
        gateway.plane.drain()
        gateway.advance(gateway.plane.settings.limits.linger_s + 1)
        os.kill(helper.pid, signal.SIGCONT)
        answer = await ask
        assert (answer.status, answer.header("connection")) == (200, "close")


async def test_the_helper_ends_with_its_worker() -> None:
    async with ScriptedEngine() as engine, guarding(engine) as gateway:
        await gateway.ask(chat_request(LARGE))
        pid = gateway.plane.guard_helper.pid
        assert _is_alive(pid)
    assert not _is_alive(pid)


async def test_an_answer_too_large_to_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proa.gateway.guarded_answer.ANSWER_MAX_BYTES", 100_000)
    reply = json_reply({"text": MAIL + "가" * 100_000})
    async with ScriptedEngine(lambda _: reply) as engine, guarding(engine) as gateway:
        answer = await gateway.ask(chat_request("안녕"))
        assert answer.status == 502
        assert b"too large for the guard" in answer.body.data
        assert MAIL.encode() not in answer.body.data


async def test_streams_do_not_wait_while_5_mb_are_searched() -> None:
    """Nothing that the worker does in one go takes 10 ms of CPU time, beside a 5 MB prompt.

    One of three runs has to do: what a busy machine adds to a run (page faults, caches) is
    chance, a search in the loop would be 100 ms in each.
    """
    for _ in range(3):
        stats = await measured(8, 5_000_000, alone_s=0.2)
        if stats.longest_cpu_ms < 10:
            return
    pytest.fail(str(stats))


async def test_a_small_body_does_not_wait_behind_a_large_one() -> None:
    large = chat_request("안녕하세요, 오늘 회의 내용을 정리해 주세요. " * 60_000)
    async with ScriptedEngine() as engine, warm(engine) as gateway:
        first = asyncio.ensure_future(gateway.ask(large))
        await gateway.until(lambda: bool(gateway.plane.guard_helper._jobs), "job")
        second = asyncio.ensure_future(gateway.ask(chat_request(LARGE)))
        await asyncio.wait((first, second), return_when=asyncio.FIRST_COMPLETED)
        assert second.done()
        assert not first.done()
        assert (await first).status == 200
        assert json.loads(bytes(engine.requests[-1].body))["model"] == "scripted"


async def test_real_workers_have_helpers_of_their_own_that_end_with_them() -> None:
    async with ScriptedEngine() as engine:
        settings = settings_for([engine.url], workers=2, guard=GuardSettings(mode="token"))
        async with supervised(settings) as supervisor:
            url = url_of(supervisor)
            for _ in range(4):
                async with RawClient.connect(url, timeout_s=30) as client:
                    await client.send(chat_request(LARGE))
                    assert (await client.read_response()).status == 200
            assert not any(PHONE in said(request) for request in engine.requests)
            rows = supervisor.rows
            await until(lambda: rows.total(GUARD_AT + Guard.HELPED) == 4, "counted")
            helpers = _helpers_of({worker.pid for worker in supervisor.workers()})
            assert rows.total(GUARD_AT + Guard.HELPERS) == len(helpers) >= 1
        await until(lambda: not any(map(_is_alive, helpers)), "end of the helpers")


def _helpers_of(workers: set[int]) -> list[int]:
    """Processes whose parent is one of the workers."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) in workers:
            found.append(int(entry.parent.name))
    return found


def _is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
