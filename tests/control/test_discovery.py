"""A place that is looked at again and again: news is told once, failures change nothing."""

import json

from tests.control import virtual_time
from tests.control.engines import MemorySink

from proa.control.discovery import Discovery
from proa.domain.discovery import DiscoveryKind, DiscoverySpec, FoundEngine
from proa.errors import InputError, ProaError, UpstreamError
from proa.telemetry.logs import Log

SPEC = DiscoverySpec(name="pool", kind=DiscoveryKind.FILE, interval_s=10)
A, B = FoundEngine(url="http://a:1"), FoundEngine(url="http://b:1")


class Place:
    """Says at each look what comes next, the last thing for ever."""

    def __init__(self, *answers: tuple[FoundEngine, ...] | Exception) -> None:
        self._answers = list(answers)

    async def look(self) -> tuple[FoundEngine, ...]:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Listener:
    def __init__(self) -> None:
        self.told: list[tuple[FoundEngine, ...]] = []
        self.fault: ProaError | None = None

    async def __call__(self, name: str, found: tuple[FoundEngine, ...]) -> None:
        assert name == "pool"
        if self.fault is not None:
            raise self.fault
        self.told.append(found)


def discovery(place: Place, listener: Listener, sink: MemorySink) -> Discovery:
    log = Log(sink, format="json")
    return Discovery(SPEC, place, tell=listener, log=log, clock=lambda: 7.0)


def messages(sink: MemorySink) -> list[str]:
    return [json.loads(line)["message"] for line in sink.lines]


async def test_only_news_is_told() -> None:
    listener, sink = Listener(), MemorySink()
    looking = discovery(Place((A,), (A,), (A, B), ()), listener, sink)
    for _ in range(5):
        await looking.look()
    assert listener.told == [(A,), (A, B), ()]
    assert (looking.seen_at_s, sink.lines) == (7.0, [])


async def test_a_failure_is_said_once_and_tells_nobody() -> None:
    listener, sink = Listener(), MemorySink()
    down = UpstreamError("no answer")
    looking = discovery(Place((A,), down, down, TypeError("x"), (A,)), listener, sink)
    problems = []
    for _ in range(5):
        await looking.look()
        problems.append(looking.problem)
    assert listener.told == [(A,)]
    assert problems == ["", "no answer", "no answer", "fault of proa: TypeError('x')", ""]
    assert messages(sink) == ["discovery fails", "discovery fails", "discovery works again"]


async def test_engines_that_could_not_be_taken_are_told_again() -> None:
    listener, sink = Listener(), MemorySink()
    looking = discovery(Place((A,)), listener, sink)
    listener.fault = InputError("no room for more engines")
    await looking.look()
    assert looking.problem == "no room for more engines"
    listener.fault = None
    await looking.look()
    assert (listener.told, looking.problem) == ([(A,)], "")


def test_it_looks_at_once_and_then_every_interval() -> None:
    async def main() -> None:
        import asyncio

        listener = Listener()
        place = Place((A,), (B,), (A, B))
        looking = discovery(place, listener, MemorySink())
        looking.start()
        await looking.looked.wait()
        assert listener.told == [(A,)]
        await asyncio.sleep(10.5)
        assert listener.told == [(A,), (B,)]
        await looking.close()
        await asyncio.sleep(30)
        assert len(listener.told) == 2

    virtual_time.run(main())


def test_names_are_the_place_and_the_address() -> None:
    spec = DiscoverySpec(
        name="pool", kind=DiscoveryKind.DNS, engine={"kind": "vllm", "weight": 2.0}
    )
    found = FoundEngine(url="http://[fd00::1]:8000", options={"weight": 5.0})
    assert found.entry(spec) == {
        "kind": "vllm",
        "weight": 5.0,
        "name": "pool-fd00--1--8000",
        "url": "http://[fd00::1]:8000",
    }
    named = FoundEngine(url="unix:/run/a.sock", name="one")
    assert named.entry(spec)["name"] == "pool-one"
