"""`proa bench` before the scripted server: as it is, and deliberately starved."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from benchmarks.bench_clock.truth import BiasStats, TimesStats, bias, truth_stats
from proa.bench.ask import get
from proa.bench.crew import Crew
from proa.bench.decode import VisitLabel
from proa.bench.health import ClientHealth
from proa.bench.lengths import LengthSpec
from proa.bench.paced_server import Truth
from proa.bench.process_messages import Begin, LoadSpec, TargetLoad
from proa.bench.self_check import StampDelays, instant_server
from proa.bench.target import TargetSpec
from proa.bench.visit import Visit
from proa.bench.window import WindowSpec
from proa.bench.workloads import WorkloadSpec

_LATE_S = 0.001
_P99_NEEDS = 299  # requests; proa.bench.percentiles


class ClockLoad(msgspec.Struct, frozen=True):
    """`streams` users, each with a token every `gap_s`: streams / gap events a second."""

    streams: int = 100
    gap_s: float = 0.01
    ttft_s: float = 0.1
    tokens: int = 200
    seconds: float = 10.0
    warmup_s: float = 2.0

    @property
    def events_per_s(self) -> float:
        return self.streams / self.gap_s


class ClockStats(msgspec.Struct, frozen=True):
    """One trial; `events_per_s` is what the server wrote in the window.

    `late_share` is of all events, those that were stamped 1 ms or more after their writing.
    """

    name: str
    bias: BiasStats
    truth: TimesStats
    events_per_s: float
    client: ClientHealth
    late_share: float = 0.0

    @property
    def is_false_valid(self) -> bool:
        """Called valid with stamps or TTFT 1 ms off or more (P99, of TTFT where it has one)."""
        late = self.late_share > 0.01
        late |= self.bias.requests >= _P99_NEEDS and self.bias.ttft_p99_s >= _LATE_S
        return self.client.verdict == "valid" and late


async def trial(
    name: str, load: ClockLoad, *, processes: int = 1, held_back: LoadSpec | None = None,
    hogs: int = 0,
) -> ClockStats:  # fmt: skip
    """Load, read the server's log, compare. `held_back` is in all but the users as given."""
    options = ("--gap", f"{load.gap_s}", "--ttft", f"{load.ttft_s}")
    async with instant_server(*options) as url, Crew(processes) as crew:
        target = TargetSpec(name="truth", url=url, model="paced")
        begin_s = time.monotonic() + 0.3
        begin = Begin(
            targets=[TargetLoad(target)],
            workload=WorkloadSpec(input=LengthSpec(200), output=LengthSpec(load.tokens)),
            load=msgspec.structs.replace(
                held_back or LoadSpec(), users=load.streams, stagger_s=load.warmup_s
            ),
            begin_s=begin_s,
        )
        longest_s = 1.5 * load.warmup_s + load.seconds + load.ttft_s + load.gap_s * load.tokens
        window = WindowSpec(warmup_s=load.warmup_s, duration_s=None, max_s=longest_s)
        delays = StampDelays()
        visit = Visit(
            begin, VisitLabel(0, users=load.streams), window, origin_s=begin_s, listener=delays
        )
        with cpu_hogs(hogs):
            result = await visit.run(crew)
        _, page = await get(target, "/truth")
    truths = {t.prompt: t for t in msgspec.json.decode(page, type=list[Truth])}
    ended = [s for s in result.samples if not s.is_stopped]
    counted = [s for s in ended if s.sent_s >= load.warmup_s]
    shown = counted or ended
    seen = [truths[s.prompt] for s in shown if s.prompt in truths]
    inside = sum(
        result.window.start_s <= event.at_s < result.window.end_s
        for s in result.samples
        for event in s.events
    )
    rate = inside / result.window.duration_s if result.window.duration_s else 0.0
    late = sum(delay_s >= _LATE_S for delay_s in delays.delays_s)
    return ClockStats(
        name=name,
        bias=bias(shown, truths, origin_s=begin_s),
        truth=truth_stats(seen),
        events_per_s=rate,
        client=result.client,
        late_share=late / max(1, len(delays.delays_s)),
    )


@contextmanager
def cpu_hogs(count: int) -> Iterator[None]:
    """Processes that compute for nothing, each in a session of its own, as the client's are.

    Linux shares CPUs out by session where it groups them (autogroup): in one, hogs starve nobody.
    """
    command = [sys.executable, "-c", "while True: pass"]
    hogs = [subprocess.Popen(command, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def hogs_for_all_cpus() -> int:
    """Three for each CPU that we may use."""
    return 3 * len(os.sched_getaffinity(0))
