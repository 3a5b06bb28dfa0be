"""`proa serve` as a process of its own, for tests."""

import asyncio
import json
import os
import re
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL, Signals
from types import TracebackType
from typing import Any, Self

import httpx

_WITHIN_S = 30
# Descriptor 3 and LISTEN_PID can be set only in the process that becomes proa.
_HAND_OVER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ |= {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
os.execv(sys.argv[2], sys.argv[2:])
"""


class Serving:
    """Up while the context is open; `line` waits for a line of its JSON log.

    It has a session of its own, whose processes are all gone when the context ends.
    `errors` is what it wrote to standard error after the welcome, complete once it
    has ended; `audit` are the lines there that begin so.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
        launcher: Sequence[str] = (),
        stdout: int = asyncio.subprocess.PIPE,
    ) -> None:
        self._command = [*launcher, sys.executable, "-m", "proa", "serve", *arguments]
        self._environment = os.environ | (environment or {})
        self._pass_fds = tuple(pass_fds)
        self._stdout = stdout
        self._process: asyncio.subprocess.Process
        self._reading: asyncio.Task[None]
        self.welcome = ""
        self.errors = ""
        self.audit: list[str] = []
        self.lines: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        """The gateway's address."""
        return self._told(r"gateway on ([^,]+),")

    @property
    def control_url(self) -> str:
        return self._told(r"control on ([^,]+),")

    @property
    def pid(self) -> int:
        return self._process.pid

    def _told(self, pattern: str) -> str:
        found = re.search(pattern, self.welcome)
        assert found is not None, self.welcome
        return found[1]

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            env=self._environment,
            pass_fds=self._pass_fds,
            stdout=self._stdout,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stderr is not None
        async with asyncio.timeout(_WITHIN_S):
            while (line := (await self._process.stderr.readline()).decode()).startswith("audit "):
                self.audit.append(line.strip())
        self.welcome = line
        self._reading = asyncio.create_task(self._read_errors())
        return self

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            if line.startswith(b"audit "):
                self.audit.append(line.decode().strip())
            else:
                self.errors += line.decode()

    async def line(self, message: str) -> dict[str, Any]:
        """The next log line with this message; those before it are in `lines`."""
        assert self._process.stdout is not None
        async with asyncio.timeout(_WITHIN_S):
            async for line in self._process.stdout:
                told: dict[str, Any] = json.loads(line)
                self.lines.append(told)
                if told.get("message") == message:
                    return told
        raise AssertionError(f"it ended before it said {message!r}: {self.errors}")

    async def page(self, path: str) -> httpx.Response:
        """A page of the control plane."""
        async with httpx.AsyncClient(trust_env=False) as client:
            return await client.get(self.control_url + path)

    async def metric(self, name: str) -> float:
        """The value of one series, its labels included in the name."""
        text = (await self.page("/metrics")).text
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        assert found is not None, name
        return float(found[1])

    async def until(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Ask for the status until it is as wanted."""
        async with asyncio.timeout(_WITHIN_S), httpx.AsyncClient(trust_env=False) as client:
            while True:
                response = await client.get(self.control_url + "/admin/status")
                status: dict[str, Any] = response.json()
                if condition(status):
                    return status
                await asyncio.sleep(0.02)

    async def worker_pids(self) -> list[int]:
        """Processes that are up and take clients."""
        status = await self.until(lambda _: True)
        return [worker["pid"] for worker in status["workers"] if worker["alive"]]

    def signal(self, number: Signals) -> None:
        self._process.send_signal(number)

    def signal_group(self, number: Signals) -> None:
        """What a terminal does at Ctrl-C."""
        os.killpg(self.pid, number)

    async def ended(self) -> int:
        """Its exit code, once it has ended by itself; the rest of its log is in `lines`."""
        async with asyncio.timeout(_WITHIN_S):
            if self._process.stdout is not None:
                self.lines += map(json.loads, (await self._process.stdout.read()).splitlines())
            code = await self._process.wait()
            await self._reading
        return code

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for pid in [self.pid, *descendants(self.pid)]:
            with suppress(ProcessLookupError):
                if self._process.returncode is None or pid != self.pid:
                    os.kill(pid, SIGKILL)
        await self._process.wait()
        self._reading.cancel()


def handed_over(
    file: str, listener: socket.socket, environment: Mapping[str, str] | None = None
) -> Serving:
    """With a listening socket from its service manager, as systemd does it."""
    launcher = [sys.executable, "-c", _HAND_OVER, str(listener.fileno())]
    return Serving([file], environment=environment, pass_fds=[listener.fileno()], launcher=launcher)


def descendants(pid: int) -> list[int]:
    """All processes that a process has started, directly or not, and that still run."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [found for child in map(int, children) for found in (child, *descendants(child))]
