"""What time does to a client's connection: called for each of them by the sweep."""

import select
from typing import TYPE_CHECKING

from proa.gateway.deadlines import sweep
from proa.wire.refusal import ProtocolRefusal

if TYPE_CHECKING:
    from proa.gateway.connection import ClientConnection
    from proa.gateway.exchange import Exchange
    from proa.gateway.request_body import RequestBody


def sweep_connection(connection: "ClientConnection", now: float) -> None:
    """Every 250 ms."""
    exchange = connection.exchange
    if connection.watch is not None and connection.watch.poll(0):
        connection.transport.abort()
    elif connection.closing:
        if now >= connection.deadline:
            connection.transport.abort()
    elif exchange is None:
        _idle(connection, now)
    elif connection.body is not None:
        _sending(connection, exchange, connection.body, now)
    else:
        sweep(exchange, now)
        _reading(connection, now)


def _idle(connection: "ClientConnection", now: float) -> None:
    """Between requests, or with half a head."""
    limits = connection.plane.settings.limits
    if connection.head_since and now >= connection.deadline:
        limit = f"limits.head_timeout_s = {limits.head_timeout_s:g}"
        connection.refuse(ProtocolRefusal(408, f"no whole request head within {limit}"))
    elif connection.transport.get_write_buffer_size():  # still reading its last answer
        connection.deadline = now + limits.keep_alive_s
        _reading(connection, now)
    elif (now >= connection.deadline or _may_leave(connection, now)) and not _has_unread(
        connection
    ):
        connection.close()


def _may_leave(connection: "ClientConnection", now: float) -> bool:
    """Whether a drain may end the connection: no request is on its way."""
    plane = connection.plane
    return plane.draining and now >= plane.idle_until and not connection.head_since


def _has_unread(connection: "ClientConnection") -> bool:
    """Whether bytes came that the loop has not read yet: a close would lose them."""
    unread = select.poll()
    unread.register(connection.transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(unread.poll(0))


def _sending(
    connection: "ClientConnection", exchange: "Exchange", body: "RequestBody", now: float
) -> None:
    """While the body comes: there must be room for it, and it must come."""
    limits, plane = exchange.limits, connection.plane
    if body.waits_since:
        if not plane.over_body_budget():
            body.go_on(now)
            connection.resume_reading()
        elif now - body.waits_since >= limits.head_timeout_s:
            allowed = "as limits.body_budget_bytes allows"
            exchange.refuse(503, f"the gateway holds as many request bodies {allowed}")
    elif body.too_slow(now, limits):
        rate = limits.body_min_bytes_per_s
        exchange.refuse(408, f"the body comes slower than limits.body_min_bytes_per_s = {rate}")
    elif now - exchange.started_s >= limits.total_timeout_s:
        limit = limits.total_timeout_s
        exchange.refuse(408, f"no whole body within limits.total_timeout_s = {limit:g}")


def _reading(connection: "ClientConnection", now: float) -> None:
    """A client that reads nothing of its answer for `stall_timeout_s` is gone."""
    size = connection.transport.get_write_buffer_size()
    if not size or size != connection.stuck_bytes:
        connection.stuck_bytes = size
        connection.stuck_since = now
    elif now - connection.stuck_since >= connection.plane.settings.limits.stall_timeout_s:
        connection.transport.abort()
