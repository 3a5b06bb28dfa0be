"""Engines behind a name of the DNS: address records, or SRV records with their ports."""

import asyncio
import socket
from typing import Any

from proa.domain.discovery import DiscoverySpec, FoundEngine
from proa.errors import InputError, UpstreamError

_NOT_THERE = "."  # the target by which a domain says that it has no such service


class DnsAddresses:
    """Every address of one name is an engine at the same port.

    The system's own resolver is asked, with its hosts file and search list.
    """

    def __init__(self, spec: DiscoverySpec) -> None:
        self._scheme = spec.scheme
        self._host, _, port = spec.address.rpartition(":")
        self._port = int(port)

    async def look(self) -> tuple[FoundEngine, ...]:
        """Raises:
        UpstreamError: the name has no address, or no server answers.
        """
        loop = asyncio.get_running_loop()
        try:
            known = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UpstreamError(f"{self._host} is not resolved: {reason}") from error
        hosts = sorted({str(entry[4][0]) for entry in known})
        return tuple(found(self._scheme, host, self._port) for host in hosts)


class SrvRecords:
    """Every target of a service's SRV records (RFC 2782) of the best priority.

    The record's weight becomes the engine's, 0 leaves it at its default.
    """

    def __init__(self, spec: DiscoverySpec, resolver: Any = None) -> None:
        self._scheme = spec.scheme
        self._name = spec.address
        self._resolver = resolver or _resolver()

    async def look(self) -> tuple[FoundEngine, ...]:
        """Raises:
        UpstreamError: there is no such record, or no server answers.
        """
        from dns.exception import DNSException

        try:
            answer = list(await self._resolver.resolve(self._name, "SRV", search=True))
        except (DNSException, OSError) as error:
            raise UpstreamError(f"{self._name}: {str(error) or type(error).__name__}") from error
        best = min(record.priority for record in answer)
        targets = {
            (record.target.to_text(omit_final_dot=True), record.port): float(record.weight)
            for record in answer
            if record.priority == best
        }
        there = sorted(item for item in targets.items() if item[0][0] != _NOT_THERE)
        return tuple(
            found(self._scheme, host, port, **({"weight": weight} if weight else {}))
            for (host, port), weight in there
        )


def _resolver() -> Any:
    try:
        from dns.asyncresolver import Resolver
    except ImportError as error:
        raise InputError(
            'record = "srv" needs dnspython: install proa with its extra "dns"'
        ) from error
    from dns.exception import DNSException

    try:
        return Resolver()
    except (DNSException, OSError) as error:
        raise InputError(f"no DNS server is configured on this machine: {error}") from error


def found(scheme: str, host: str, port: int, **options: Any) -> FoundEngine:
    """An engine at a host and port; `%` and brackets of IPv6 as addresses need them."""
    authority = f"[{host}]" if ":" in host else host
    return FoundEngine(url=f"{scheme}://{authority}:{port}", options=options)
