"""Local processes: readiness, failure reports, stopping, and no orphans."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import proa
from proa.errors import UpstreamError
from proa.providers.local import LocalProcess, LocalProcessSpec, cpu_for_each, free_port

SERVER = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def log_message(self, *a): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
SOURCE = Path(proa.__file__).parents[1]
STUBBORN = """
import signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
print(child.pid, flush=True)
"""


@pytest.fixture
def spec_of(tmp_path: Path) -> Callable[..., LocalProcessSpec]:
    def build(code: str, *arguments: str, **settings: object) -> LocalProcessSpec:
        command = (sys.executable, "-c", code, *arguments)
        fields = {"name": "engine", "log_path": tmp_path / "log", "stop_timeout_s": 0.2} | settings
        return LocalProcessSpec(command=command, **fields)  # type: ignore[arg-type]

    return build


def wait_end(pid: int) -> None:
    """Wait for the end of a process that need not be a child of this one."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        ended, _, _ = select.select([descriptor], [], [], 10)
        assert ended, f"process {pid} is still there"
    finally:
        os.close(descriptor)


async def test_a_server_is_ready_and_stops(spec_of: Callable[..., LocalProcessSpec]) -> None:
    port = free_port()
    spec = spec_of(SERVER, str(port), ready_url=f"http://127.0.0.1:{port}/health")
    async with LocalProcess(spec) as process:
        await process.wait_ready()
        assert process.exit_code is None
    assert process.exit_code == -signal.SIGTERM


async def test_the_cpu_is_its_own(spec_of: Callable[..., LocalProcessSpec]) -> None:
    cpu = max(os.sched_getaffinity(0))
    code = "import os; print(os.sched_getaffinity(0), os.getpid() == os.getsid(0))"
    async with LocalProcess(spec_of(code, cpu=cpu)) as process:
        assert await process.wait() == 0
    assert process.log_tail() == f"  | {{{cpu}}} True"


async def test_an_early_end_shows_the_last_lines(
    spec_of: Callable[..., LocalProcessSpec],
) -> None:
    spec = spec_of("raise SystemExit('no such model')", ready_url="http://127.0.0.1:9/health")
    async with LocalProcess(spec) as process:
        with pytest.raises(UpstreamError, match=r"exit code 1 .*\n.*no such model"):
            await process.wait_ready()


async def test_readiness_has_a_deadline(spec_of: Callable[..., LocalProcessSpec]) -> None:
    spec = spec_of(
        "import time; time.sleep(1000)", ready_url="http://127.0.0.1:9/health", ready_timeout_s=0.1
    )
    async with LocalProcess(spec) as process:
        with pytest.raises(UpstreamError, match=r"not ready within 0\.1 s"):
            await process.wait_ready()
    assert process.exit_code is not None


async def test_what_ignores_sigterm_is_killed_with_its_children(
    spec_of: Callable[..., LocalProcessSpec], tmp_path: Path
) -> None:
    port = free_port()
    spec = spec_of(STUBBORN + SERVER, str(port), ready_url=f"http://127.0.0.1:{port}/")
    async with LocalProcess(spec) as process:
        await process.wait_ready()
        child_pid = int((tmp_path / "log").read_text())
    assert process.exit_code == -signal.SIGKILL
    wait_end(child_pid)


async def test_a_missing_program_is_reported(tmp_path: Path) -> None:
    spec = LocalProcessSpec(
        name="engine",
        command=("/no/such/program",),
        log_path=tmp_path / "log",
        ready_url="http://x",
    )
    async with LocalProcess(spec) as process:
        with pytest.raises(UpstreamError, match="No such file"):
            await process.wait_ready()


OWNER = """
import asyncio, sys
from pathlib import Path
from proa.providers.local import LocalProcess, LocalProcessSpec

async def main():
    code = "import time; time.sleep(1000)"
    spec = LocalProcessSpec(
        name="e", command=(sys.executable, "-c", code), log_path=Path(sys.argv[1])
    )
    async with LocalProcess(spec) as process:
        print(process.pid, flush=True)
        await process.wait()

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_orphan_when_the_owner_dies(number: signal.Signals, tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path / "log")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        text=True,
    )
    assert owner.stdout is not None
    with owner:
        pid = int(owner.stdout.readline())
        owner.send_signal(number)
        owner.wait(10)
    wait_end(pid)


def test_a_cpu_for_each_or_none() -> None:
    assert cpu_for_each(2, [3, 5, 7]) == [3, 5]
    assert cpu_for_each(2, [3]) == [None, None]


def test_a_free_port_can_be_bound_twice_in_a_row() -> None:
    assert 1024 <= free_port() <= 65535
