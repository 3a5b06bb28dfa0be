"""Is this client enough for the level? Tried for five seconds against an instant server.

The server is the bench's own, in its own process; each of its events carries the time of its
writing, so the lateness of stamps is seen directly, at the users, prompt length and speed that
are to be tested.
"""

import asyncio
import re
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from proa.bench.crew import Crew
from proa.bench.decode import VisitLabel
from proa.bench.health import STAMP_DELAY_S, ClientHealth, Validity, worst
from proa.bench.lengths import LengthSpec
from proa.bench.listener import RunListener
from proa.bench.process_messages import Begin, LoadSpec, TargetLoad
from proa.bench.raw import RawExchange
from proa.bench.remark import Remark
from proa.bench.target import TargetSpec
from proa.bench.visit import Visit
from proa.bench.window import WindowSpec
from proa.bench.workloads import WorkloadSpec

_STAMP = re.compile(rb'"content":"(\d+\.\d+) ')
_WARMUP_S = 1.0
_LEAD_S = 0.2


class SelfCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What the client did with a server that is no limit; `users` in flight at the end.

    `stamp_delay_p99_s` is over all events: from the server's write to the client's stamp.
    """

    users: int
    processes: int
    events_per_s: float
    stamp_delay_p50_s: float | None
    stamp_delay_p99_s: float | None
    verdict: Validity
    reasons: list[Remark]
    client: ClientHealth


class StampDelays(RunListener):
    """How late events were stamped that carry the time of their writing."""

    def __init__(self) -> None:
        self.delays_s: list[float] = []

    def raw(self, raw: RawExchange) -> None:
        self.note(raw)

    def note(self, raw: RawExchange) -> None:
        """Take the stamps of one answer."""
        for at_s, data in zip(raw.times, raw.reads, strict=True):
            self.delays_s += [at_s - float(written) for written in _STAMP.findall(data)]

    def quantile(self, share: float) -> float | None:
        ordered = sorted(self.delays_s)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


@asynccontextmanager
async def instant_server(*options: str) -> AsyncIterator[str]:
    """The URL of a paced server in its own process."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "proa.bench.paced_server", *options,
        stdout=asyncio.subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert child.stdout is not None
    try:
        yield (await child.stdout.readline()).decode().strip()
    finally:
        if child.returncode is None:
            child.terminate()
        await child.wait()


async def self_check(
    crew: Crew,
    workload: WorkloadSpec,
    *,
    users: int,
    tokens_per_s: float = 60.0,
    seconds: float = 5.0,
    held_back: LoadSpec | None = None,
) -> SelfCheck:
    """Load an instant server with the level's users; each gets `tokens_per_s`.

    `held_back` gives its `max_connections` and `asks_kernel` to this load, too.
    """
    delays = StampDelays()
    async with instant_server("--gap", f"{1 / tokens_per_s}") as url:
        load = msgspec.structs.replace(
            held_back or LoadSpec(), users=users, stagger_s=_WARMUP_S / 2
        )
        target = TargetLoad(TargetSpec(name="self-check", url=url, model="paced"))
        begin = Begin(
            targets=[target],
            workload=_shortened(workload, tokens_per_s, seconds),
            load=load,
            begin_s=time.monotonic() + _LEAD_S,
        )
        window = WindowSpec(warmup_s=_WARMUP_S, duration_s=None, max_s=_WARMUP_S + seconds)
        label = VisitLabel(0, users=users)
        visit = Visit(begin, label, window, origin_s=time.monotonic(), listener=delays)
        result = await visit.run(crew)
    return _told(users, crew.processes, delays, result.client, seconds)


def _shortened(workload: WorkloadSpec, tokens_per_s: float, seconds: float) -> WorkloadSpec:
    """The same prompts, generated ones instead of datasets; answers that end in the time."""
    tokens = max(2, int(tokens_per_s * seconds / 4))
    return WorkloadSpec(
        input=workload.input, output=LengthSpec(tokens), language=workload.language, seed=1
    )


def _told(
    users: int, processes: int, delays: StampDelays, client: ClientHealth, seconds: float
) -> SelfCheck:
    p99 = delays.quantile(0.99)
    verdict, reasons = client.verdict, list(client.reasons)
    if p99 is None:
        verdict, reasons = Validity.INVALID, [*reasons, Remark("no_event")]
    elif p99 > STAMP_DELAY_S.suspect:
        bad = Validity.INVALID if p99 > STAMP_DELAY_S.invalid else Validity.SUSPECT
        verdict = worst((verdict, bad))
        reasons.append(Remark("stamped_after_writing", {"stamp_delay_p99_s": p99}))
    return SelfCheck(
        users=users,
        processes=processes,
        events_per_s=len(delays.delays_s) / (seconds + _WARMUP_S),
        stamp_delay_p50_s=delays.quantile(0.5),
        stamp_delay_p99_s=p99,
        verdict=verdict,
        reasons=reasons,
        client=client,
    )
