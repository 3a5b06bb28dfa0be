"""`python -m benchmarks`: measure what the gateway costs beside nginx.

A table on standard error, and with --format json the figures on standard output.
It wants Linux, nginx, and two CPUs that have nothing else to do.
"""

import argparse
import asyncio
import json
import os
import signal
import sys

import uvloop

from benchmarks.clients import WrongAnswer
from benchmarks.measure import QUICK, EffortSpec, RunStats, measure
from benchmarks.report import report, table
from benchmarks.subjects import GATEWAY_CPU, LOAD_CPU, StartError, nginx_program

OWN_FAULT, WRONG_INPUT, INTERRUPTED = 1, 2, 130


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about 20 s; less certain")
    parser.add_argument("--pairs", type=int, help="how often proa and nginx are compared")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    arguments = parser.parse_args()
    missing = what_is_missing()
    if missing:
        print(f"benchmarks: {missing}", file=sys.stderr)
        return WRONG_INPUT
    effort = QUICK if arguments.quick else EffortSpec()
    try:
        stats = uvloop.run(until_signal(effort.with_pairs(arguments.pairs)))
    except (StartError, WrongAnswer) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return OWN_FAULT
    except (KeyboardInterrupt, asyncio.CancelledError):
        return INTERRUPTED
    data = report(stats)
    print(table(data), file=sys.stderr)
    if arguments.format == "json":
        print(json.dumps(data, indent=2))
    return 0


def what_is_missing() -> str:
    """Why this machine cannot run them; empty if it can."""
    if nginx_program() is None:
        return "nginx is missing: `make setup-system` installs it"
    if not {GATEWAY_CPU, LOAD_CPU} <= os.sched_getaffinity(0):
        return (
            f"CPUs {GATEWAY_CPU} and {LOAD_CPU} are needed, one for the gateway, one for the load"
        )
    return ""


async def until_signal(effort: EffortSpec) -> RunStats:
    """The run; SIGTERM ends it as Ctrl-C does, with all that it started."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await measure(effort, lambda line: print(line, file=sys.stderr, flush=True))


if __name__ == "__main__":
    sys.exit(main())
