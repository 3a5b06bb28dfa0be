"""The feed of one engine's KV events: a subscription over ZeroMQ that stays until it is closed.

pyzmq comes with the extra `kv-events` and is loaded only here.
"""

import asyncio
from typing import TYPE_CHECKING

from proa.control.kv_cache import KvCacheTrack
from proa.domain.fleet import EngineSpec
from proa.engines.door import check_feed
from proa.engines.kv_events import KvEventBatch, read_message
from proa.telemetry.logs import Level, Log

if TYPE_CHECKING:
    from zmq.asyncio import Socket

_MAX_MESSAGE_BYTES = 2**26
_MAX_WAITING_MESSAGES = 10_000
_RECONNECT_MS = 100
_MAX_RECONNECT_MS = 1000
_HEARTBEAT_MS = 5000


class KvFeed:
    """Follows `spec.kv_events`; `track` is what came. Without that key nothing is followed.

    ZeroMQ connects anew by itself, in whatever order engine and gateway start.
    """

    def __init__(self, spec: EngineSpec, log: Log) -> None:
        self.track = KvCacheTrack()
        self._engine = spec.name
        self._endpoint = spec.kv_events
        self._spec = spec
        self._log = log
        self._told: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Follow from now on; needs a running event loop."""
        if self._endpoint and self._task is None:
            self._task = asyncio.create_task(self._follow())

    async def close(self) -> None:
        """Follow no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _follow(self) -> None:
        import zmq

        try:
            await self._look_up()
            with _subscribed(self._endpoint) as socket:
                while True:
                    self._take(read_message(await socket.recv_multipart()))
                    await asyncio.sleep(0)  # what has come already is no reason to hold up others
        except (zmq.ZMQError, PermissionError) as error:
            self._tell("error", "KV events cannot be followed", f"{self._endpoint}: {error}")

    async def _look_up(self) -> None:
        """Wait until the name has addresses; they must be such at which engines may be."""
        while True:
            try:
                return await check_feed(self._spec)
            except PermissionError:
                raise
            except (OSError, UnicodeError) as error:
                self._tell("error", "KV events cannot be followed", f"{self._endpoint}: {error}")
                await asyncio.sleep(_MAX_RECONNECT_MS / 1000)

    def _take(self, batch: KvEventBatch | None) -> None:
        if batch is None:
            self._tell("warning", "not a feed of KV events", self._endpoint)
            return
        problem = self.track.take(batch)
        self._tell("info", "engine tells its KV events", None)
        if problem:
            self._tell("warning", "KV events lost: the engine's cache counts as empty", problem)

    def _tell(self, level: Level, message: str, detail: str | None) -> None:
        """Each only once; the metrics tell the rest."""
        if message not in self._told:
            self._told.add(message)
            self._log.event(level, message, engine=self._engine, detail=detail)


def _subscribed(endpoint: str) -> "Socket":
    import zmq
    from zmq.asyncio import Context

    socket = Context.instance().socket(zmq.SUB)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.IPV6, 1)
    socket.setsockopt(zmq.RCVHWM, _MAX_WAITING_MESSAGES)
    socket.setsockopt(zmq.MAXMSGSIZE, _MAX_MESSAGE_BYTES)
    socket.setsockopt(zmq.RECONNECT_IVL, _RECONNECT_MS)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, _MAX_RECONNECT_MS)
    socket.setsockopt(zmq.HEARTBEAT_IVL, _HEARTBEAT_MS)
    socket.setsockopt(zmq.SUBSCRIBE, b"")
    try:
        socket.connect(endpoint)
    except zmq.ZMQError:
        socket.close()
        raise
    return socket
