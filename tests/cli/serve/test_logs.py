"""The logs of `proa serve`: lines of JSON, no prompt, no header, no key, and never in the way."""

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from tests.cli.serving import Serving
from tests.gateway.closed_loop import ClosedLoop
from tests.gateway.supervised import until

from proa.config.keys_edit import add_key
from proa.testing.chat import chat_events
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import json_request, request_bytes
from proa.testing.replies import json_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reset

CANARY = "canary-7f3a"
ENGINE_KEY = "engine-" + CANARY


def config(directory: Path, engines: Sequence[ScriptedEngine], *, more: str = "") -> str:
    file = directory / "proa.toml"
    file.write_text(
        f'[gateway]\nlisten = "127.0.0.1:0"\n{more}\n[control]\nlisten = "127.0.0.1:0"\n'
        + "".join(
            f'[[engines]]\nname = "e{n}"\nurl = "{engine.url}"\napi_key_env = "ENGINE_KEY"\n'
            for n, engine in enumerate(engines)
        )
    )
    return str(file)


async def test_no_prompt_header_or_key_is_in_any_output(tmp_path: Path) -> None:
    key = add_key(tmp_path / "keys.toml", "team")
    prompt = {"model": "scripted", "messages": [{"role": "user", "content": CANARY}]}
    headers = (
        ("authorization", f"Bearer {key}"),
        ("x-note", CANARY),
        ("cookie", CANARY),
        ("user-agent", CANARY),
    )
    requests = [
        json_request(prompt, headers=headers),
        json_request(prompt | {"stream": True}, headers=headers),
        json_request(prompt, f"/v1/chat/completions?note={CANARY}", headers=headers),
        json_request(prompt, headers=[("authorization", f"Bearer {CANARY}")]),
        json_request(prompt | {"model": None, CANARY: CANARY}, headers=headers),
        request_bytes("/v1/chat/completions", CANARY.encode(), headers=headers),
        f"GET / HTTP/1.1\r\nhost: h\r\n{CANARY} : x\r\n\r\n".encode(),
        f"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: {CANARY}\r\n\r\n".encode(),
    ]
    said = {"error": {"message": f"bad prompt {CANARY}", "code": 500}}
    script = [
        json_reply({"answer": CANARY}),
        sse_reply(chat_events([CANARY])),
        json_reply(said, status=500),
        sse_reply([*chat_events([CANARY])[:2], Reset()]),
    ]
    async with ScriptedEngine(script) as engine:
        file = config(tmp_path, [engine], more='api_keys_file = "keys.toml"\nworkers = 2')
        environment = {"ENGINE_KEY": ENGINE_KEY}
        async with Serving([file], environment=environment) as serving:
            for request in requests:
                async with RawClient.connect(serving.url) as client:
                    await client.send(request)
                    await client.read_head()
            await until(lambda: engine.running == 0, "end of all requests")
            pages = [(await serving.page(path)).text for path in ("/readyz", "/healthz")]
            os.kill(serving.pid, signal.SIGHUP)
            await serving.line("settings reloaded")
            serving.signal(signal.SIGTERM)
            assert await serving.ended() == 0
    logged = [line for line in serving.lines if "request_id" in line]
    assert {line["path"] for line in logged} >= {"/v1/chat/completions"}
    assert {line["status"] for line in logged} >= {200, 401}
    assert {line["key"] for line in logged if line["status"] == 200} == {"team"}
    for output in (*map(str, serving.lines), *pages, serving.errors, serving.welcome):
        assert CANARY not in output
        assert key not in output


async def test_a_log_that_nobody_reads_holds_up_nothing(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        async with ScriptedEngine() as engine:
            file = config(tmp_path, [engine], more="workers = 2")
            environment = {"ENGINE_KEY": ENGINE_KEY}
            async with Serving([file], environment=environment, stdout=writing) as serving:
                os.set_blocking(writing, False)
                fill(writing)
                long_id = json_request({"model": "scripted"}, headers=[("x-request-id", "i" * 128)])
                async with ClosedLoop(serving.url, connections=8, request=long_id) as load:
                    async with asyncio.timeout(60):
                        while not await serving.metric("proa_log_lines_dropped_total"):
                            await load.answered(500)
                assert load.failures == []
                serving.signal(signal.SIGTERM)
                assert await serving.ended() == 0
    finally:
        os.close(reading)
        os.close(writing)


def fill(pipe: int) -> None:
    """Write until the pipe takes no more."""
    while True:
        try:
            os.write(pipe, b"x" * 4096)
        except BlockingIOError:
            return
