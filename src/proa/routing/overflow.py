"""When a route's overflow engines join: how pressed the preferred ones are, with hysteresis.

A route is open to its overflow engines as soon as all usable preferred engines have
reached a threshold, and closed again when they have stayed below three quarters of
every threshold for a minute. However the load moves, two switches at most fall into
any minute.
"""

from collections.abc import Sequence
from math import isinf

from proa.domain.request import RouteRequest
from proa.routing.loads import Loads
from proa.routing.spec import OverflowSpec

HOLD_S = 60.0
RELEASE_SHARE = 0.75


class OverflowState:
    """Whether one route's overflow is open; it outlives routers and belongs to the route's name."""

    __slots__ = ("_pressed_at_s", "is_open")

    def __init__(self) -> None:
        self.is_open = False
        self._pressed_at_s = 0.0

    def decide(self, pressure: float, now_s: float) -> bool:
        """Whether it is open at a pressure of so many thresholds; time never runs backwards."""
        if pressure >= (RELEASE_SHARE if self.is_open else 1.0):
            self.is_open = True
            self._pressed_at_s = now_s
        elif self.is_open and now_s - self._pressed_at_s >= HOLD_S:
            self.is_open = False
        return self.is_open


def pressure(
    when: OverflowSpec, preferred: Sequence[int], loads: Loads, request: RouteRequest
) -> float:
    """The least pressed engine's largest ratio of a measure to its threshold."""
    return min(_engine_pressure(when, index, loads, request) for index in preferred)


def _engine_pressure(when: OverflowSpec, index: int, loads: Loads, request: RouteRequest) -> float:
    """A measure that is not known is left out: nothing says that the engine is pressed."""
    most = 0.0
    if when.in_flight is not None:
        most = loads.in_flight[index] / when.in_flight
    if when.waiting is not None:
        most = max(most, (waiting_requests(loads, index) or 0) / when.waiting)
    if when.predicted_wait_s is not None:
        wait_s = predicted_wait_s(loads, index, request)
        most = max(most, (wait_s or 0.0) / when.predicted_wait_s)
    return most


def waiting_requests(loads: Loads, index: int) -> int | None:
    """Requests that wait in the engine: what it said, or more if more were sent since.

    What it was given beyond its limit must be waiting; None if neither is known.
    """
    view = loads.views[index]
    load = view.load
    told = None if load is None else load.waiting
    limit = view.max_concurrent or (None if load is None else load.max_running)
    if not limit:
        return told
    beyond = max(0, loads.in_flight[index] + loads.foreign[index] - limit)
    return beyond if told is None else max(told, beyond)


def predicted_wait_s(loads: Loads, index: int, request: RouteRequest) -> float | None:
    """Seconds until the request's first token: the queue's turn, then the prompts before it.

    wait = queued / slots x mean output tokens x step(slots)
         + (bytes of prompts ahead and of its own) x prompt seconds per byte

    None when the engine neither says nor shows how fast it is or what waits.
    """
    base_s, per_sequence_s, prompt_s_per_byte, capacity = loads.speeds[index]
    queued = waiting_requests(loads, index)
    if queued is None and loads.views[index].timing is None:
        return None
    wait_s = (loads.waiting_bytes[index] + request.body_bytes) * prompt_s_per_byte
    if queued:
        slots = _running(loads, index, queued) if isinf(capacity) else capacity
        wait_s += queued / slots * loads.output_tokens * (base_s + per_sequence_s * slots)
    return wait_s


def _running(loads: Loads, index: int, queued: int) -> float:
    load = loads.views[index].load
    if load is not None and load.running:
        return float(load.running)
    return max(1.0, loads.in_flight[index] + loads.foreign[index] - queued)
