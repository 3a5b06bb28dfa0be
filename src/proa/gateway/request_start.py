"""The head of a request as it goes to an engine, up to what differs from request to request."""

from typing import TYPE_CHECKING

from proa.gateway.link import EngineLink
from proa.wire.request_head import RequestHead

if TYPE_CHECKING:
    from proa.gateway.connection import ClientConnection

_CREDENTIALS = (b"authorization", b"x-api-key")


def request_start(
    connection: "ClientConnection", head: RequestHead, link: EngineLink, target: bytes
) -> bytes:
    """Everything up to the value of `x-request-id`: the same for each request with this head.

    The client's lines go on, less those that end here; its credentials only where
    neither the gateway asks for a key nor the engine has one configured.
    """
    plane, fields = connection.plane, head.fields
    parts = [head.method, b" ", link.path_prefix, target, b" HTTP/1.1\r\n", link.request_lines]
    parts += head.lines
    keeps_credentials = plane.doorkeeper.is_open and not link.sends_key
    for name in (b"content-type", *(_CREDENTIALS if keeps_credentials else ())):
        if name in fields:
            parts.append(name + b": " + fields[name] + b"\r\n")
    parts.append(forwarding_lines(connection, fields))
    via = fields.get(b"via")
    parts.append(b"via: " + (plane.via if via is None else via + b", " + plane.via))
    parts.append(b"\r\nx-request-id: ")
    return b"".join(parts)


def forwarding_lines(connection: "ClientConnection", fields: dict[bytes, bytes]) -> bytes:
    """X-Forwarded-* lines; what a trusted proxy sent is kept and continued."""
    peer = connection.peer.encode()
    proto = b"https" if connection.secure else b"http"
    host = fields.get(b"host", b"")
    if connection.peer_is_trusted:
        earlier = fields.get(b"x-forwarded-for")
        peer = earlier + b", " + peer if earlier else peer
        proto = fields.get(b"x-forwarded-proto", proto)
        host = fields.get(b"x-forwarded-host", host)
    lines = b"x-forwarded-for: %b\r\nx-forwarded-proto: %b\r\nx-forwarded-host: %b\r\n"
    return lines % (peer, proto, host)
