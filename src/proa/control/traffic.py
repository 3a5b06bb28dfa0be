"""What the data plane sees of an engine, as the control plane needs it."""

import msgspec

from proa.telemetry.rows import Engine, SharedRows, engine_base


class EngineTraffic(msgspec.Struct, frozen=True):
    """`in_flight` requests of ours; `received` grows whenever answers move."""

    in_flight: int = 0
    received: int = 0


def traffic_in(rows: SharedRows, slot: int) -> EngineTraffic:
    """The traffic of the engine in a slot of the shared rows, over all workers."""
    base = engine_base(slot)
    return EngineTraffic(rows.engine_in_flight(slot), rows.total(base + Engine.RECEIVED))
