"""Becomes another program that cannot outlive its parent.

    python -m proa.providers.launch --parent PID [--cpu N] [--death-signal N] -- PROGRAM...

The process asks the kernel for a signal at its parent's death (PR_SET_PDEATHSIG,
prctl(2), kept over exec), pins itself to one CPU and execs the program. Doing it
after the exec of Python, not between fork and exec, keeps the parent free of
code that must not run in a forked copy of it.
"""

import argparse
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent(parent_pid: int, death_signal: int) -> None:
    """Ends this process at once if the parent is gone already.

    Raises:
        OSError: the kernel refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent_pid:
        sys.exit(f"the parent {parent_pid} ended before {sys.argv[0]} began")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m proa.providers.launch")
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--cpu", type=int)
    parser.add_argument("--death-signal", type=int, default=signal.SIGKILL)
    parser.add_argument("program", nargs="+")
    arguments = parser.parse_args()
    die_with_parent(arguments.parent, arguments.death_signal)
    if arguments.cpu is not None:
        os.sched_setaffinity(0, {arguments.cpu})
    os.execvp(arguments.program[0], arguments.program)


if __name__ == "__main__":
    main()
