"""The run: all subjects up at once, each pair of loads one right after the other."""

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import subjects
from benchmarks.load import EVENTS_PER_S, LoadSample, json_load, latencies_ns, stream_load
from benchmarks.subjects import LOAD_CPU, Subject

Measurement = Callable[[Subject], Awaitable[LoadSample]]
_HELP_STARTS = 5


@dataclass(frozen=True)
class EffortSpec:
    """How long to measure; `latency_requests` are those of one subject in one round.

    Without `variant_pairs` proa's other settings are left out.
    """

    pairs: int = 5
    json_s: float = 3.0
    stream_events: int = 500
    latency_requests: int = 1000
    variant_pairs: int = 5
    variant_s: float = 2.0

    def with_pairs(self, pairs: int | None) -> "EffortSpec":
        return self if pairs is None else replace(self, pairs=pairs)


QUICK = EffortSpec(pairs=3, json_s=0.8, stream_events=150, latency_requests=200, variant_pairs=0)


@dataclass(frozen=True)
class PairSample:
    """The same load on proa and on nginx."""

    proa: LoadSample
    nginx: LoadSample

    @property
    def ratio(self) -> float:
        return self.proa.cpu_us / self.nginx.cpu_us


@dataclass
class RunStats:
    """All that was measured; `variants` are other settings of proa, each paired with nginx."""

    json: list[PairSample] = field(default_factory=list)
    streams: list[PairSample] = field(default_factory=list)
    variants: dict[str, list[PairSample]] = field(default_factory=dict)
    latencies_ns: dict[str, list[int]] = field(default_factory=dict)
    help_s: list[float] = field(default_factory=list)
    machine: dict[str, str] = field(default_factory=dict)


def measure(effort: EffortSpec, told: Callable[[str], None]) -> Awaitable[RunStats]:
    """Run everything; `told` hears what is going on.

    Raises:
        StartError: a program is missing or did not come up.
        WrongAnswer: a client got something else than the engines send.
    """
    return _Run(effort, told).run()


class _Run:
    def __init__(self, effort: EffortSpec, told: Callable[[str], None]) -> None:
        self._effort = effort
        self._told = told
        self._stats = RunStats(machine=machine())

    async def run(self) -> RunStats:
        effort, stats = self._effort, self._stats
        stats.help_s = help_starts_s()
        with TemporaryDirectory(prefix="proa-bench-") as directory, ExitStack() as stack:
            files = Path(directory)
            ports = stack.enter_context(
                subjects.engines(rate=EVENTS_PER_S, events=effort.stream_events)
            )
            nginx = stack.enter_context(subjects.nginx(files / "nginx", ports))
            proa = stack.enter_context(subjects.proa(files / "proa", ports))
            os.sched_setaffinity(0, {LOAD_CPU})
            await self._pairs(proa, nginx)
            await self._latencies([subjects.direct(ports[0]), nginx, proa])
            for name, settings in VARIANTS.items() if effort.variant_pairs else ():
                with subjects.proa(files / name.replace(" ", "-"), ports, settings) as variant:
                    stats.variants[name] = await self._variant(name, variant, nginx)
        return stats

    async def _pairs(self, proa: Subject, nginx: Subject) -> None:
        effort, stats = self._effort, self._stats

        async def json(subject: Subject) -> LoadSample:
            return await json_load(subject, effort.json_s)

        async def streams(subject: Subject) -> LoadSample:
            return await stream_load(subject, events=effort.stream_events)

        for subject in (proa, nginx):
            await json_load(subject, 0.3)
        for number in range(1, effort.pairs + 1):
            stats.json.append(await self._pair(json, proa, nginx))
            stats.streams.append(await self._pair(streams, proa, nginx))
            self._told(
                f"pair {number}: {stats.json[-1].ratio:.2f} × nginx per JSON request, "
                f"{stats.streams[-1].ratio:.2f} × per streamed event"
            )

    async def _variant(self, name: str, variant: Subject, nginx: Subject) -> list[PairSample]:
        async def json(subject: Subject) -> LoadSample:
            return await json_load(subject, self._effort.variant_s)

        await json_load(variant, 0.3)
        pairs = [await self._pair(json, variant, nginx) for _ in range(self._effort.variant_pairs)]
        ratio = statistics.median(pair.ratio for pair in pairs)
        self._told(f"{name}: {ratio:.2f} × nginx per JSON request")
        return pairs

    async def _pair(self, load: Measurement, proa: Subject, nginx: Subject) -> PairSample:
        return PairSample(await load(proa), await load(nginx))

    async def _latencies(self, over: list[Subject]) -> None:
        for _ in range(self._effort.pairs):
            for subject in over:
                found = await latencies_ns(subject, self._effort.latency_requests)
                self._stats.latencies_ns.setdefault(subject.name, []).extend(found)


VARIANTS = {
    "with the request log": subjects.ProaSpec(log=True),
    "with a route by header": subjects.ProaSpec(extra_route=subjects.HEADER_ROUTE),
    "with a route by input tokens": subjects.ProaSpec(extra_route=subjects.LENGTH_ROUTE),
}


def help_starts_s() -> list[float]:
    """How long `proa --help` takes."""
    taken = []
    for _ in range(_HELP_STARTS):
        began = time.perf_counter()
        command = [sys.executable, "-m", "proa", "--help"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - began)
    return taken


def machine() -> dict[str, str]:
    """What the figures depend on."""
    cpus = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in cpus if line.startswith("model name")]
    program = subjects.nginx_program()
    ran = subprocess.run([program or "false", "-v"], capture_output=True, text=True, check=False)
    return {
        "cpu": names[0] if names else platform.machine(),
        "cpus": str(os.cpu_count()),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "nginx": ran.stderr.strip().rpartition("/")[2],
    }
