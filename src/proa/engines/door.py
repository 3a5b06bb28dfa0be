"""The way to one engine: its address, its TLS, and a look at where a name leads."""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit

from proa.domain.fleet import EngineSpec
from proa.domain.reach import Reach
from proa.engines.tls import client_context

P = TypeVar("P", bound=asyncio.Protocol)


class EngineDoor:
    """Connections to where `spec.url` leads; nothing of the environment (proxies) is used.

    A name is resolved for each connection, and if one of its addresses is none of an
    engine (`spec.reach`), nothing is connected. `key` tells doors apart that lead elsewhere.
    """

    def __init__(self, spec: EngineSpec) -> None:
        self.key = door_key(spec)
        parts = urlsplit(spec.url)
        self.unix_path = spec.url.removeprefix("unix:") if parts.scheme == "unix" else None
        self.authority = "localhost" if self.unix_path is not None else parts.netloc
        self.path_prefix = "" if self.unix_path is not None else parts.path.rstrip("/")
        self._host = parts.hostname or "localhost"
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._reach = spec.reach
        self._is_address = _is_address(self._host)
        self._ssl: ssl.SSLContext | None = None
        self._fault: OSError | None = None
        if self._is_address and self.unix_path is None:
            self._fault = _fault(spec.reach, self._host, self._host)
        if parts.scheme == "https" and self._fault is None:
            try:
                self._ssl = client_context(spec.tls)
            except OSError as error:  # told at each connection: a reload may mend it
                self._fault = error

    async def connect(self, factory: Callable[[], P]) -> tuple[asyncio.BaseTransport, P]:
        """A new connection.

        Raises:
            OSError: refused, unreachable, not resolved or not allowed, or TLS failed.
        """
        if self._fault is not None:
            raise self._fault.with_traceback(None)
        loop = asyncio.get_running_loop()
        if self.unix_path is not None:
            return await loop.create_unix_connection(factory, self.unix_path)
        if self._is_address:
            return await self._connect(factory, self._host)
        hosts = await _looked_up(self._reach, self._host, self._port)
        return await self._connect_to_one(factory, hosts)

    async def _connect_to_one(
        self, factory: Callable[[], P], hosts: list[str]
    ) -> tuple[asyncio.BaseTransport, P]:
        errors: list[OSError] = []
        for host in hosts:
            try:
                return await self._connect(factory, host)
            except ssl.SSLError:
                raise
            except OSError as error:
                errors.append(error)
        try:
            if len(errors) == 1:
                raise errors[0]
            told = "; ".join(str(error) for error in errors)
            raise OSError(told or f"{self._host} has no address")
        finally:
            errors.clear()  # their tracebacks lead back here

    async def _connect(
        self, factory: Callable[[], P], host: str
    ) -> tuple[asyncio.BaseTransport, P]:
        name = self._host if self._ssl is not None else None
        loop = asyncio.get_running_loop()
        return await loop.create_connection(
            factory, host, self._port, ssl=self._ssl, server_hostname=name
        )


async def check_feed(spec: EngineSpec) -> None:
    """Look at where the name in `spec.kv_events` leads, before ZeroMQ connects by itself.

    Raises:
        OSError: not resolved, or not allowed.
    """
    scheme, _, place = spec.kv_events.partition("://")
    if scheme == "tcp":
        host, _, port = place.rpartition(":")
        await _looked_up(spec.reach, host.strip("[]"), port)


async def _looked_up(reach: Reach, host: str, port: int | str) -> list[str]:
    """All addresses of a name; one that is not allowed spoils the others."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    for address in addresses:
        if (fault := _fault(reach, address, host)) is not None:
            raise fault
    return addresses


def _fault(reach: Reach, address: str, host: str) -> PermissionError | None:
    refused = reach.refusal(address)
    if not refused:
        return None
    where = "" if address == host else f"{host}: "
    return PermissionError(f"not connected: {where}{refused}")


def door_key(spec: EngineSpec) -> tuple[object, ...]:
    """Equal for two specifications whose connections are as good as each other's."""
    return (spec.url, spec.tls, spec.reach)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
