"""Engines that answer probes out of a dictionary, and a registry around them."""

import asyncio
from collections.abc import Callable

import httpx
import msgspec

from proa.control.knowledge import Knowledge
from proa.control.probing import EngineProbe
from proa.control.registry import Registry
from proa.control.settings import ControlSettings
from proa.control.traffic import EngineTraffic
from proa.domain.fleet import EngineKind, EngineSpec, EngineState, FleetView
from proa.domain.load import LoadView
from proa.telemetry.logs import Log
from proa.telemetry.sink import LineSink

IDLE = b"vllm:num_requests_running 0.0\nvllm:num_requests_waiting 0.0\n"
Answer = httpx.Response | Exception | float  # a number: silence for so many seconds


def models(*names: str, owner: str = "vllm", **fields: object) -> bytes:
    """An OpenAI-shaped model list."""
    cards = [{"id": name, "owned_by": owner, **fields} for name in names]
    return msgspec.json.encode({"object": "list", "data": cards})


class FakeEngine:
    """Answers by path, after `delay_s`; what is not listed is a 404. `down` overrides all."""

    def __init__(self, **answers: bytes) -> None:
        self.answers: dict[str, Answer | bytes] = {
            "/" + path.replace("__", "/"): body for path, body in answers.items()
        }
        self.down: Answer | None = None
        self.delay_s = 0.0
        self.asked: list[httpx.Request] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        answer = self.down if self.down is not None else self.answers.get(request.url.path)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, float):
            await asyncio.sleep(answer)
            return _response(200, b"")
        if isinstance(answer, httpx.Response):
            return _response(answer.status_code, answer.content)
        return _response(404, b"") if answer is None else _response(200, answer)


def _response(status: int, body: bytes) -> httpx.Response:
    """Not read yet, as from a network."""
    return httpx.Response(status, stream=httpx.ByteStream(body))


def vllm(*names: str) -> FakeEngine:
    """A vLLM with nothing to do."""
    return FakeEngine(
        v1__models=models(*names), health=b"", metrics=IDLE, version=b'{"version":"0.32.0"}'
    )


def refused() -> httpx.ConnectError:
    """As httpx raises it when nobody listens."""
    error = httpx.ConnectError("All connection attempts failed")
    error.__cause__ = ConnectionRefusedError(111, "Connection refused")
    return error


class MemorySink(LineSink):
    """A sink that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.dropped = 0

    def append(self, line: bytes) -> None:
        self.lines.append(line)

    def flush(self) -> bool:
        return True


class Audience:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.fleets: list[FleetView] = []
        self.loads: list[LoadView] = []

    def publish(self, view: FleetView) -> None:
        self.fleets.append(view)

    def publish_loads(self, view: LoadView) -> None:
        self.loads.append(view)


class Gateway(Knowledge):
    """A gateway that sends what a test says."""

    def __init__(self) -> None:
        self.sent: dict[str, EngineTraffic] = {}

    def traffic(self, name: str) -> EngineTraffic:
        return self.sent.get(name, EngineTraffic())


class Fleet:
    """A registry over fake engines, inside a running loop."""

    def __init__(self, engines: dict[str, FakeEngine], *specs: EngineSpec) -> None:
        self.engines = engines
        self.audience = Audience()
        self.published = self.audience.fleets
        self.gateway = Gateway()
        self.traffic = self.gateway.sent
        self.sink = MemorySink()
        self.opened: list[str] = []
        settings = ControlSettings(engines=specs or tuple(spec(name) for name in engines))
        self.registry = Registry(
            settings,
            audience=self.audience,
            log=Log(self.sink),
            knowledge=self.gateway,
            connect=self._connect,
            clock=asyncio.get_running_loop().time,
        )

    def _connect(self, engine: EngineSpec) -> EngineProbe:
        self.opened.append(engine.name)
        return EngineProbe(engine, httpx.MockTransport(self.engines[engine.name]))

    def state(self, name: str) -> EngineState:
        view = self.registry.fleet.engine(name)
        assert view is not None
        return view.state

    def names(self, name: str) -> list[str]:
        view = self.registry.fleet.engine(name)
        assert view is not None
        return [model.id for model in view.models]

    async def polls(self, name: str, count: int) -> None:
        for _ in range(count):
            await self.registry.poll(name)

    async def until(self, condition: Callable[[], bool], timeout_s: float = 60.0) -> None:
        async with asyncio.timeout(timeout_s):
            while not condition():
                await asyncio.sleep(0.05)

    def messages(self) -> list[str]:
        lines = (msgspec.json.decode(line, type=dict[str, object]) for line in self.sink.lines)
        return [f"{line['engine']}: {line['message']}" for line in lines]


def spec(name: str, kind: EngineKind = EngineKind.AUTO, *names: str) -> EngineSpec:
    return EngineSpec(name=name, url=f"http://{name}:8000", kind=kind, models=names)
