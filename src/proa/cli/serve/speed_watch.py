"""Keeps what is known of the engines' speeds fresh, published, and in the state file."""

import asyncio

from proa.control.learned_speeds import (
    OBSERVE_S,
    LearnedSpeeds,
    RememberedSpeed,
    read_remembered,
)
from proa.control.registry import Registry
from proa.control.state_file import StateFile
from proa.telemetry.logs import Log

SPEEDS = "speeds"
"""Section of the state file."""

_PUBLISH_EVERY = 2
_WRITE_EVERY = 240


def remembered_speeds(state: StateFile) -> dict[str, RememberedSpeed]:
    """What an earlier run learned."""
    found: dict[str, RememberedSpeed] | None = state.section(SPEEDS, read_remembered)
    return found or {}


class SpeedWatch:
    """Observes four times a second, publishes twice, writes once a minute and at the end."""

    def __init__(
        self, speeds: LearnedSpeeds, registry: Registry, state: StateFile, log: Log
    ) -> None:
        self._speeds = speeds
        self._registry = registry
        self._state = state
        self._log = log
        self._fault = ""

    async def follow(self) -> None:
        """Run until cancelled; a fault is logged once and ends nothing."""
        count = 0
        while True:
            await asyncio.sleep(OBSERVE_S)
            count += 1
            try:
                self._look(count)
            except Exception as fault:  # ours: requests go on by what was known
                if repr(fault) != self._fault:
                    self._fault = repr(fault)
                    self._log.event("error", "speeds not learned", detail=self._fault)

    def write(self) -> None:
        """Remember what is known now."""
        known = self._speeds.to_remember()
        if known:
            self._state.write(SPEEDS, known)

    def _look(self, count: int) -> None:
        self._speeds.observe()
        if count % _PUBLISH_EVERY == 0:
            self._registry.refresh_loads()
        if count % _WRITE_EVERY == 0:
            self.write()
