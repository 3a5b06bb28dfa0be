"""Listening sockets: owned by the supervisor, or handed in by systemd."""

import contextlib
import os
import socket
import stat

from proa.errors import InputError
from proa.gateway.peers import watch_peer

_BACKLOG = 4096


def open_listener(listen: str, *, key: str = "gateway.listen") -> socket.socket:
    """The listening socket for `host:port`, `[v6]:port` (dual stack) or `unix:/path`.

    `key` is where the address stands in the configuration, for the message.

    Raises:
        InputError: the address is taken, not ours, or the path can't be used.
    """
    try:
        if listen.startswith("unix:"):
            return _unix(listen[len("unix:") :])
        host, _, port = listen.rpartition(":")
        host = host.strip("[]")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return _tcp(family, host, int(port))
    except OSError as error:
        raise InputError(f"{key} = {listen!r}: {error.strerror or error}") from error


def close_listener(listener: socket.socket) -> None:
    """Close it, and take its path away if it has one."""
    path = path_of(listener)
    listener.close()
    if path is not None:
        with contextlib.suppress(OSError):
            os.unlink(path)


def path_of(listener: socket.socket) -> str | None:
    """The path of a unix socket."""
    return listener.getsockname() if listener.family == socket.AF_UNIX else None


def address_of(listener: socket.socket) -> str:
    """`host:port`, `[v6]:port` or `unix:/path`, with the port that it really got."""
    name = listener.getsockname()
    if listener.family == socket.AF_UNIX:
        return f"unix:{name}"
    host = f"[{name[0]}]" if listener.family == socket.AF_INET6 else name[0]
    return f"{host}:{name[1]}"


def inherited_socket(descriptor: int) -> socket.socket:
    """A socket that this process was started with."""
    sock = socket.socket(fileno=descriptor)
    sock.set_inheritable(False)
    sock.setblocking(False)
    return sock


def _tcp(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        info = socket.getaddrinfo(
            host or None, port, family, socket.SOCK_STREAM, 0, socket.AI_PASSIVE
        )[0]
        sock.bind(info[4])
        sock.listen(_BACKLOG)
    except OSError:
        sock.close()
        raise
    sock.setblocking(False)
    watch_peer(sock)
    return sock


def _unix(path: str) -> socket.socket:
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.stat(path).st_mode):
            _unlink_if_dead(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(path)
        sock.listen(_BACKLOG)
    except OSError:
        sock.close()
        raise
    sock.setblocking(False)
    return sock


def _unlink_if_dead(path: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
