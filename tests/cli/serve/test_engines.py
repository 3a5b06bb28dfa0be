"""Engines that come, change and go while `proa serve` works: nothing is lost, nothing forgotten."""

import asyncio
import json
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cli.serving import Serving
from tests.gateway.closed_loop import ClosedLoop

from proa.testing.raw_client import RawClient
from proa.testing.raw_response import json_request
from proa.testing.replies import sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import WaitFor

CHANGES = 100
CHAT = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}]}
STREAM = json_request(CHAT | {"stream": True})
HEAD = """\
[gateway]
listen = "127.0.0.1:0"
[control]
listen = "127.0.0.1:0"
poll_interval_s = 0.1
state_file = "state.json"
[logs]
requests = false
"""


def file_with(directory: Path, *engines: ScriptedEngine, more: str = "") -> Path:
    path = directory / "proa.toml"
    tables = [f'[[engines]]\nname = "e{n}"\nurl = "{e.url}"\n' for n, e in enumerate(engines)]
    path.write_text(HEAD + "".join(tables) + more)
    return path


class Api:
    """The admin API of one gateway."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    async def __call__(
        self, method: str, path: str, body: object = None, *, status: int = 200
    ) -> dict[str, Any]:
        content = None if body is None else json.dumps(body)
        async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
            answer = await client.request(
                method,
                self._serving.control_url + path,
                content=content,
                headers={"content-type": "application/json"},
            )
        assert answer.status_code == status, answer.text
        told: dict[str, Any] = answer.json()
        return told

    async def engines(self) -> dict[str, dict[str, Any]]:
        return {e["name"]: e for e in (await self("GET", "/admin/engines"))["engines"]}


async def chosen(serving: Serving) -> str:
    """Who answers the next request."""
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(serving.url + "/v1/chat/completions", json=CHAT)
    assert answer.status_code == 200, answer.text
    return str(answer.headers["x-proa-engine"])


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_hundred_changes_at_200_requests_a_second_fail_nothing(
    tmp_path: Path, workers: int
) -> None:
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(ScriptedEngine()) for _ in range(2)]
        path = file_with(tmp_path, first)
        path.write_text(path.read_text().replace("[gateway]", f"[gateway]\nworkers = {workers}"))
        serving = await stack.enter_async_context(Serving([str(path)]))
        api = Api(serving)
        load = ClosedLoop(serving.url, connections=16, rate=200)
        async with load:
            for number in range(CHANGES // 5):
                name = f"x{number % 3}"
                entry = {"name": name, "url": second.url}
                assert (await api("POST", "/admin/engines", entry, status=201))["warnings"] == []
                await api("PATCH", f"/admin/engines/{name}", {"weight": 1.5 + number})
                await api("PATCH", "/admin/engines/e0", {"draining": True})
                await api("PATCH", "/admin/engines/e0", {"draining": False})
                drain = "true" if number % 2 else "false"
                assert (await api("DELETE", f"/admin/engines/{name}?drain={drain}"))["removed"]
        assert load.failures == []
        assert load.ok >= CHANGES
        assert len(second.requests) > 0


async def test_a_leaving_engine_finishes_its_stream_and_gets_nothing_new(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with AsyncExitStack() as stack:
        held = await stack.enter_async_context(
            ScriptedEngine([sse_reply(["one", WaitFor(gate), "two"])])
        )
        other = await stack.enter_async_context(ScriptedEngine())
        serving = await stack.enter_async_context(Serving([str(file_with(tmp_path, held))]))
        api = Api(serving)
        old = await stack.enter_async_context(RawClient.connect(serving.url))
        await old.send(STREAM)
        await old.read_head()
        await api("POST", "/admin/engines", {"name": "new", "url": other.url}, status=201)
        removing = asyncio.create_task(api("DELETE", "/admin/engines/e0?timeout_s=20"))
        await serving.until(lambda s: s["engines"][0]["state"] == "draining")
        assert (await api.engines())["e0"]["leaving"]
        await api("DELETE", "/admin/engines/e0", status=409)
        await api("PATCH", "/admin/engines/e0", {"weight": 2}, status=409)
        assert {await chosen(serving) for _ in range(5)} == {"new"}
        assert not removing.done()
        gate.set()
        assert b"two" in await old.read_until(b"[DONE]")
        told = await removing
        assert (told["drained"], told["requests_left"]) == (True, 0)
        assert list(await api.engines()) == ["new"]


async def test_the_time_to_leave_has_a_limit_and_cuts_nobody(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with AsyncExitStack() as stack:
        held = await stack.enter_async_context(
            ScriptedEngine([sse_reply(["one", WaitFor(gate), "two"])])
        )
        serving = await stack.enter_async_context(Serving([str(file_with(tmp_path, held))]))
        old = await stack.enter_async_context(RawClient.connect(serving.url))
        await old.send(STREAM)
        await old.read_head()
        told = await Api(serving)("DELETE", "/admin/engines/e0?timeout_s=0.2")
        assert (told["drained"], told["requests_left"]) == (False, 1)
        assert await Api(serving).engines() == {}
        gate.set()
        assert b"two" in await old.read_until(b"[DONE]")


async def test_changes_outlive_a_reload_and_a_crash(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        engines = [await stack.enter_async_context(ScriptedEngine()) for _ in range(7)]
        path = file_with(tmp_path, *engines[:2])
        before = path.read_text()
        async with Serving([str(path)]) as serving:
            api = Api(serving)
            for number, engine in enumerate(engines[2:]):
                entry = {"name": f"x{number}", "url": engine.url, "weight": 2}
                await api("POST", "/admin/engines", entry, status=201)
            await api("PATCH", "/admin/engines/e1", {"weight": 4, "draining": True})
            await api("DELETE", "/admin/engines/e0?drain=false")
            told = await api("POST", "/admin/reload")
            assert (told["warnings"], told["notes"]) == ([], [])
            expected = _facts(await api.engines())
            assert sorted(expected) == ["e1", "x0", "x1", "x2", "x3", "x4"]
            assert expected["e1"] == (4.0, True, "file", ["weight", "draining"])
            assert expected["x0"] == (2.0, False, "admin", [])
            serving.signal(signal.SIGKILL)
        assert path.read_text() == before
        async with Serving([str(path)]) as serving:
            await serving.until(lambda s: sum(e["state"] == "ready" for e in s["engines"]) == 5)
            assert _facts(await Api(serving).engines()) == expected
            assert await chosen(serving) in expected.keys() - {"e1"}
            api = Api(serving)
            told = await api("POST", "/admin/engines", {"name": "e0", "url": "x:1"}, status=400)
            assert told["error"]["param"] == "url"
            told = await api(
                "POST", "/admin/engines", {"name": "e0", "url": "http://x:1"}, status=201
            )
            assert told["engine"]["url"] == engines[0].url
            assert "takes part again, with its entry of file" in told["notes"][0]


def _facts(engines: dict[str, dict[str, Any]]) -> dict[str, tuple[object, ...]]:
    keys = ("weight", "draining", "source", "changed")
    return {name: tuple(engine[key] for key in keys) for name, engine in engines.items()}


async def test_an_engine_in_both_is_the_files(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        first, added, second = [await stack.enter_async_context(ScriptedEngine()) for _ in range(3)]
        path = file_with(tmp_path, first)
        serving = await stack.enter_async_context(Serving([str(path)]))
        api = Api(serving)
        await api("POST", "/admin/engines", {"name": "e1", "url": added.url}, status=201)
        file_with(tmp_path, first, second)
        told = await api("POST", "/admin/reload")
        assert told["notes"] == [
            "engine 'e1' was added at runtime and is in the file now: the file's entry is used"
        ]
        assert (await api.engines())["e1"]["url"] == second.url
        assert json.loads((tmp_path / "state.json").read_text())["engines"] == {}


async def test_a_refused_reload_says_why_and_changes_nothing(tmp_path: Path) -> None:
    async with ScriptedEngine() as engine:
        path = file_with(tmp_path, engine)
        async with Serving([str(path)]) as serving:
            path.write_text(path.read_text() + "[limits]\nlinger_s = 'long'\n")
            told = await Api(serving)("POST", "/admin/reload", status=400)
            assert f'{path}:13: limits.linger_s = "long"' in told["error"]["message"]
            assert told["error"]["param"] == "limits.linger_s"
            assert await chosen(serving) == "e0"


async def test_a_damaged_state_file_is_put_aside_and_the_gateway_starts(tmp_path: Path) -> None:
    async with ScriptedEngine() as engine:
        (tmp_path / "state.json").write_text("{ half")
        async with Serving([str(file_with(tmp_path, engine))]) as serving:
            assert (await serving.line("state file is damaged"))["level"] == "error"
            assert await chosen(serving) == "e0"
        assert (tmp_path / "state.json.bad").read_text() == "{ half"


async def test_engines_of_a_file_come_and_drain_away(tmp_path: Path) -> None:
    gate = asyncio.Event()
    found = tmp_path / "found.json"
    source = '[[discovery]]\nname = "pool"\nkind = "file"\npath = "found.json"\ninterval_s = 0.05\n'
    route = '[[routes]]\nname = "all"\nprefer = ["pool"]\n'

    def write(*engines: ScriptedEngine) -> None:
        fresh = tmp_path / "fresh"
        fresh.write_text(
            json.dumps([{"targets": [e.url.removeprefix("http://") for e in engines]}])
        )
        fresh.replace(found)

    async with AsyncExitStack() as stack:
        held = await stack.enter_async_context(
            ScriptedEngine([sse_reply(["one", WaitFor(gate), "two"])])
        )
        other = await stack.enter_async_context(ScriptedEngine())
        write(held)
        path = file_with(tmp_path, more=source + route)
        serving = await stack.enter_async_context(Serving([str(path)]))
        api = Api(serving)
        (name,) = await api.engines()
        assert name == "pool-" + held.url.removeprefix("http://").replace(":", "-")
        old = await stack.enter_async_context(RawClient.connect(serving.url))
        await old.send(STREAM)
        await old.read_head()
        write(other)
        await serving.until(lambda s: [e["state"] for e in s["engines"]] == ["ready", "draining"])
        assert await chosen(serving) != name
        gate.set()
        assert b"two" in await old.read_until(b"[DONE]")
        await serving.until(lambda s: len(s["engines"]) == 1)
        found.write_text("[{")
        failed = await serving.line("discovery fails")
        assert "found.json" in failed["error"]
        told = await api("GET", "/admin/engines")
        assert len(told["engines"]) == 1
        assert "found.json" in told["discovery"][0]["error"]
        found.unlink()
        serving.signal(signal.SIGTERM)
        await serving.ended()
    async with Serving([str(path)]) as serving:  # the place is not there, its engines still are
        assert list(await Api(serving).engines()) == [e["name"] for e in told["engines"]]


async def test_a_request_on_an_engine_that_is_taken_out_and_dies_is_answered(
    tmp_path: Path,
) -> None:
    gate = asyncio.Event()
    async with AsyncExitStack() as stack:
        dying = await stack.enter_async_context(
            ScriptedEngine(lambda _: sse_reply([WaitFor(gate), "late"]))
        )
        other = await stack.enter_async_context(ScriptedEngine())
        serving = await stack.enter_async_context(Serving([str(file_with(tmp_path, dying))]))
        api = Api(serving)
        client = await stack.enter_async_context(RawClient.connect(serving.url))
        await client.send(STREAM)
        await serving.until(lambda s: s["engines"][0]["in_flight"] == 1)
        await api("POST", "/admin/engines", {"name": "new", "url": other.url}, status=201)
        told = await api("DELETE", "/admin/engines/e0?drain=false")
        assert told["requests_left"] == 1
        await dying.stop()  # between the choice and the first byte
        head = await client.read_head()
        assert head.status in (200, 502, 503)
        assert (await client.read_until(b"\n\n" if head.status == 200 else b"}")) != b""


async def test_the_verb_does_the_same(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(ScriptedEngine()) for _ in range(2)]
        serving = await stack.enter_async_context(Serving([str(file_with(tmp_path, first))]))

        async def verb(*arguments: str) -> tuple[int | None, str]:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "proa", "engines", *arguments, "--lang", "en",
                "--control", serving.control_url,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            )  # fmt: skip
            out, _ = await process.communicate()
            return process.returncode, out.decode()

        assert await verb("add", "x", second.url, "--weight", "3") == (0, "x takes part\n")
        await serving.until(lambda s: [e["state"] for e in s["engines"]] == ["ready", "ready"])
        code, told = await verb("add", "x", second.url)
        assert (code, told) == (2, "proa: engine 'x' is there already\n")
        assert (await verb("drain", "e0"))[0] == 0
        assert {await chosen(serving) for _ in range(4)} == {"x"}
        code, table = await verb("list")
        assert [line.split()[:2] for line in table.splitlines()[1:3]] == [
            ["e0", "draining"],
            ["x", "ready"],
        ]
        assert await verb("remove", "e0") == (0, "e0 has finished and is gone\n")
        assert (await verb("drain", "e0"))[0] == 2


async def test_without_a_file_nothing_is_kept_and_that_is_told() -> None:
    async with ScriptedEngine() as one, ScriptedEngine() as two:
        arguments = ("--engine", f"e0={one.url}", "--listen", "127.0.0.1:0")
        async with Serving([*arguments, "--control-listen", "127.0.0.1:0"]) as serving:
            api = Api(serving)
            assert (await api.engines())["e0"]["source"] == "command line"
            added = await api("POST", "/admin/engines", {"name": "e1", "url": two.url}, status=201)
            forgets = "a restart will forget this: the gateway was started without a proa.toml"
            assert added["warnings"] == [forgets]
            told = await api("POST", "/admin/reload")
            assert (told["file"], told["warnings"]) == (None, [])
