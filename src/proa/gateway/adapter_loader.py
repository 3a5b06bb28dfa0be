"""Loads LoRA adapters into engines as the policy `lora` orders; requests wait for that here."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from proa.domain.fleet import EngineSpec
from proa.engines.lora import AdapterCall, is_done, load_call, unload_call
from proa.gateway.link import EngineLink
from proa.routing.adapters import AdapterBook, Order

if TYPE_CHECKING:
    from proa.gateway.exchange import Exchange

LOAD_TIMEOUT_S = 60.0
_SHOWN = 200
_MAX_ANSWER_BYTES = 1_048_576

Call = Callable[[EngineSpec, AdapterCall], Awaitable[tuple[int, bytes]]]


class AdapterLoader:
    """Carries out the orders of a worker's `AdapterBook`, one engine's in their order.

    Several workers decide on their own; what one has unloaded, another loads again at
    its next request. Where adapters change often, one worker is enough for them.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, book: AdapterBook, call: Call | None = None
    ) -> None:
        self._loop = loop
        self._book = book
        self._call = call or post
        self._waiting: dict[tuple[str, str], list[Exchange]] = {}
        self._last: dict[str, asyncio.Task[None]] = {}

    def holds(self, exchange: "Exchange", link: EngineLink, adapter: str) -> bool:
        """Whether the exchange waits for its adapter; it is told when that is there."""
        orders = self._book.orders
        while orders:
            self._begin(orders.pop(0), link)
        waiting = self._waiting.get((link.name, adapter))
        if waiting is None:
            return False
        waiting.append(exchange)
        return True

    def _begin(self, order: Order, link: EngineLink) -> None:
        self._waiting.setdefault((order.engine, order.load.name), [])
        before = self._last.get(order.engine)
        self._last[order.engine] = self._loop.create_task(self._carry_out(order, link, before))

    async def _carry_out(
        self, order: Order, link: EngineLink, before: asyncio.Task[None] | None
    ) -> None:
        if before is not None:
            await before
        fault = ""
        try:
            if order.unload is not None:
                await self._call(link.spec, unload_call(link.kind, order.unload))
            status, body = await self._call(
                link.spec, load_call(link.kind, order.load.name, order.load.path)
            )
            if not is_done(status, body):
                fault = f"status {status}: {body[:_SHOWN].decode('utf-8', 'replace')}"
        except (OSError, TimeoutError, KeyError) as error:
            fault = str(error) or type(error).__name__
        if fault:
            self._book.missing(order.engine, order.load.name)
            fault = f"engine {order.engine} did not load the adapter {order.load.name}: {fault}"
        for exchange in self._waiting.pop((order.engine, order.load.name), ()):
            if not exchange.is_over:
                exchange.adapter_answered(link, fault)


async def post(spec: EngineSpec, call: AdapterCall) -> tuple[int, bytes]:
    """Send one call over a connection of its own.

    Raises:
        OSError: no connection, no answer in time, or broken HTTP.
    """
    import httpx  # here: workers without adapters need not carry it

    from proa.engines.http_transport import HttpTransport

    is_socket = spec.url.startswith("unix:")
    headers = {"content-type": "application/json"}
    if spec.api_key:
        headers["authorization"] = f"Bearer {spec.api_key}"
    base = "http://localhost" if is_socket else spec.url
    transport = HttpTransport(spec, max_body_bytes=_MAX_ANSWER_BYTES)
    request = httpx.Request("POST", f"{base}{call.path}", content=call.body, headers=headers)
    try:
        async with asyncio.timeout(LOAD_TIMEOUT_S):
            answer = await transport.handle_async_request(request)
        return answer.status_code, await answer.aread()
    except httpx.HTTPError as error:
        raise OSError(str(error) or type(error).__name__) from error
    finally:
        await transport.aclose()
