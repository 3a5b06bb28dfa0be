"""`python -m benchmarks.compare_accuracy`: a delay that is known, found by `proa bench compare`.

The bench's own server streams a token every millisecond or faster, behind two proxies alike, of
which the second waits actively before each request and each event and logs for how long it did.
The comparison between them must find that, with an interval of ± 50 µs in under three minutes.
A third proxy that holds whole answers back must be called a buffer.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec
import uvloop

from proa.bench.compare.document import document
from proa.bench.compare.run import CompareRun
from proa.bench.compare.spec import CompareSpec
from proa.bench.compare.verdict import compare_stats
from proa.bench.self_check import instant_server
from proa.bench.target import TargetSpec

_TARGET_HALF_WIDTH_S = 50e-6
_HOLD_TIME_S = 8.0


class Truth(msgspec.Struct):
    """What a proxy did, printed at its end: medians of its waits."""

    requests: int = 0
    events: int = 0
    request_s: float = 0.0
    event_s: float = 0.0


@asynccontextmanager
async def proxy(upstream: str, truth: Truth, *options: str) -> AsyncIterator[str]:
    """The URL of a proxy in its own process; `truth` is filled at its end."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "proa.testing.delay_proxy", upstream, *options,
        stdout=asyncio.subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert child.stdout is not None
    try:
        yield (await child.stdout.readline()).decode().strip()
    finally:
        child.terminate()
        told: dict[str, Any] = json.loads((await child.communicate())[0])
        for name in Truth.__struct_fields__:
            setattr(truth, name, told[name])


async def compared(
    direct: str, gateway: str, *, max_time_s: float, tokens: str, probes: int
) -> dict[str, Any]:
    """The document of one comparison."""
    spec = CompareSpec(
        direct=TargetSpec(name="direct", url=direct, model="paced"),
        gateway=TargetSpec(name="gateway", url=gateway, model="paced"),
        tokens=tuple(map(int, tokens.split(","))),
        rounds=100_000,
        probes=probes,
        max_time_s=max_time_s,
    )
    result = await CompareRun(spec).run()
    return document(result, compare_stats(result))


async def measured(args: argparse.Namespace) -> dict[str, Any]:
    """Shifts beside the truth, and what a buffering proxy is called."""
    plain, delayed, held = Truth(), Truth(), Truth()
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        engine = await enter(instant_server("--gap", f"{args.gap}", "--ttft", f"{args.ttft}"))
        direct = await enter(proxy(engine, plain))
        waits = ("--request", f"{args.request}", "--event", f"{args.event}")
        gateway = await enter(proxy(engine, delayed, *waits))
        asked = {"tokens": args.tokens, "probes": args.probes}
        told = await compared(direct, gateway, max_time_s=args.max_time, **asked)
        buffer = await enter(proxy(engine, held, "--hold", "0"))
        buffered = await compared(direct, buffer, max_time_s=_HOLD_TIME_S, **asked)
    ttft_s = delayed.request_s + delayed.event_s - plain.request_s - plain.event_s
    regression = told["regression"] or {}
    return {
        "took_s": told["took_s"],
        "pairs": told["pairs"],
        "client": told["client"],
        "ttft": beside(told["shift"]["ttft_s"], ttft_s),
        "per_request": beside(regression.get("per_request_s"), delayed.request_s),
        "per_token": beside(regression.get("per_token_s"), None),
        "tpot": beside(told["shift"]["tpot_s"], None),
        "signs": told["buffering"]["signs"],
        "held_back": {"verdict": buffered["verdict"], "signs": buffered["buffering"]["signs"]},
    }


def beside(found: dict[str, Any] | None, truth_s: float | None) -> dict[str, Any] | None:
    """An interval with its half-width, and whether the truth lies in it."""
    if found is None or found["low"] is None:
        return None
    low_s, high_s = found["low"], found["high"]
    return {
        "estimate_s": found["estimate"],
        "half_width_s": (high_s - low_s) / 2,
        "truth_s": truth_s,
        "holds_truth": None if truth_s is None else low_s <= truth_s <= high_s,
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare_accuracy")
    parser.add_argument("--request", type=float, default=300e-6, help="seconds that are added")
    parser.add_argument("--event", type=float, default=0.0, help="seconds before each event")
    parser.add_argument("--gap", type=float, default=0.001, help="between tokens")
    parser.add_argument("--ttft", type=float, default=0.0)
    parser.add_argument("--tokens", default="50,200,500")
    parser.add_argument("--probes", type=int, default=30, help="short pairs a round")
    parser.add_argument("--max-time", type=float, default=170.0)
    told = uvloop.run(measured(parser.parse_args()))
    print(json.dumps(told, indent=2))
    found = told["ttft"]
    narrow = found is not None and found["half_width_s"] <= _TARGET_HALF_WIDTH_S
    return 0 if narrow and told["held_back"]["verdict"] == "buffers" else 4


if __name__ == "__main__":
    sys.exit(main())
