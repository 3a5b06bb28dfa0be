"""`proa serve` and the system: kinds of addresses, handed-over sockets, descriptors, no network."""

import asyncio
import os
import resource
import signal
import socket
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.cli.serving import Serving, handed_over
from tests.gateway.closed_loop import CHAT, ClosedLoop
from tests.gateway.supervised import until

from proa.testing.raw_client import RawClient
from proa.testing.scripted_engine import ScriptedEngine

START_WITHIN_S = 2.0
TRIES = 4

# Runs the command line that follows and tells of every address that is connected to, sent
# to or looked up, in this process and in the Python processes that it starts.
WATCHED = """
import os, sys
def watch(event, args):
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo"):
        name = args[1] if event != "socket.getaddrinfo" else args[0]
        print("audit", event, name, file=sys.stderr, flush=True)
sys.addaudithook(watch)
"""
LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]) // 2, int(sys.argv[1])))
os.execv(sys.argv[2], sys.argv[2:])
"""


def config(directory: Path, engine: ScriptedEngine, *, listen: str, more: str = "") -> str:
    file = directory / "proa.toml"
    file.write_text(
        f'[gateway]\nlisten = "{listen}"\n{more}\n[control]\nlisten = "127.0.0.1:0"\n'
        f'[[engines]]\nname = "e"\nurl = "{engine.url}"\n'
    )
    return str(file)


async def answers(url: str) -> None:
    async with RawClient.connect(url) as client:
        await client.send(CHAT)
        assert (await client.read_response()).status == 200


@pytest.mark.parametrize("workers", [1, 2])
async def test_one_address_serves_both_families(tmp_path: Path, workers: int) -> None:
    more = f'workers = {workers}\napi_keys_file = "keys.toml"'
    (tmp_path / "keys.toml").touch()
    async with ScriptedEngine() as engine:
        file = config(tmp_path, engine, listen="[::]:0", more=more)
        async with Serving([file]) as serving:
            port = int(serving.url.rpartition(":")[2])
            for host in ("127.0.0.1", "::1"):
                reader, writer = await asyncio.open_connection(host, port)
                writer.write(b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n")
                assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
                writer.close()


async def test_a_socket_file_is_taken_over_when_nobody_listens_and_removed_at_the_end(
    tmp_path: Path,
) -> None:
    path = tmp_path / "gateway.sock"
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(path))
    async with ScriptedEngine() as engine:
        file = config(tmp_path, engine, listen=f"unix:{path}", more="workers = 2")
        async with Serving([file]) as serving:
            assert f"--unix-socket {path} " in serving.welcome
            await answers(f"unix:{path}")
            async with Serving([file]) as second:  # it is in use: the second one leaves it alone
                assert await second.ended() == 2
            await answers(f"unix:{path}")
            serving.signal(signal.SIGTERM)
            assert await serving.ended() == 0
        assert not path.exists()


async def test_a_manager_hands_over_its_socket_and_hears_of_each_state(tmp_path: Path) -> None:
    heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    heard.bind(str(tmp_path / "notify"))
    loop = asyncio.get_running_loop()

    async def states(*wanted: bytes) -> None:
        """Wait for the states in this order; signs of life come in between."""
        for state in wanted:
            async with asyncio.timeout(20):
                while not (told := await loop.sock_recv(heard, 99)).startswith(state):
                    assert told == b"WATCHDOG=1"

    environment = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "200000"}
    with heard, socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with ScriptedEngine() as engine:
            file = config(tmp_path, engine, listen="127.0.0.1:1", more="workers = 2")
            async with handed_over(file, listener, environment) as serving:
                assert serving.url == url
                await states(b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1")
                await answers(url)
                serving.signal(signal.SIGHUP)
                await states(b"RELOADING=1\nMONOTONIC_USEC=", b"READY=1", b"WATCHDOG=1")
                serving.signal(signal.SIGTERM)
                await states(b"STOPPING=1")
                assert await serving.ended() == 0


@pytest.mark.parametrize("workers", [1, 2])
async def test_without_descriptors_clients_wait_and_none_is_lost(
    tmp_path: Path, workers: int
) -> None:
    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(ScriptedEngine())
        file = config(tmp_path, engine, listen="127.0.0.1:0", more=f"workers = {workers}")
        launcher = [sys.executable, "-c", LIMITED, "64"]
        serving = await stack.enter_async_context(Serving([file], launcher=launcher))
        for pid in (serving.pid, *await serving.worker_pids()):
            assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (64, 64)
        crowd = AsyncExitStack()
        async with crowd:
            for _ in range(200):
                await crowd.enter_async_context(RawClient.connect(serving.url))
            late = await stack.enter_async_context(RawClient.connect(serving.url, timeout_s=20))
            await late.send(CHAT)
            await until(lambda: open_files(serving.pid) < 64, "a supervisor that lives")
        assert (await late.read_response()).status == 200
        async with ClosedLoop(serving.url, connections=4) as load:
            await load.answered(50)
        assert load.failures == []
        status = await serving.until(lambda _: True)
        assert status["worker_restarts"] == 0
        assert status["engines"][0]["breaker"] == dict.fromkeys(
            map(str, range(1, workers + 1)), "closed"
        )


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


async def test_the_start_takes_no_network_and_no_time(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WATCHED)
    environment = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):  # compiling is a matter of installing
        environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path)}
    async with ScriptedEngine() as engine:
        file = config(tmp_path, engine, listen="127.0.0.1:0", more="workers = 2")
        for _ in range(TRIES):  # others may use the machine
            took_s = await start_time_s(file, environment)
            if took_s < START_WITHIN_S:
                return
        raise AssertionError(f"the start took {took_s:.2f} s at best")


async def start_time_s(file: str, environment: dict[str, str]) -> float:
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    async with Serving([file], environment=environment) as serving:
        took_s = loop.time() - began_s
        await answers(serving.url)
        serving.signal(signal.SIGTERM)
        assert await serving.ended() == 0
    assert serving.audit
    assert [line for line in serving.audit if not is_inside(line.split(None, 2)[2])] == []
    return took_s


def is_inside(address: str) -> bool:
    return "127.0.0.1" in address or "'::1'" in address or address.startswith(("/", "b'/"))
