"""Engines whose address is the gateway's own: requests would come back to it for ever."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from proa.config.document import KeyPath
from proa.control.settings import ControlSettings

_EVERY_ADDRESS = ("0.0.0.0", "[::]")
_HERE = ("127.0.0.1", "[::1]", "localhost")


def leads_back(url: str, listen: str) -> bool:
    """Whether a request to `url` surely arrives at `listen`; other names of a host may, too."""
    if listen.startswith("unix:") or url.startswith("unix:"):
        return listen == url
    with suppress(ValueError):
        parts = urlsplit(url)
        host, _, port = listen.rpartition(":")
        asked_port = parts.port or (443 if parts.scheme == "https" else 80)
        asked_host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        hosts = (*_HERE, *_EVERY_ADDRESS) if host in _EVERY_ADDRESS else (host.lower(),)
        return asked_host in hosts and str(asked_port) == port
    return False


def loop_faults(data: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Engines at an address of ours, as `checks` tells them.

    The gateway's default address is passed over: sockets that systemd hands over stand
    in its place.
    """
    own = {
        "gateway.listen": _listen(data, "gateway"),
        "control.listen": _listen(data, "control") or ControlSettings().listen,
    }
    entries = data.get("engines")
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        url = entry.get("url") if isinstance(entry, dict) else None
        for key, listen in own.items():
            if isinstance(url, str) and isinstance(listen, str) and leads_back(url, listen):
                yield ("engines", index, "url"), f"another address than {key}, proa's own"


def _listen(data: Mapping[str, Any], table: str) -> object:
    given = data.get(table)
    return given.get("listen") if isinstance(given, dict) else None
