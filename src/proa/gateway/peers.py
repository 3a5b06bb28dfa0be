"""TCP's own watch over the other side: a machine that vanished without a word is noticed."""

import socket

IDLE_S = 60
INTERVAL_S = 10
UNACKNOWLEDGED_MS = 120_000


def watch_peer(sock: socket.socket) -> None:
    """Probe an idle peer, and give up one that acknowledges nothing (tcp(7)).

    Sockets that are accepted inherit it from their listener.
    """
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, IDLE_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, INTERVAL_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS)


def peer_address(peername: object) -> str:
    """The address in a socket's `peername`, `unix` where it has none.

    A listener of both families sees `10.0.0.1` as `::ffff:10.0.0.1`.
    """
    if not isinstance(peername, tuple):
        return "unix"
    return str(peername[0]).removeprefix("::ffff:")
