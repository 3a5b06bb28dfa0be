"""What is measured: an address with its model, path, headers and key."""

import base64
import ssl
from collections.abc import Iterable
from urllib.parse import SplitResult, urlsplit

import msgspec

from proa.errors import FieldError

CHAT_PATH = "/v1/chat/completions"
_ACCEPTED = "an http or https address, as http://10.0.0.10:8000"


class TargetSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One endpoint.

    `path` ends with /chat/completions or /completions. `api_key` is never printed.
    `extra` are further fields of every request's body. `metrics_url` is the engine's own
    address where the target is a gateway; empty asks the target itself.
    """

    name: str
    url: str
    model: str = ""
    path: str = CHAT_PATH
    headers: dict[str, str] = {}
    api_key: str = ""
    extra: dict[str, msgspec.Raw] = {}
    metrics_url: str = ""
    ca_file: str = ""
    verify_tls: bool = True

    @property
    def is_chat(self) -> bool:
        return self.path.rstrip("/").endswith("/chat/completions")


class Address(msgspec.Struct, frozen=True):
    """Where to connect to; `prefix` goes before every path."""

    host: str
    port: int
    is_tls: bool
    prefix: str
    authority: str


def address_of(url: str) -> Address:
    """Raises FieldError: no http or https address. A `/v1` at its end is left out."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise FieldError("target", url, _ACCEPTED) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise FieldError("target", _without_key(url, parts), _ACCEPTED)
    is_tls = parts.scheme == "https"
    authority = parts.netloc.rpartition("@")[2]
    prefix = parts.path.rstrip("/").removesuffix("/v1")
    return Address(parts.hostname, port or (443 if is_tls else 80), is_tls, prefix, authority)


def shown_address(target: TargetSpec) -> str:
    """The address without a password in it."""
    address = address_of(target.url)
    return f"{'https' if address.is_tls else 'http'}://{address.authority}{address.prefix}"


def any_tls(targets: Iterable[TargetSpec]) -> bool:
    """Whether one of them is reached by https."""
    return any(address_of(target.url).is_tls for target in targets)


def tls_context(target: TargetSpec) -> ssl.SSLContext | None:
    """None for plain http."""
    if not address_of(target.url).is_tls:
        return None
    context = ssl.create_default_context(cafile=target.ca_file or None)
    if not target.verify_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def post_head(target: TargetSpec) -> bytes:
    """The request's head up to the value of Content-Length.

    Raises:
        FieldError: a header that is none, or one that the bench writes itself.
    """
    address = address_of(target.url)
    lines = [f"POST {address.prefix}{target.path} HTTP/1.1", f"Host: {address.authority}"]
    lines += ["Content-Type: application/json", "Accept: text/event-stream"]
    lines += _header_lines(target)
    return "\r\n".join((*lines, "Content-Length: ")).encode("utf-8")


def get_head(target: TargetSpec, path: str) -> bytes:
    """A whole GET request for a path of the target's server, at its root."""
    address = address_of(target.url)
    lines = [f"GET {path} HTTP/1.1", f"Host: {address.authority}", *_header_lines(target)]
    return "\r\n".join((*lines, "", "")).encode("utf-8")


def _header_lines(target: TargetSpec) -> list[str]:
    named = {name.lower() for name in target.headers}
    for name, value in target.headers.items():
        own = name.lower() in ("host", "content-length", "transfer-encoding", "connection")
        if own or not name or any(c in name + value for c in "\r\n\0") or ":" in name:
            raise FieldError("header", name, "a name that is no framing header, and one line")
    lines = [f"{name}: {value}" for name, value in target.headers.items()]
    parts = urlsplit(target.url)
    if target.api_key and "authorization" not in named:
        lines.append(f"Authorization: Bearer {target.api_key}")
    elif parts.username and "authorization" not in named:
        pair = f"{parts.username}:{parts.password or ''}".encode()
        lines.append(f"Authorization: Basic {base64.b64encode(pair).decode()}")
    return lines


def _without_key(url: str, parts: SplitResult) -> str:
    return url.replace(parts.netloc, parts.netloc.rpartition("@")[2]) if "@" in url else url
