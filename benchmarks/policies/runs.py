"""Runs in real time: so many users for a while, and what they got."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random

from benchmarks.policies.gateways import MODEL, Ports
from benchmarks.policies.pairs import ATTAINMENT
from benchmarks.policies.users import Answer, Crowd, drawn, join

WARM_S = 10.0
_RAMP_S = 0.5
_LATE_S = 60.0
_CLOSE = 2
_LOOK_S = 0.1


@dataclass(frozen=True)
class LevelStats:
    """One level: requests sent after the first `WARM_S`, how many of them were good."""

    users: int
    requests: int
    good: int
    failures: int
    good_tokens_per_s: float
    ttft_p95_s: float

    @property
    def attainment(self) -> float:
        return self.good / self.requests if self.requests else 0.0

    @property
    def passes(self) -> bool:
        return self.attainment >= ATTAINMENT and not self.failures


async def level(
    port: int, users: int, seconds: float, *, seed: int = 1, after_s: float = WARM_S
) -> LevelStats:
    """`users` from a standing start; what they send in `seconds` from `after_s` on counts.

    The load stays until the last of what counts has ended.
    """
    loop, rng = asyncio.get_running_loop(), Random(seed)
    from_s = loop.time() + after_s
    until_s = from_s + seconds
    crowd = Crowd(port, MODEL, drawn(seed))
    for _ in range(users):
        loop.call_later(rng.random() * _RAMP_S, lambda: loop.create_task(join(crowd)))
    await asyncio.sleep(until_s - loop.time())
    counted = [answer for answer in crowd.answers if from_s <= answer.sent_s < until_s]
    limit_s = loop.time() + _LATE_S
    while any(answer.is_open for answer in counted) and loop.time() < limit_s:
        await asyncio.sleep(_LOOK_S)
    crowd.close()
    return stats(users, crowd.answers, crowd.failures, from_s, seconds)


def goodput(answers: list[Answer], from_s: float, seconds: float) -> float:
    """Tokens per second that good answers got within a time, whenever they began."""
    tokens = 0.0
    for answer in answers:
        if answer.is_good:
            begin, end = max(answer.first_s, from_s), min(answer.last_s, from_s + seconds)
            tokens += answer.tokens_per_s * max(0.0, end - begin)
    return tokens / seconds


def stats(
    users: int, answers: list[Answer], failures: int, from_s: float, seconds: float
) -> LevelStats:
    """What the answers amount to that were sent within a time."""
    counted = [answer for answer in answers if from_s <= answer.sent_s < from_s + seconds]
    good = [answer for answer in counted if answer.is_good]
    first = sorted(a.first_s - a.sent_s for a in counted if a.first_s)
    return LevelStats(
        users=users,
        requests=len(counted),
        good=len(good),
        failures=failures,
        good_tokens_per_s=goodput(answers, from_s, seconds),
        ttft_p95_s=first[int(0.95 * (len(first) - 1))] if first else 0.0,
    )


Measure = Callable[[int], Awaitable[LevelStats]]


async def most_users(
    measure: Measure, likely: int, *, step: int, tries: int
) -> tuple[int, list[LevelStats]]:
    """The most users of a level that passed, 0 for none, and all levels that were tried.

    From the likely number up or down by `step`, then between the last that passed and
    the first that did not, to within 2.
    """
    seen: dict[int, LevelStats] = {}
    passed, failed, users = 0, 0, likely
    for _ in range(tries):
        found = seen[users] = await measure(users)
        if found.passes:
            passed = max(passed, users)
        else:
            failed = min(failed or users, users)
        if passed and failed:
            if failed - passed <= _CLOSE:
                break
            users = (passed + failed) // 2
        else:
            users = passed + step if passed else max(1, failed - step)
        if users in seen:
            break
    return passed, sorted(seen.values(), key=lambda stats: stats.users)


async def change_speed(port: int, factor: float) -> None:
    """Make an emulated engine so many times as fast as its profile."""
    body = b'{"factor": %r}' % factor
    head = b"POST /emulator/speed HTTP/1.1\r\nhost: e\r\ncontent-type: application/json\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head + b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(body), body))
    line = await reader.readline()
    writer.close()
    if b" 200" not in line:
        raise RuntimeError(f"the emulator did not change its speed: {line!r}")


async def with_change(
    port: int, engines: Ports, users: int, seconds: float, factor: float
) -> LevelStats:
    """The main engine becomes `factor` as fast after `WARM_S`; counted from `WARM_S` later on."""

    async def change() -> None:
        await asyncio.sleep(WARM_S)
        await change_speed(engines[0], factor)

    changing = asyncio.create_task(change())
    try:
        return await level(port, users, seconds, after_s=2 * WARM_S)
    finally:
        await changing
        await change_speed(engines[0], 1.0)
