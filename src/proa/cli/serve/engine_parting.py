"""When an engine that gets nothing new has finished."""

import asyncio

from proa.control.registry import Registry
from proa.gateway.supervisor import Supervisor
from proa.telemetry.rows import Header

_LOOK_S = 0.05
_QUIET_LOOKS = 3
"""A request that began before the engine drained may still be given to it a moment later."""


class Parting:
    """Waits for the requests that an engine still has, over all workers."""

    def __init__(self, supervisor: Supervisor, registry: Registry) -> None:
        self._supervisor = supervisor
        self._registry = registry

    async def finished(self, name: str, limit_s: float) -> int:
        """Wait until an engine that drains is idle, for at most `limit_s`; the requests left."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + limit_s
        sequence = self._registry.fleet.sequence
        quiet = 0
        while True:
            left = self._in_flight(name)
            quiet = quiet + 1 if not left and self._is_known(sequence) else 0
            if quiet >= _QUIET_LOOKS or loop.time() >= until_s:
                return left
            await asyncio.sleep(_LOOK_S)

    def _in_flight(self, name: str) -> int:
        slot = self._supervisor.engine_slots.get(name)
        return 0 if slot is None else self._supervisor.rows.engine_in_flight(slot)

    def _is_known(self, sequence: int) -> bool:
        """Whether all workers route by this view of the fleet."""
        rows = self._supervisor.rows.rows
        workers = self._supervisor.workers()
        return all(rows[worker.index][Header.FLEET_SEQUENCE] >= sequence for worker in workers)
