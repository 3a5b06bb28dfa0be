"""Processes pinned to one CPU: started, read from /proc, and gone when their block ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_END_WITHIN_S = 5.0


@contextmanager
def pinned(command: Sequence[str], *, cpu: int) -> Iterator[subprocess.Popen[str]]:
    """A program on one CPU, in a process group of its own, that cannot outlive this process."""
    launcher = [sys.executable, "-m", "proa.providers.launch"]
    launcher += ["--parent", str(os.getpid()), "--cpu", str(cpu)]
    launcher += ["--death-signal", str(int(signal.SIGTERM)), "--"]
    process = subprocess.Popen(
        [*launcher, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_END_WITHIN_S)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def cpu_ns(pid: int) -> int:
    """CPU time that all threads of a process have used.

    Source:
        /proc/PID/task/TID/schedstat, first field; of a running thread it is as old
        as the last tick of the scheduler, 1 to 10 ms.
    """
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            total += int((task / "schedstat").read_text().split()[0])
    return total


def resident_bytes(pid: int) -> int:
    """The memory of a process that is in RAM, shared pages included (VmRSS)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0
