"""Usage of a running gateway: it outlives kill -9, is told, and no dead database stops serving."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from signal import SIGKILL
from typing import Any

import httpx
import pytest
from tests.cli.serving import Serving
from tests.store.postgres_server import needs_postgres, postgres

from proa.cli.main import main
from proa.config.keys_edit import NewKey, add_key
from proa.store.usage import UsageCount, open_usage
from proa.testing.scripted_engine import ScriptedEngine

CHAT = {"model": "scripted", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 5}
TOKENS = 14  # of a scripted answer, with its prompt
KEPT_WITHIN_S = 1.0


def settings(directory: Path, engine: str, *, limit: int, usage: str = "") -> Path:
    file = directory / "proa.toml"
    file.write_text(
        f"""
[gateway]
listen = "127.0.0.1:0"
workers = 1
api_keys_file = "keys.toml"
[control]
listen = "127.0.0.1:0"
[logs]
requests = false
{usage}
[[tenants]]
name = "sales"
tokens_per_day = {limit}
budget = {{ per_month = 1000, per_million_input_tokens = 500, per_million_output_tokens = 1500 }}
[[engines]]
name = "main"
url = "{engine}"
kind = "vllm"
""",
        encoding="utf-8",
    )
    return file


def key_of(directory: Path) -> str:
    return add_key(directory / "keys.toml", "anna", NewKey(tenant="sales", role="admin"))


class Client:
    """Asks with the tenant's key."""

    def __init__(self, serving: Serving, key: str) -> None:
        self._serving = serving
        self._headers = {"authorization": f"Bearer {key}"}

    async def ask(self, count: int) -> list[httpx.Response]:
        async with httpx.AsyncClient(trust_env=False, headers=self._headers) as client:
            url = self._serving.url + "/v1/chat/completions"
            return [await client.post(url, json=CHAT) for _ in range(count)]

    async def told(self, path: str = "/admin/tenants") -> Any:
        async with httpx.AsyncClient(trust_env=False, headers=self._headers) as client:
            return (await client.get(self._serving.control_url + path)).json()

    async def until(self, what: str, **wanted: object) -> Any:
        """The tenants' page once its `usage` says all that is wanted."""
        async with asyncio.timeout(30):
            while True:
                told = await self.told()
                if all(bool(told["usage"][key]) == value for key, value in wanted.items()):
                    return told
                await asyncio.sleep(0.05)
        raise AssertionError(what)


@pytest.fixture
async def engine() -> AsyncIterator[ScriptedEngine]:
    async with ScriptedEngine() as running:
        yield running


def kept(directory: Path) -> list[UsageCount]:
    with closing(open_usage(f"sqlite:{directory / 'usage.db'}", read_only=True)) as store:
        return store.days(1, 3_000_000)


async def test_what_was_used_outlives_kill_9_of_everything(
    tmp_path: Path, engine: ScriptedEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    key = key_of(tmp_path)
    config = settings(tmp_path, engine.url, limit=20 * TOKENS)
    async with Serving([str(config)]) as serving:
        client = Client(serving, key)
        assert {a.status_code for a in await client.ask(15)} == {200}
        await asyncio.sleep(KEPT_WITHIN_S)
        serving.signal(SIGKILL)
        await serving.ended()
    (count,) = kept(tmp_path)
    assert (count.tenant, count.requests, count.input, count.output) == ("sales", 15, 165, 45)
    assert count.cost == 15 * (11 * 500 + 3 * 1500)
    async with Serving([str(config)]) as serving:
        client = Client(serving, key)
        statuses = [a.status_code for a in await client.ask(7)]
        assert statuses == [200] * 5 + [429] * 2
        (tenant,) = (await client.told())["tenants"]
        used = {limit["limit"]: limit for limit in tenant["limits"]}
        assert used["tokens_per_day"]["used"] == 20 * TOKENS
        assert used["tokens_per_day"]["passes_in_s"] > 0
        assert used["budget.per_month"]["used"] == pytest.approx(0.2)
        assert tenant["today"]["requests"] == 5
        assert tenant["refused"]["quota"] == 2
        await client.until("written", unsaved=False)
    assert sum(count.requests for count in kept(tmp_path)) == 20
    capsys.readouterr()
    assert main(["keys", "usage", "--config", str(config), "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["usage"]
    assert (row["tenant"], row["requests"], row["input_tokens"]) == ("sales", 20, 220)


@needs_postgres
async def test_two_gateways_share_a_database_that_may_be_gone(
    tmp_path: Path, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres() as database:
        monkeypatch.setenv("USAGE_URL", database.url)
        key = key_of(tmp_path)
        usage = '[usage]\nurl_env = "USAGE_URL"'
        config = settings(tmp_path, engine.url, limit=10 * TOKENS, usage=usage)
        async with Serving([str(config)]) as first, Serving([str(config)]) as second:
            one, other = Client(first, key), Client(second, key)
            assert {a.status_code for a in await one.ask(6)} == {200}
            await one.until("written", unsaved=False)
            await asyncio.sleep(KEPT_WITHIN_S)
            assert [a.status_code for a in await other.ask(5)] == [200] * 4 + [429]
            database.stop()
            assert (await other.until("a problem", problem=True))["usage"]["failures"] > 0
            assert [a.status_code for a in await one.ask(1)] == [200]  # counts what it knows
            assert (await one.until("a problem", unsaved=True))["usage"]["problem"]
            database.start()
            await one.until("written again", problem=False, unsaved=False)
            await other.until("written again", problem=False, unsaved=False)
        with closing(open_usage(database.url)) as store:
            assert sum(count.requests for count in store.days(1, 3_000_000)) == 11
