"""The control plane's server: what it has to say is in the log's own form."""

import asyncio
import json
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from proa.cli.serve.control_server import ControlServer
from proa.telemetry.logs import open_log


async def failing(scope: Scope, receive: Receive, send: Send) -> None:
    raise LookupError("no such page")


async def answer_to(address: str, request: bytes) -> bytes:
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    try:
        return await reader.readline()
    finally:
        writer.close()


async def test_clients_mistakes_are_answered_and_failures_logged(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "proa.log"
    log = open_log(str(path), format="json")
    server = ControlServer(failing, log)
    await server.move("127.0.0.1:0")
    get = b"GET / HTTP/1.1\r\nhost: h\r\n"
    upgrade = b"connection: upgrade\r\nupgrade: websocket\r\n"
    try:
        assert b" 400 " in await answer_to(server.address, b"no HTTP\r\n\r\n")
        assert b" 500 " in await answer_to(server.address, get + upgrade + b"\r\n")
    finally:
        await server.stop()
        log.close()
    assert capfd.readouterr() == ("", "")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["error"] for line in lines] == ["LookupError: no such page"]
