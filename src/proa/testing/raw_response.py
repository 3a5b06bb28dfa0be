"""Responses as a raw client reads them, and requests as it writes them."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

STATUS_LINE = re.compile(rb"HTTP/1\.([01]) (\d{3}) ?(.*)")
HEADER_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*(.*?)[ \t]*")


class WireError(AssertionError):
    """The other side broke HTTP/1.1 framing, or ended too early."""


@dataclass(frozen=True, slots=True)
class RawHead:
    """A response head; `headers` keeps order, case and repetition."""

    raw: bytes
    http_version: str
    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]

    def header(self, name: str) -> str | None:
        """The value of a header that is there once; None when it is not there."""
        values = self.header_values(name)
        if len(values) > 1:
            raise WireError(f"{name} is there {len(values)} times")
        return values[0] if values else None

    def header_values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]

    @property
    def is_chunked(self) -> bool:
        return self.header("transfer-encoding") == "chunked"

    @property
    def content_length(self) -> int | None:
        value = self.header("content-length")
        return None if value is None else int(value)

    def has_body(self, method: str) -> bool:
        """RFC 9112 section 6.3: not after HEAD, 1xx, 204 and 304."""
        return method != "HEAD" and self.status >= 200 and self.status not in (204, 304)


@dataclass(frozen=True, slots=True)
class RawBody:
    """`data` without framing; `chunks` are the chunks' data when the body was chunked."""

    data: bytes
    chunks: tuple[bytes, ...] = ()
    trailers: tuple[tuple[str, str], ...] = ()
    complete: bool = True

    def json(self) -> object:
        value: object = json.loads(self.data)
        return value


@dataclass(frozen=True, slots=True)
class RawResponse:
    """A final response and the interim ones (1xx) that came before it."""

    head: RawHead
    body: RawBody
    interim: tuple[RawHead, ...] = ()

    @property
    def status(self) -> int:
        return self.head.status

    def header(self, name: str) -> str | None:
        return self.head.header(name)


def parse_head(raw: bytes) -> RawHead:
    """Raises `WireError` on anything that RFC 9112 does not allow in a response head."""
    status_line, *lines = raw.removesuffix(b"\r\n\r\n").split(b"\r\n")
    match = STATUS_LINE.fullmatch(status_line)
    if match is None:
        raise WireError(f"bad status line {status_line!r}")
    headers = []
    for line in lines:
        found = HEADER_LINE.fullmatch(line)
        if found is None:
            raise WireError(f"bad header line {line!r}")
        headers.append((found[1].decode("latin-1"), found[2].decode("latin-1")))
    head = RawHead(raw, f"1.{match[1].decode()}", int(match[2]), match[3].decode(), tuple(headers))
    if head.header_values("transfer-encoding") and head.header_values("content-length"):
        raise WireError("transfer-encoding and content-length in one head")
    return head


def request_bytes(
    target: str,
    body: bytes = b"",
    *,
    method: str = "POST",
    headers: Sequence[tuple[str, str]] = (),
    chunks: Sequence[bytes] | None = None,
    host: str | None = "gateway.test",
) -> bytes:
    """A request with a counted body, or a chunked one when `chunks` are given.

    GET, HEAD and OPTIONS without a body get no content-length.
    """
    lines = [f"{method} {target} HTTP/1.1"]
    if host is not None:
        lines.append(f"host: {host}")
    lines += [f"{name}: {value}" for name, value in headers]
    if chunks is not None:
        lines.append("transfer-encoding: chunked")
        body = b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in (*chunks, b""))
    elif body or method not in ("GET", "HEAD", "OPTIONS"):
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join((*lines, "", "")).encode("latin-1") + body


def json_request(
    value: object,
    target: str = "/v1/chat/completions",
    *,
    headers: Sequence[tuple[str, str]] = (),
) -> bytes:
    """A POST of `value` as JSON."""
    fields = (("content-type", "application/json"), *headers)
    return request_bytes(target, json.dumps(value).encode(), headers=fields)
