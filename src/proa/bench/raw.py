"""What a client process notes of one request, and hands over unread: reads of the socket with
the time of each. Times are of the machine's monotonic clock, which its processes share.
"""

from enum import StrEnum

import msgspec


class RawEnd(StrEnum):
    """How the exchange ended, as the socket saw it."""

    COMPLETE = "complete"
    CLOSED = "closed"
    TIMEOUT = "timeout"
    CONNECT = "connect"
    MALFORMED = "malformed"
    STOPPED = "stopped"


class Asked(msgspec.Struct, frozen=True, array_like=True):
    """What was asked in one request; `number` is unique in the run, `prompt` a hash."""

    number: int
    target: int
    user: int
    prompt: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    scheduled_s: float | None = None


class RawExchange(msgspec.Struct, array_like=True):
    """One request sent once; `reads[i]` arrived at `times[i]`.

    `sent_s` is when it was its turn, `wired_s` when its bytes were given to a connection;
    they differ where no connection was free. `ended_s` is the last read, or the failure.
    """

    asked: Asked
    sent_s: float
    wired_s: float | None = None
    times: list[float] = []
    reads: list[bytes] = []
    ended_s: float = 0.0
    end: RawEnd = RawEnd.COMPLETE
    text: str = ""
