"""When something is due: the real clock, or a test's virtual one."""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

_EARLY_S = 0.0002  # a timer may fire so much before its time


class Timers(Protocol):
    """Seconds of one monotonic clock."""

    def now(self) -> float:
        """The time."""

    def call_at(self, at_s: float, callback: Callable[[], None]) -> None:
        """Call once, not before `at_s`."""


class LoopTimers:
    """The running loop's timers, on the machine's monotonic clock.

    uvloop's own clock has steps of 1 ms and may fire early; then the rest is waited for, too.
    What is due runs after the timers' phase of the loop: a timer that sets the next one there
    can keep a late loop from its sockets for tens of milliseconds (libuv's uv__run_timers).
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def now(self) -> float:
        return time.monotonic()

    def call_at(self, at_s: float, callback: Callable[[], None]) -> None:
        self._loop.call_later(max(0.0, at_s - time.monotonic()), self._fire, at_s, callback)

    def _fire(self, at_s: float, callback: Callable[[], None]) -> None:
        if at_s - time.monotonic() > _EARLY_S:
            self.call_at(at_s, callback)
        else:
            self._loop.call_soon(callback)
