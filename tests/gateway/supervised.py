"""A supervisor with real worker processes, in the test's own loop."""

import asyncio
import os
import select
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec

from proa.domain.fleet import EngineKind, EngineSpec, EngineState, EngineView, FleetView, ModelView
from proa.gateway.settings import GatewaySettings, LogSettings
from proa.gateway.supervisor import Supervisor
from proa.telemetry.logs import Log
from proa.telemetry.rows import Header
from proa.telemetry.sink import LineSink
from proa.testing.raw_client import RawClient

_WITHIN_S = 30.0
_CARD = ModelView("scripted", msgspec.Raw(b'{"id":"scripted"}'))


def settings_for(urls: Sequence[str], **more: object) -> GatewaySettings:
    """Engines `e0`, `e1`… at `urls`, on any port, without a log of requests."""
    engines = tuple(EngineSpec(name=f"e{n}", url=url) for n, url in enumerate(urls))
    plain = GatewaySettings(
        listen="127.0.0.1:0", engines=engines, logs=LogSettings(requests=False, path=os.devnull)
    )
    return msgspec.structs.replace(plain, **more)


def all_ready(settings: GatewaySettings, sequence: int = 1) -> FleetView:
    """A fleet whose engines all have the model `scripted`."""
    return FleetView(
        sequence,
        tuple(
            EngineView(
                name=engine.name,
                kind=EngineKind.OPENAI,
                state=EngineState.READY,
                models=(_CARD,),
                models_known=True,
            )
            for engine in settings.engines
        ),
    )


@asynccontextmanager
async def supervised(settings: GatewaySettings) -> AsyncIterator[Supervisor]:
    """Up while the context is open; at its end all workers are gone, whatever happened."""
    supervisor = Supervisor(settings, log=Log(LineSink(os.devnull)))
    supervisor.publish(all_ready(settings))
    try:
        await supervisor.start()
        yield supervisor
    finally:
        supervisor.kill()
        await supervisor.drain()
        assert supervisor.workers() == ()


def url_of(supervisor: Supervisor) -> str:
    (address,) = supervisor.addresses
    return address if address.startswith("unix:") else f"http://{address}"


def requests_by_worker(supervisor: Supervisor) -> dict[int, int]:
    """Requests so far of each worker that is alive, by its pid."""
    rows = supervisor.rows.rows
    return {w.pid: rows[w.index][Header.REQUESTS] for w in supervisor.workers() if w.alive}


async def until(condition: Callable[[], bool], what: str) -> None:
    """Turn the loop until `condition` holds.

    Raises:
        AssertionError: it did not within 30 s.
    """
    try:
        async with asyncio.timeout(_WITHIN_S):
            while not condition():
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"no {what} within {_WITHIN_S:g} s") from None


async def end_of(pid: int) -> None:
    """Wait until a process that may not be a child of ours has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        watch = select.poll()
        watch.register(descriptor, select.POLLIN)
        await until(lambda: bool(watch.poll(0)), f"end of process {pid}")
    finally:
        os.close(descriptor)


async def refusal_of(url: str) -> None:
    """Wait until nobody listens at an address any more."""
    async with asyncio.timeout(_WITHIN_S):
        while True:
            try:
                async with RawClient.connect(url):
                    await asyncio.sleep(0.01)
            except ConnectionError:  # refused, or reset in the backlog of a listener that closes
                return
