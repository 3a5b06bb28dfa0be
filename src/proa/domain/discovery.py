"""Where engines are looked for (`DiscoverySpec`), and what is found there (`FoundEngine`)."""

from enum import StrEnum
from typing import Any

import msgspec

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


class DiscoveryKind(StrEnum):
    """What is asked for engines."""

    DNS = "dns"
    FILE = "file"
    KUBERNETES = "kubernetes"


class DiscoverySpec(msgspec.Struct, frozen=True, kw_only=True):
    """One `[[discovery]]` entry.

    `engine` are the options of `[[engines]]` that each found engine gets. An empty
    `namespace` is that of the gateway's own pod, an empty `port` the only one.
    """

    name: str
    kind: DiscoveryKind
    interval_s: float = 10.0
    scheme: str = "http"
    address: str = ""
    record: str = "a"
    path: str = ""
    selector: str = ""
    namespace: str = ""
    port: str = ""
    api_url: str = "https://kubernetes.default.svc"
    token_file: str = f"{SERVICE_ACCOUNT}/token"
    ca_file: str = f"{SERVICE_ACCOUNT}/ca.crt"
    engine: dict[str, Any] = {}


class FoundEngine(msgspec.Struct, frozen=True, kw_only=True):
    """An engine that a source names; `options` are what it says of it, keys as in proa.toml."""

    url: str
    name: str = ""
    options: dict[str, Any] = {}

    def entry(self, spec: DiscoverySpec) -> dict[str, Any]:
        """The engine as `[[engines]]` would have it: the source's own word goes first."""
        own = self.name or address_name(self.url)
        return spec.engine | self.options | {"name": f"{spec.name}-{own}", "url": self.url}


def address_name(url: str) -> str:
    """An address as part of a name: `http://10.0.0.5:8000` gives `10.0.0.5-8000`."""
    plain = url.partition("://")[2] or url.removeprefix("unix:")
    word = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in plain)
    return word.strip("-")
