"""One request at a time, each on a connection that was open before: its opening is no TTFT."""

import asyncio
import time
from collections.abc import Sequence

from proa.bench.client import TargetClient
from proa.bench.raw import Asked, RawExchange
from proa.bench.target import TargetSpec


class Asker:
    """A connection to each target; `reopened` counts those that a target had closed."""

    def __init__(self, targets: Sequence[TargetSpec], *, timeout_s: float) -> None:
        self.reopened = [0] * len(targets)
        self._clients = [TargetClient(target) for target in targets]
        self._timeout_s = timeout_s
        self._asked = [False] * len(targets)

    async def ask(self, asked: Asked, body: bytes) -> RawExchange:
        """The exchange, however it ends.

        Raises:
            OSError: the target takes no connection.
        """
        side = asked.target
        client = self._clients[side]
        if not client.idle:
            self.reopened[side] += self._asked[side]
            await client.open(1)
        self._asked[side] = True
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[RawExchange] = loop.create_future()
        raw = RawExchange(asked, time.monotonic(), times=[], reads=[])
        client.send(raw, body, ended.set_result)
        late = loop.call_later(
            self._timeout_s, client.end_older, float("inf"), f"no end within {self._timeout_s:g} s"
        )
        try:
            return await ended
        finally:
            late.cancel()

    def stop(self) -> None:
        """End what is in flight as stopped, and close all connections."""
        for client in self._clients:
            client.stop()
