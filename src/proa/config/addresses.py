"""Addresses in the configuration: what is accepted, and which are reached from outside.

The checks return the value that they accept, and raise ValueError with what would be
accepted, as pydantic's validators do.
"""

import ipaddress
import re
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

LISTEN_FORMS = 'HOST:PORT, "[::]:8080" for IPv6, or "unix:/absolute/path"'
URL_FORMS = "http://HOST:PORT, https://HOST:PORT or unix:/absolute/path"
_HOST = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9_-]{1,63}(?<!-))*\.?")
_NUMERIC_END = re.compile(r"(^|\.)([0-9]+|0[xX][0-9a-fA-F]*)\.?$")
_BASE_PATH = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)*")
_PORT = re.compile(r"[0-9]{1,5}")
_LONGEST_SOCKET_PATH = 107  # sun_path of Linux less its NUL, unix(7)
_LONGEST_HOST = 253


def listen_address(value: str) -> str:
    """An address to listen on: port 0 lets the system choose."""
    if value.startswith("unix:"):
        _check_socket_path(value.removeprefix("unix:"))
        return value
    host, colon, port = value.rpartition(":")
    if not colon or not _is_port(port, least=0):
        raise ValueError(LISTEN_FORMS)
    if not host:
        raise ValueError(f'{LISTEN_FORMS}; for every address "0.0.0.0:{port}" or "[::]:{port}"')
    if not _is_host(host):
        raise ValueError(LISTEN_FORMS)
    return value


def engine_url(value: str) -> str:
    """An engine's address, without its trailing slash."""
    if value.startswith("unix:"):
        _check_socket_path(value.removeprefix("unix:"))
        return value
    parts = _split(value)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError(URL_FORMS)
    if "@" in parts.netloc:
        raise ValueError(f"{URL_FORMS}, without user and password; a key goes to api_key_env")
    path = parts.path.rstrip("/")
    if not _BASE_PATH.fullmatch(path) or "?" in value or "#" in value:
        raise ValueError(f"{URL_FORMS}, with no more than a plain path before the client's own")
    if path.endswith("/v1"):
        raise ValueError(f"{URL_FORMS}, without /v1: the client's path, which has it, is sent on")
    _check_authority(parts.netloc)
    return f"{parts.scheme}://{parts.netloc}{path}"


def metrics_url(value: str) -> str:
    """Where an engine's metrics are, or nothing for its own address."""
    if not value:
        return value
    forms = 'http://HOST:PORT/metrics or https://HOST:PORT/metrics, or "" for the engine\'s own'
    parts = _split(value)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.fragment:
        raise ValueError(forms)
    if "@" in parts.netloc:
        raise ValueError(f"{forms}, without user and password")
    _check_authority(parts.netloc)
    return value


def kv_events_address(value: str) -> str:
    """Where ZeroMQ publishes an engine's KV events, or nothing."""
    forms = 'tcp://HOST:PORT or ipc:///absolute/path, or "" for none'
    scheme, _, place = value.partition("://")
    host, _, port = place.rpartition(":")
    if scheme == "ipc":
        is_good = _is_socket_path(place)
    else:
        is_good = scheme == "tcp" and _is_host(host) and _is_port(port, least=1)
    if value and not is_good:
        hint = "; the engine binds *, proa needs its address" if host == "*" else ""
        raise ValueError(forms + hint)
    return value


def is_public(listen: str) -> bool:
    """Whether others than this machine's own programs may reach an address.

    Host names but `localhost` count as public: what they resolve to may change.
    """
    if listen.startswith("unix:"):
        return False
    host = listen.rpartition(":")[0].strip("[]")
    try:
        address = ipaddress.ip_address(host)
        mapped = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None
        return mapped or not address.is_loopback  # Pythons differ on mapped addresses
    except ValueError:
        return host.lower() != "localhost"


def origin(value: str) -> str:
    """An origin of CORS, as browsers send it (RFC 6454), or `*` for all."""
    if value == "*":
        return value
    parts = _split(value)
    if parts.scheme not in ("http", "https") or f"{parts.scheme}://{parts.netloc}" != value:
        raise ValueError('"*" or an origin such as "https://app.example.com", without a path')
    _check_authority(parts.netloc)
    return value


def network(value: str) -> str:
    """An IP address or a network of them."""
    try:
        return str(ipaddress.ip_network(value))
    except ValueError:
        raise ValueError(_network_hint(value)) from None


def engine_network(value: str) -> str:
    """A network where engines may be, or `unix:` and the directory of their sockets."""
    if not value.startswith("unix:"):
        return network(value)
    if not _is_socket_path(value.removeprefix("unix:")):
        raise ValueError('a network such as "10.0.0.0/8", or "unix:/absolute/directory"')
    return value


def _network_hint(value: str) -> str:
    forms = 'an IP address or a network such as "10.0.0.0/8"'
    try:
        return f'{forms}; did you mean "{ipaddress.ip_network(value, strict=False)}"?'
    except ValueError:
        return forms


def _split(value: str) -> SplitResult:
    # urlsplit drops tabs and line ends, and folds other scripts: none may get there.
    if value.isascii() and value.isprintable() and " " not in value and "\\" not in value:
        with suppress(ValueError):
            return urlsplit(value)
    raise ValueError(URL_FORMS)


def _check_authority(authority: str) -> None:
    is_host_alone = ":" not in authority or authority.endswith("]")
    host, _, port = (authority, "", "") if is_host_alone else authority.rpartition(":")
    if _NUMERIC_END.search(host) and not _is_host(host):
        raise ValueError(f"{URL_FORMS}; an IPv4 address is four decimal numbers")
    if host.startswith("[") and _is_host(host) and _is_mapped(host):
        raise ValueError(f"{URL_FORMS}; write the IPv4 address itself")
    if not _is_host(host) or not (is_host_alone or _is_port(port, least=1)):
        raise ValueError(URL_FORMS)


def _is_port(text: str, *, least: int) -> bool:
    return _PORT.fullmatch(text) is not None and least <= int(text) <= 65_535


def _is_host(text: str) -> bool:
    if text.startswith("[") and text.endswith("]"):
        return _is_ip(text[1:-1], ipaddress.IPv6Address)
    if _NUMERIC_END.search(text):  # getaddrinfo(3) takes such names for addresses
        return _is_ip(text, ipaddress.IPv4Address)
    return len(text) <= _LONGEST_HOST and _HOST.fullmatch(text) is not None


def _is_ip(text: str, family: type[ipaddress.IPv4Address] | type[ipaddress.IPv6Address]) -> bool:
    try:
        family(text)
    except ValueError:
        return False
    return text.isascii() and text.isprintable() and " " not in text


def _is_mapped(text: str) -> bool:
    return ipaddress.IPv6Address(text[1:-1].partition("%")[0]).ipv4_mapped is not None


def _check_socket_path(path: str) -> None:
    if not _is_socket_path(path):
        raise ValueError(
            f'"unix:/absolute/path" of at most {_LONGEST_SOCKET_PATH} bytes, without ".."'
        )


def _is_socket_path(path: str) -> bool:
    return (
        path.startswith("/")
        and not path.endswith("/")
        and "//" not in path
        and path.isprintable()
        and ".." not in path.split("/")
        and len(path.encode()) <= _LONGEST_SOCKET_PATH
    )
