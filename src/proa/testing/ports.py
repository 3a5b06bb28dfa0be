"""Addresses that do not answer: a port that refuses, a port whose connect never ends."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def closed_port() -> Iterator[int]:
    """A port that refuses connections and that nobody else can take meanwhile."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@contextmanager
def hanging_port() -> Iterator[int]:
    """A port where `connect` gets no answer: its backlog is full, and Linux drops the SYN."""
    with socket.socket() as listener, socket.socket() as filler:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        filler.connect(listener.getsockname())
        yield listener.getsockname()[1]
