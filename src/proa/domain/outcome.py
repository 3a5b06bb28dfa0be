"""How one upstream try ended, cut by whose fault it was."""

from enum import IntEnum


class Outcome(IntEnum):
    """The class of a finished try; the values index counters and never change.

    `OK` and `CLIENT_FAULT` (the request itself is wrong) speak for the engine;
    `NOT_READY` and `BUSY` send the request elsewhere without blame; `BROKEN`
    feeds the circuit breaker; `CANCELLED` (the client left) feeds nothing.
    """

    OK = 0
    CLIENT_FAULT = 1
    NOT_READY = 2
    BUSY = 3
    BROKEN = 4
    CANCELLED = 5

    @property
    def label(self) -> str:
        return self.name.lower()
