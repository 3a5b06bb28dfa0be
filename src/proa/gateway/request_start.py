"""The head of a request as it goes to an engine, up to what differs from request to request."""

from typing import TYPE_CHECKING

from proa.gateway.link import EngineLink
from proa.wire.request_head import RequestHead

if TYPE_CHECKING:
    from proa.gateway.connection import ClientConnection

_CREDENTIALS = (b"authorization", b"x-api-key")


def request_start(
    connection: "ClientConnection", head: RequestHead, link: EngineLink, target: bytes, *,
    is_open: bool,
) -> bytes:  # fmt: skip
    """Everything up to the value of `x-request-id`: the same for each request with this head.

    The client's lines go on, less those that end here; its credentials only where
    the gateway `is_open`, asking for no key, and the engine has none configured.
    """
    plane, fields = connection.plane, head.fields
    parts = [head.method, b" ", link.path_prefix, target, b" HTTP/1.1\r\n", link.request_lines]
    parts += head.lines
    keeps_credentials = is_open and not link.sends_key
    for name in (b"content-type", *(_CREDENTIALS if keeps_credentials else ())):
        if name in fields:
            parts.append(name + b": " + fields[name] + b"\r\n")
    parts.append(forwarding_lines(connection, fields))
    via = fields.get(b"via")
    parts.append(b"via: " + (plane.via if via is None else via + b", " + plane.via))
    parts.append(b"\r\nx-request-id: ")
    return b"".join(parts)


def forwarding_lines(connection: "ClientConnection", fields: dict[bytes, bytes]) -> bytes:
    """X-Forwarded-* lines; what a trusted proxy sent is kept and continued, `Forwarded` too."""
    peer = connection.peer.encode()
    forwarded = b""
    proto = b"https" if connection.secure else b"http"
    host = fields.get(b"host", b"")
    if connection.peer_is_trusted:
        earlier = fields.get(b"x-forwarded-for")
        peer = earlier + b", " + peer if earlier else peer
        forwarded = _continued(connection.peer, proto, host, fields.get(b"forwarded"))
        proto = fields.get(b"x-forwarded-proto", proto)
        host = fields.get(b"x-forwarded-host", host)
    lines = b"x-forwarded-for: %b\r\nx-forwarded-proto: %b\r\nx-forwarded-host: %b\r\n"
    return lines % (peer, proto, host) + forwarded


def _continued(peer: str, proto: bytes, host: bytes, earlier: bytes | None) -> bytes:
    """A `Forwarded` line (RFC 7239) where a proxy sent one: its value and this hop."""
    if not earlier:
        return b""
    node = f'"[{peer}]"' if ":" in peer else peer.replace("unix", "unknown")
    hop = b'for=%b;host="%b";proto=%b' % (node.encode(), host, proto)
    return b"forwarded: " + earlier + b", " + hop + b"\r\n"
