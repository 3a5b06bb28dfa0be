"""Looks for engines in one place again and again, and tells when it sees others."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from proa.domain.discovery import DiscoverySpec, FoundEngine
from proa.errors import ProaError
from proa.telemetry.logs import Log

Tell = Callable[[str, tuple[FoundEngine, ...]], Awaitable[None]]


class EngineSource(Protocol):
    """A place where engines are found."""

    async def look(self) -> tuple[FoundEngine, ...]:
        """All engines that are there now.

        Raises:
            ProaError: nobody knows; this is not the same as none.
        """


class Discovery:
    """One `[[discovery]]`, looked at every `interval_s`.

    A look that fails changes nothing: the engines last seen stay. It is logged once, and
    again when it fails in another way; `problem` is the newest failure, empty when the
    last look went well, `seen_at_s` is Unix time. `looked` is set after the first look.
    """

    def __init__(
        self,
        spec: DiscoverySpec,
        source: EngineSource,
        *,
        tell: Tell,
        log: Log,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.spec = spec
        self.problem = ""
        self.seen_at_s: float | None = None
        self.looked = asyncio.Event()
        self._source = source
        self._tell = tell
        self._log = log
        self._clock = clock
        self._last: tuple[FoundEngine, ...] | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look; needs a running event loop."""
        if self._task is None:
            self._task = asyncio.create_task(self._keep_looking())

    async def close(self) -> None:
        """Stop looking."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def look(self) -> None:
        """Look once and tell what is new."""
        try:
            found = await asyncio.wait_for(self._source.look(), self.spec.interval_s + 5)
            if found != self._last:
                await self._tell(self.spec.name, found)
                self._last = found
        except (ProaError, TimeoutError) as error:
            self._failed(str(error) or "no answer in time")
        except Exception as fault:  # ours: it must not end the looking
            self._failed(f"fault of proa: {fault!r}")
        else:
            if self.problem:
                self._log.event("info", "discovery works again", discovery=self.spec.name)
            self.problem = ""
            self.seen_at_s = self._clock()
        self.looked.set()

    async def _keep_looking(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(self.spec.interval_s)

    def _failed(self, problem: str) -> None:
        if problem != self.problem:
            name = self.spec.name
            self._log.event("error", "discovery fails", discovery=name, error=problem)
        self.problem = problem
