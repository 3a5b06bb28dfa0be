"""Clients and engines that vanish are noticed by TCP itself."""

import asyncio
import socket

import pytest

from proa.domain.fleet import EngineSpec
from proa.gateway import peers
from proa.gateway.link import EngineLink
from proa.gateway.listeners import open_listener
from proa.gateway.peers import peer_address
from proa.gateway.upstream import UpstreamConnection
from proa.routing.spec import BreakerSpec
from proa.telemetry.rows import SharedRows
from proa.testing.scripted_engine import ScriptedEngine


def is_watched(sock: socket.socket) -> bool:
    tcp = socket.IPPROTO_TCP
    return (
        sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        and sock.getsockopt(tcp, socket.TCP_KEEPIDLE) == peers.IDLE_S
        and sock.getsockopt(tcp, socket.TCP_KEEPINTVL) == peers.INTERVAL_S
        and sock.getsockopt(tcp, socket.TCP_USER_TIMEOUT) == peers.UNACKNOWLEDGED_MS
    )


async def test_clients_are_watched() -> None:
    loop = asyncio.get_running_loop()
    with (
        open_listener("127.0.0.1:0") as listener,
        socket.create_connection(listener.getsockname()),
    ):
        client, _ = await loop.sock_accept(listener)
        with client:
            assert is_watched(client)


async def test_engines_are_watched() -> None:
    async with ScriptedEngine() as engine:
        row = SharedRows.create(1).rows[0]
        link = EngineLink(EngineSpec(name="e", url=engine.url), row, 0, BreakerSpec())
        connection = UpstreamConnection(link.door)
        await link.connect(lambda: connection)
        assert is_watched(connection.transport.get_extra_info("socket"))
        connection.close()


@pytest.mark.parametrize(
    ("peername", "address"),
    [
        (("10.0.0.1", 80), "10.0.0.1"),
        (("::ffff:10.0.0.1", 80, 0, 0), "10.0.0.1"),
        (("fe80::1%eth0", 80, 0, 0), "fe80::1%eth0"),
        (("::1", 80, 0, 0), "::1"),
        ("", "unix"),
        (None, "unix"),
    ],
)
def test_a_client_of_ipv4_has_its_own_address_on_a_listener_of_both(
    peername: object, address: str
) -> None:
    assert peer_address(peername) == address
