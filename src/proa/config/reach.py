"""Where engines may be: `[control] engine_networks` against the addresses that engines have."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from proa.config.document import Document, KeyPath
from proa.config.faults import Fault, shown_value
from proa.domain.reach import Reach

_PLACES = ("url", "metrics_url", "kv_events")
_LIST = "[control] engine_networks"


class Grounds:
    """What `engine_networks` says: of engines in the file, and of those that come at runtime.

    Without the list, engines of the file may be anywhere but where no engine is; those of
    discovery, too; those of the admin API have no unix sockets besides.
    """

    def __init__(self, listed: Sequence[str] = ()) -> None:
        networks = tuple(entry for entry in listed if not entry.startswith("unix:"))
        self.file = Reach(networks=networks)
        self.runtime = Reach(networks=networks, only=bool(listed))
        self._directories = tuple(
            entry.removeprefix("unix:") for entry in listed if entry not in networks
        )
        self._is_listed = bool(listed)

    def allows_socket(self, path: str, *, by_api: bool) -> bool:
        """Whether an engine that comes at runtime may have this unix socket."""
        if not self._is_listed:
            return not by_api
        return any(path.rpartition("/")[0] == directory for directory in self._directories)


NO_LIST = Grounds()


def file_faults(document: Document, grounds: Grounds) -> list[Fault]:
    """Engines of proa.toml that are where no engine is."""
    entries = document.data.get("engines")
    return [
        fault
        for index, entry in enumerate(entries if isinstance(entries, list) else [])
        if isinstance(entry, dict)
        for fault in _address_faults(document, ("engines", index), entry, grounds.file)
    ]


def runtime_faults(document: Document, grounds: Grounds, *, by_api: bool) -> list[Fault]:
    """Addresses of an engine that comes at runtime and may not be there."""
    faults = list(_address_faults(document, (), document.data, grounds.runtime))
    for key, value in _texts(document.data):
        scheme, _, path = value.partition(":")
        path = path.removeprefix("//")
        if scheme in ("unix", "ipc") and not grounds.allows_socket(path, by_api=by_api):
            accepted = f'HOST:PORT, or a socket whose directory {_LIST} has as "unix:/DIRECTORY"'
            problem = "is not for engines added at runtime"
            faults.append(
                document.fault((key,), accepted, shown=shown_value(value), problem=problem)
            )
    return faults


def _address_faults(
    document: Document, path: KeyPath, entry: Mapping[str, Any], reach: Reach
) -> Iterator[Fault]:
    for key, value in _texts(entry):
        refused = _refusal(value, reach)
        if refused:
            yield document.fault(
                (*path, key),
                f"accepted are other addresses, and those of networks in {_LIST}",
                shown=shown_value(value),
                problem=f"is refused ({refused})",
            )


def _texts(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(key, entry[key]) for key in _PLACES if isinstance(entry.get(key), str)]


def _refusal(url: str, reach: Reach) -> str:
    """Why the address in a URL is refused; names are asked when they are connected to."""
    try:
        host = urlsplit(url).hostname or ""
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return ""
    return reach.refusal(host)
