"""Request records of a running gateway: kept, whatever becomes of it and of its store."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from signal import SIGTERM

import httpx
import pytest
from tests.cli.serving import Serving

from proa.domain.request_record import KeptRequest
from proa.store.records import RecordQuery, open_records
from proa.testing.scripted_engine import ScriptedEngine

CHAT = {"model": "scripted", "messages": [{"role": "user", "content": "my secret words"}]}


def settings(directory: Path, engine: str, *, workers: int = 1) -> Path:
    file = directory / "proa.toml"
    file.write_text(
        f"""
[gateway]
listen = "127.0.0.1:0"
workers = {workers}
[control]
listen = "127.0.0.1:0"
[records]
[logs]
requests = false
[[engines]]
name = "main"
url = "{engine}"
kind = "vllm"
""",
        encoding="utf-8",
    )
    return file


def records(directory: Path, name: str = "records.db") -> list[KeptRequest]:
    with closing(open_records(f"sqlite:{directory / name}", read_only=True)) as store:
        return store.requests(RecordQuery(limit=10_000))


async def ask(url: str, count: int) -> list[str]:
    """The identities of as many whole answers."""
    async with httpx.AsyncClient(trust_env=False) as client:
        answers = [await client.post(url + "/v1/chat/completions", json=CHAT) for _ in range(count)]
    assert {answer.status_code for answer in answers} == {200}
    return [answer.headers["x-request-id"] for answer in answers]


@pytest.mark.parametrize("workers", [1, 2])
async def test_every_request_is_there_after_a_drain(tmp_path: Path, workers: int) -> None:
    async with ScriptedEngine() as engine:
        config = settings(tmp_path, engine.url, workers=workers)
        async with Serving([str(config)]) as serving:
            names = await ask(serving.url, 30)
            async with httpx.AsyncClient(trust_env=False) as client:
                await client.post(serving.url + "/v1/chat/completions", content=b"no json")
                await client.patch(
                    serving.control_url + "/admin/engines/main?x=1", json={"weight": 2}
                )
            serving.signal(SIGTERM)
            assert await serving.ended() == 0
    kept = records(tmp_path)
    assert {one.record.request_id for one in kept} >= set(names)
    last = next(one for one in kept if one.record.request_id == names[-1])
    assert (last.record.engine, last.record.tenant, last.record.model) == (
        "main",
        "default",
        "scripted",
    )
    assert last.record.decision
    assert b"secret words" not in b"".join(path.read_bytes() for path in tmp_path.glob("records*"))
    with closing(open_records(f"sqlite:{tmp_path / 'records.db'}", read_only=True)) as store:
        (action,) = store.actions(RecordQuery())
    assert (action.who, action.method, action.path) == ("127.0.0.1", "PATCH", "/admin/engines/main")


async def test_what_is_written_outlives_a_kill(tmp_path: Path) -> None:
    async with (
        ScriptedEngine() as engine,
        Serving([str(settings(tmp_path, engine.url))]) as serving,
    ):
        names = await ask(serving.url, 5)
        await written(serving, 5)
    assert {one.record.request_id for one in records(tmp_path)} == set(names)


async def written(serving: Serving, count: int) -> None:
    async with asyncio.timeout(10):
        while await serving.metric("proa_records_written_total") < count:
            await asyncio.sleep(0.02)


async def test_a_store_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    async with ScriptedEngine() as engine:
        config = settings(tmp_path, engine.url)
        (tmp_path / "records.db").mkdir()
        async with Serving([str(config)]) as serving:
            names = await ask(serving.url, 5)
            fault = await serving.line("request records are not written")
            assert "records.db" in fault["error"]
            assert await serving.metric("proa_records_store_up") == 0
            status = (await serving.page("/admin/status")).json()["records"]
            assert (status["waiting"], status["written"]) == (5, 0)
            (tmp_path / "records.db").rmdir()
            await serving.line("request records are written again")
            names += await ask(serving.url, 1)
            await written(serving, 6)
            serving.signal(SIGTERM)
            assert await serving.ended() == 0
    assert {one.record.request_id for one in records(tmp_path)} == set(names)


async def test_another_store_is_taken_without_a_restart(tmp_path: Path) -> None:
    async with ScriptedEngine() as engine:
        config = settings(tmp_path, engine.url)
        async with Serving([str(config)]) as serving:
            first = await ask(serving.url, 1)
            await written(serving, 1)
            text = config.read_text(encoding="utf-8")
            config.write_text(text.replace("[records]", '[records]\nstore = "sqlite:b.db"'))
            await serving.line("settings reloaded")
            second = await ask(serving.url, 1)
            await written(serving, 2)
            serving.signal(SIGTERM)
            assert await serving.ended() == 0
    assert [one.record.request_id for one in records(tmp_path)] == first
    assert [one.record.request_id for one in records(tmp_path, "b.db")] == second


async def test_a_locked_store_is_waited_for(tmp_path: Path) -> None:
    async with (
        ScriptedEngine() as engine,
        Serving([str(settings(tmp_path, engine.url))]) as serving,
    ):
        await ask(serving.url, 1)
        await written(serving, 1)
        with closing(sqlite3.connect(tmp_path / "records.db")) as other:
            other.execute("BEGIN IMMEDIATE")
            names = await ask(serving.url, 20)  # serving goes on
            other.rollback()
        await written(serving, 21)
        serving.signal(SIGTERM)
        assert await serving.ended() == 0
    assert {one.record.request_id for one in records(tmp_path)} >= set(names)
