"""Clients that wait behind one another, and engines whose answers end when a test says so."""

import asyncio
import json
from contextlib import AsyncExitStack

from tests.gateway.harness import Gateway

from proa.telemetry.rows import Header
from proa.testing.chat import chat_completion
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import RawResponse, json_request
from proa.testing.received import ReceivedRequest
from proa.testing.replies import json_reply
from proa.testing.steps import Reply, WaitFor


def ask(
    name: str, *headers: tuple[str, str], path: str = "/v1/chat/completions", **more: object
) -> bytes:
    body = {"model": "scripted", "messages": [], "user": name, **more}
    return json_request(body, path, headers=headers)


def user_of(request: ReceivedRequest) -> str:
    return str(json.loads(bytes(request.body))["user"])


class Doors:
    """An engine's script whose answers end when the test opens the request's door."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self._doors: dict[str, asyncio.Event] = {}

    def __call__(self, request: ReceivedRequest) -> Reply:
        name = user_of(request)
        self.order.append(name)
        return json_reply(chat_completion()).preceded_by(WaitFor(self.door(name)))

    def door(self, name: str) -> asyncio.Event:
        return self._doors.setdefault(name, asyncio.Event())

    def open(self, *names: str) -> None:
        for name in names:
            self.door(name).set()


class Crowd:
    """Clients of a gateway, by name."""

    def __init__(self, gateway: Gateway, stack: AsyncExitStack) -> None:
        self.gateway = gateway
        self.clients: dict[str, RawClient] = {}
        self._stack = stack

    async def send(
        self, name: str, request: bytes | None = None, *headers: tuple[str, str]
    ) -> None:
        """Ask, and wait until the request has started or waits."""
        client = self.clients[name] = await self._stack.enter_async_context(self.gateway.client())
        opened = self.gateway.header(Header.REQUESTS)
        await client.send(request or ask(name, *headers))
        await self.gateway.until(lambda: self.gateway.header(Header.REQUESTS) > opened, "arrival")

    async def answer(self, name: str) -> RawResponse:
        return await self.clients[name].read_response()


def queued(gateway: Gateway) -> list[int]:
    """How many wait, by class."""
    return [gateway.header(Header.QUEUED + rank) for rank in range(4)]
