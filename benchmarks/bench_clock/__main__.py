"""`python -m benchmarks.bench_clock`: is the clock of `proa bench` true, and its verdict?

Before one scripted server that logs when it wrote each token: proa as it is, starved by other
processes, held to one connection, and without the kernel's stamps; with --peers other load
generators, too. The targets are 10,000 events a second on 2 CPUs, called valid, with a TTFT bias
below 1 ms (P99) and a TPOT bias below 0.5 %, and that no client is called valid that is not
true. Exit code 1 where one is missed.
"""

import argparse
import json
import sys
from pathlib import Path

import msgspec
import uvloop

from benchmarks.bench_clock.clock import ClockLoad, ClockStats, hogs_for_all_cpus, trial
from benchmarks.bench_clock.peers import PEERS, PeerStats, peer_trial
from proa.bench.process_messages import LoadSpec

_EVENTS_PER_S, _TTFT_S, _TPOT = 10_000, 0.001, 0.005


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_clock", description=__doc__)
    parser.add_argument("--streams", type=int, default=110)
    parser.add_argument("--gap", type=float, default=0.01, help="seconds between tokens")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--processes", type=int, default=1, help="client processes")
    parser.add_argument(
        "--peers", action="append", default=[], metavar="TOOL=ENVIRONMENT",
        help=f"{' or '.join(PEERS)}, and the virtual environment that it is in",
    )  # fmt: skip
    parser.add_argument("--only-peers", action="store_true")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    args = parser.parse_args()
    load = ClockLoad(streams=args.streams, gap_s=args.gap, seconds=args.seconds)
    trials, peers = uvloop.run(measured(args, load))
    print(table(trials, peers), file=sys.stderr)
    if args.format == "json":
        told = {"load": load, "proa": trials, "peers": peers}
        print(json.dumps(msgspec.to_builtins(told), indent=2))
    return 0 if reached(trials) else 1


async def measured(
    args: argparse.Namespace, load: ClockLoad
) -> tuple[list[ClockStats], list[PeerStats]]:
    trials = []
    if not args.only_peers:
        trials.append(await trial("proa", load, processes=args.processes))
        trials.append(await trial("CPU hogs", load, hogs=hogs_for_all_cpus()))
        one = msgspec.structs.replace(load, tokens=20)
        trials.append(await trial("1 connection", one, held_back=LoadSpec(max_connections=1)))
        # As with TLS, and where the kernel has no stamps; last, for it need not be true.
        by_loop = LoadSpec(asks_kernel=False)
        trials.append(await trial("loop's stamps", load, held_back=by_loop))
    peers = []
    for given in args.peers:
        name, _, environment = given.partition("=")
        peers.append(await peer_trial(PEERS[name], Path(environment), load))
    return trials, peers


def reached(trials: list[ClockStats]) -> bool:
    """The targets; a starved client that is true all the same may be called so."""
    if any(one.is_false_valid for one in trials):
        return False
    return not trials or (
        trials[0].events_per_s >= _EVENTS_PER_S
        and trials[0].client.verdict == "valid"
        and trials[0].bias.ttft_p99_s < _TTFT_S
        and abs(trials[0].bias.tpot_mean) < _TPOT
    )


def table(trials: list[ClockStats], peers: list[PeerStats]) -> str:
    """Two tables: bias against the log, and what is printed beside it."""
    lines = ["bias against the log: stamps P50, P99 ms; TTFT P50, P99 ms; TPOT mean, P99 %"]
    for one in trials:
        bias = one.bias
        times = (bias.stamp_p50_s, bias.stamp_p99_s, bias.ttft_p50_s, bias.ttft_p99_s)
        shares = (bias.tpot_mean, bias.tpot_p99)
        numbers = [f"{t * 1e3:9.3f}" for t in times] + [f"{s * 100:8.3f}" for s in shares]
        why = "; ".join(reason.code for reason in one.client.reasons) or "no reason"
        lines.append(f"  {one.name:14} {one.events_per_s:6.0f} events/s {' '.join(numbers)}")
        lines.append(f"    {one.client.verdict}, stamps by the {one.client.clock}: {why}")
    if peers:
        lines.append("what each prints / what the server did: TTFT mean, P50, P99 ms; TPOT ms")
        lines += [_peer_line(one) for one in peers]
    return "\n".join(lines)


def _peer_line(one: PeerStats) -> str:
    if one.error:
        return f"  {one.name:14} failed: {one.error}"
    truth = one.truth
    pairs = (
        (one.ttft_mean_s, truth and truth.ttft_mean_s),
        (one.ttft_p50_s, truth and truth.ttft_p50_s),
        (one.ttft_p99_s, truth and truth.ttft_p99_s),
        (one.tpot_mean_s, truth and truth.tpot_mean_s),
    )
    return f"  {one.name:14} " + "  ".join(f"{_ms(a)} / {_ms(b)}" for a, b in pairs)


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value * 1e3:.2f}"


if __name__ == "__main__":
    sys.exit(main())
