"""`python -m benchmarks.policies`: how many users a pair of engines carries, gateway by gateway.

Emulated engines (`proa emulate`), at last two real ones, real gateways, real time; with
--virtual the product's policies alone, in virtual time. It measures and prints, and writes
only what --out names: a run that was interrupted goes on from there.
"""

import argparse
import asyncio
import json
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvloop

from benchmarks.measure import machine
from benchmarks.policies.book import Book
from benchmarks.policies.gateways import Gateway, emulated, gateways, with_policy
from benchmarks.policies.pairs import PAIRS, REFERENCE, PairSpec
from benchmarks.policies.real_engines import two_real_engines
from benchmarks.policies.runs import LevelStats, level, most_users, with_change
from benchmarks.policies.tables import table
from benchmarks.policies.virtual_runs import virtual_report
from benchmarks.subjects import StartError

_SHARE = 0.96
_BASELINES = ("round_robin", "least_load", "power_of_two")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.policies", description=__doc__)
    parser.add_argument("--virtual", action="store_true", help="in virtual time; a minute")
    parser.add_argument("--peers", type=Path, help="environment with sglang-router, vllm-router")
    parser.add_argument("--only", default="", help="gateways whose name has this in it")
    parser.add_argument("--users", type=int, help="one level instead of a search")
    parser.add_argument("--seconds", type=float, default=15.0, help="counted time of a level")
    parser.add_argument("--tries", type=int, default=4, help="levels of a search at most")
    parser.add_argument("--part", choices=("users", "pairs", "llamacpp"), help="one part; else all")
    parser.add_argument("--out", type=Path, help="file for the figures, and to go on from")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    arguments = parser.parse_args()
    book = Book(arguments.out)
    try:
        if arguments.virtual:
            virtual_report(book, told)
        else:
            uvloop.run(real(arguments, book))
    except StartError as error:
        print(f"benchmarks.policies: {error}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 130
    print(table(book.data), file=sys.stderr)
    if arguments.format == "json":
        print(json.dumps(book.data, indent=2))
    return 0


def told(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


async def real(arguments: argparse.Namespace, book: Book) -> None:
    """All gateways before the reference pair, then proa before the other pairs."""
    found, missing = gateways(arguments.peers)
    for what in missing:
        told(f"left out: {what}")
    book.put("machine", machine())
    for gateway in found:
        if arguments.part in (None, "users") and arguments.only in gateway.name:
            await book.once(f"users/{gateway.name}", partial(search, gateway, arguments))
    if arguments.part in (None, "llamacpp") and not arguments.users:
        await book.once("llamacpp", partial(two_real_engines, arguments.seconds))
    if arguments.part in ("users", "llamacpp") or arguments.users:
        return
    for pair in PAIRS.values():
        await book.once(f"alone/{pair.name}", partial(alone, pair, arguments.seconds))
        for policy in ("", *_BASELINES):
            gateway = with_policy(policy, 0) if policy else found[0]
            if arguments.only not in gateway.name:
                continue
            await book.once(
                f"pairs/{pair.name}/{gateway.name}",
                partial(together, pair, gateway, arguments.seconds),
            )
    await book.once("change/2 x slower", partial(changed, found[0], 0.5, arguments.seconds))


async def search(gateway: Gateway, arguments: argparse.Namespace) -> dict[str, Any]:
    """The most users of the reference pair behind a gateway, started anew for each level."""

    async def measure(users: int) -> LevelStats:
        found = await one_level(REFERENCE, gateway, users, arguments.seconds)
        told(f"{gateway.name}: {users} users, {found.attainment:.1%} good, {found.failures} failed")
        return found

    if arguments.users:
        found = await measure(arguments.users)
        return {"users": arguments.users if found.passes else 0, "levels": [row(found)]}
    users, levels = await most_users(
        measure, gateway.likely, step=max(4, gateway.likely // 20), tries=arguments.tries
    )
    return {"users": users, "levels": [row(each) for each in levels]}


async def one_level(pair: PairSpec, gateway: Gateway, users: int, seconds: float) -> LevelStats:
    with (
        TemporaryDirectory(prefix="proa-policies-") as directory,
        emulated(pair) as ports,
        gateway.start(Path(directory), ports) as port,
    ):
        return await level(port, users, seconds)


async def alone(pair: PairSpec, seconds: float) -> dict[str, Any]:
    """Both engines without a gateway, each with the users that it carries."""
    with emulated(pair) as ports:
        both = [
            await level(port, users, seconds, after_s=5.0)
            for port, users in zip(ports, pair.limits, strict=True)
            if users
        ]
    return {"good_tokens_per_s": sum(each.good_tokens_per_s for each in both),
            "levels": [row(each) for each in both]}  # fmt: skip


async def together(pair: PairSpec, gateway: Gateway, seconds: float) -> dict[str, Any]:
    users = int(sum(pair.limits) * _SHARE)
    found = await one_level(pair, gateway, users, seconds)
    told(f"{pair.name}, {gateway.name}: {users} users, {found.attainment:.1%} good")
    return row(found)


async def changed(gateway: Gateway, factor: float, seconds: float) -> dict[str, Any]:
    """The main engine of the reference pair slows down in the middle."""
    with (
        TemporaryDirectory(prefix="proa-policies-") as directory,
        emulated(REFERENCE) as ports,
        gateway.start(Path(directory), ports) as port,
    ):
        return row(await with_change(port, ports, 58, seconds, factor))


def row(found: LevelStats) -> dict[str, Any]:
    return {
        "users": found.users,
        "requests": found.requests,
        "good": found.good,
        "attainment": round(found.attainment, 4),
        "failures": found.failures,
        "good_tokens_per_s": round(found.good_tokens_per_s, 1),
        "ttft_p95_s": round(found.ttft_p95_s, 4),
    }


if __name__ == "__main__":
    sys.exit(main())
