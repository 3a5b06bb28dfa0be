"""What the supervisor tells its workers, as length-prefixed JSON over a socket pair.

JSON, because the model cards in a fleet view are the engines' own JSON, put in as they are.
"""

import asyncio
import struct

import msgspec

from proa.domain.fleet import FleetView
from proa.domain.load import LoadView
from proa.domain.request_record import KeptRequest
from proa.gateway.settings import GatewaySettings

_LENGTH = struct.Struct("!I")


class ApplySettings(msgspec.Struct, tag=True, frozen=True):
    """A new generation of settings, and who has which cells in the shared rows."""

    generation: int
    settings: GatewaySettings
    engine_slots: dict[str, int]
    key_slots: dict[str, int]
    instance: str
    tenant_slots: dict[str, int] = {}


class ApplyFleet(msgspec.Struct, tag=True, frozen=True):
    """A new view of the fleet."""

    view: FleetView


class ApplyLoads(msgspec.Struct, tag=True, frozen=True):
    """What the engines have to do; comes at every poll and replaces the one before."""

    view: LoadView


class Drain(msgspec.Struct, tag=True, frozen=True):
    """Take clients from the listening sockets for `accept_s` more, finish what is open, end."""

    accept_s: float


class SettingsRefused(msgspec.Struct, tag=True, frozen=True):
    """A worker's answer: it cannot work with a generation and keeps the one that it has."""

    generation: int
    error: str


class Records(msgspec.Struct, tag=True, frozen=True):
    """What a worker tells: requests that ended."""

    requests: list[KeptRequest]


class ReopenLogs(msgspec.Struct, tag=True, frozen=True):
    """The log files were rotated."""


Message = ApplySettings | ApplyFleet | ApplyLoads | Drain | Records | ReopenLogs | SettingsRefused

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Message).decode


def frame(message: Message) -> bytes:
    """One message as it goes over the socket."""
    body = _encode(message)
    return _LENGTH.pack(len(body)) + body


async def next_message(reader: asyncio.StreamReader) -> Message | None:
    """The next message; None when the other side has gone."""
    try:
        head = await reader.readexactly(_LENGTH.size)
        return _decode(await reader.readexactly(_LENGTH.unpack(head)[0]))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
