"""Where an engine may be: addresses that belong to no engine, and what `engine_networks` says.

Not modelled: names. What they lead to is asked when a connection is made.
"""

import ipaddress
from functools import lru_cache

import msgspec

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Networks = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]

_METADATA = "an address of a cloud's metadata service"
_NEVER = tuple(
    (ipaddress.ip_network(network), what)
    for network, what in (
        ("169.254.0.0/16", "a link-local address"),
        ("fe80::/10", "a link-local address"),
        ("0.0.0.0/8", "no address of a host"),
        ("::/128", "no address of a host"),
        ("224.0.0.0/4", "a multicast address"),
        ("ff00::/8", "a multicast address"),
        ("240.0.0.0/4", "a reserved address"),
        ("100.100.100.200/32", _METADATA),
        ("168.63.129.16/32", _METADATA),
        ("192.0.0.192/32", _METADATA),
        ("fd00:ec2::254/128", _METADATA),
        ("fd20:ce::254/128", _METADATA),
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052
_COMPATIBLE = ipaddress.IPv6Network("::/96")  # RFC 4291 section 2.5.5.1
_SMALLEST_COMPATIBLE = 2**16  # ::1 and the like are addresses of their own


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """`networks` are allowed whatever is in them; with `only` nothing else is."""

    networks: tuple[str, ...] = ()
    only: bool = False

    def refusal(self, address: str) -> str:
        """Why no engine may be at this IP address; empty where one may.

        Raises:
            ValueError: it is no IP address.
        """
        here = ipaddress.ip_address(address.partition("%")[0])
        carried = _carried(here)
        allowed = _parsed(self.networks)
        if all(any(one in network for network in allowed) for one in carried or (here,)):
            return ""
        for one in (here, *carried):
            for network, what in _NEVER:
                if one in network:
                    return f"{address} is {what}"
        return f"{address} is in none of [control] engine_networks" if self.only else ""


ANYWHERE = Reach()


@lru_cache(maxsize=64)
def _parsed(networks: tuple[str, ...]) -> _Networks:
    return tuple(ipaddress.ip_network(network) for network in networks)


def _carried(address: _Address) -> tuple[ipaddress.IPv4Address, ...]:
    """IPv4 addresses to which an IPv6 one may lead."""
    if isinstance(address, ipaddress.IPv4Address):
        return ()
    if address.teredo is not None:
        return (address.teredo[1],)
    low = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    is_compatible = address in _COMPATIBLE and int(address) >= _SMALLEST_COMPATIBLE
    if address.ipv4_mapped is not None or address in _NAT64 or is_compatible:
        return (low,)
    return () if address.sixtofour is None else (address.sixtofour,)
