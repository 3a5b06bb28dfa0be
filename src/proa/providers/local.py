"""Programs on this machine: started, waited for, and never left behind."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from proa.errors import UpstreamError
from proa.providers import launch
from proa.providers.readiness import wait_status_200

TAIL_BYTES = 8192


class LocalProcessSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A program to run.

    `ready_url` answers 200 when the program is ready, empty for programs that
    need no waiting. `cpu` pins it to one CPU. `log_path` receives standard output
    and error together. `death_signal` is what the kernel sends when this process
    dies, even by SIGKILL.
    """

    name: str
    command: tuple[str, ...]
    log_path: Path
    ready_url: str = ""
    cpu: int | None = None
    ready_timeout_s: float = 60.0
    stop_timeout_s: float = 5.0
    death_signal: int = signal.SIGKILL


class LocalProcess:
    """One running program in its own session, so that Ctrl-C reaches only its owner.

    The event loop must run in the main thread: the kernel sends the death signal
    when the starting *thread* ends.
    """

    def __init__(self, spec: LocalProcessSpec) -> None:
        self.spec = spec
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs, and before it was started; negative for a signal."""
        return None if self._process is None else self._process.returncode

    async def start(self) -> None:
        """Raises UpstreamError when the operating system cannot start it."""
        launcher = [sys.executable, "-IS", launch.__file__, f"--parent={os.getpid()}"]
        launcher.append(f"--death-signal={int(self.spec.death_signal)}")
        if self.spec.cpu is not None:
            launcher.append(f"--cpu={self.spec.cpu}")
        try:
            with self.spec.log_path.open("ab") as log:
                self._process = await asyncio.create_subprocess_exec(
                    *launcher,
                    "--",
                    *self.spec.command,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        except OSError as error:
            raise UpstreamError(f"{self.spec.name} did not start: {error}") from error

    async def wait_ready(self) -> None:
        """Raises UpstreamError, with the last lines of the log, when it ended or took too long."""
        spec = self.spec
        if not spec.ready_url or await wait_status_200(
            spec.ready_url,
            timeout_s=spec.ready_timeout_s,
            given_up=lambda: self.exit_code is not None,
        ):
            return
        if self.exit_code is not None:
            reason = f"ended with exit code {self.exit_code} before it was ready"
        else:
            reason = f"was not ready within {spec.ready_timeout_s:g} s ({spec.ready_url})"
        raise UpstreamError(f"{spec.name} {reason}; its last lines:\n{self.log_tail()}")

    async def wait(self) -> int:
        """Wait for its end; the exit code, negative for a signal."""
        if self._process is None:
            raise UpstreamError(f"{self.spec.name} was never started")
        return await self._process.wait()

    async def stop(self) -> None:
        """SIGTERM to the program, SIGKILL to what is left of its group after `stop_timeout_s`."""
        process = self._process
        if process is None:
            return
        try:
            if process.returncode is None:
                process.terminate()
                async with asyncio.timeout(self.spec.stop_timeout_s):
                    await process.wait()
        except (TimeoutError, ProcessLookupError):
            pass
        finally:
            kill_group(process.pid)
        await process.wait()

    def log_tail(self, lines: int = 15) -> str:
        """The last lines that it wrote, indented."""
        with self.spec.log_path.open("rb") as log:
            log.seek(max(0, self.spec.log_path.stat().st_size - TAIL_BYTES))
            text = log.read().decode(errors="replace")
        return "\n".join(f"  | {line}" for line in text.splitlines()[-lines:])

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()


def kill_group(leader_pid: int) -> None:
    """SIGKILL to every process of the group that `leader_pid` leads, if any is left."""
    try:
        os.killpg(leader_pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody uses now; another program may still take it before its user does."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def cpu_for_each(count: int, usable: Sequence[int] | None = None) -> list[int | None]:
    """A CPU of its own for each of `count` programs, or no pinning when there are too few.

    `usable` are the CPU numbers to choose from; by default those of this process.
    """
    cpus = sorted(os.sched_getaffinity(0)) if usable is None else list(usable)
    if len(cpus) < count:
        return [None] * count
    return list(cpus[:count])
