"""The door to one engine: a probe goes out, a reply or a silence comes back."""

import asyncio
import errno
import ssl
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import httpx
import msgspec

from proa.domain.fleet import EngineSpec
from proa.engines.base import Health
from proa.engines.http_transport import HttpTransport
from proa.engines.sources import Probe, Reply
from proa.engines.tls import tls_reason

PROBE_TIMEOUT_S = 1.0
MAX_REPLY_BYTES = 8_388_608
_CERTAIN = {
    errno.ECONNREFUSED,
    errno.ECONNRESET,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.ENOENT,
    errno.EPIPE,
}


class Silence(msgspec.Struct, frozen=True):
    """No usable reply: how bad that is, and why, for a person."""

    health: Health
    detail: str


class EngineProbe:
    """Asks one engine over its own connections, which no other engine can hold up.

    Each question has its own whole timeout and a limit to the reply's size; nothing
    of the environment (proxies, netrc) is used, and redirects are not followed.
    """

    def __init__(self, spec: EngineSpec, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._base = "http://localhost" if spec.url.startswith("unix:") else spec.url
        self._headers = {
            "host": urlsplit(self._base).netloc,
            "accept": "*/*",
            "accept-encoding": "identity",
            "user-agent": "proa",
        }
        if spec.api_key:
            self._headers["authorization"] = f"Bearer {spec.api_key}"
        self._transport = transport or HttpTransport(spec, max_body_bytes=MAX_REPLY_BYTES)

    async def ask(self, probe: Probe) -> Reply | Silence:
        """Send a probe; a connection that died is tried again once, on a new one."""
        try:
            return await self._ask_once(probe)
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
            pass  # likely a kept connection that the engine had closed
        except (httpx.HTTPError, TimeoutError, ValueError) as error:
            return _silence(error)
        try:
            return await self._ask_once(probe)
        except (httpx.HTTPError, TimeoutError, ValueError) as error:
            return _silence(error)

    def take(self, spec: EngineSpec) -> None:
        """Ask the same engine with other TLS from now on."""
        if isinstance(self._transport, HttpTransport):
            self._transport.take(spec)

    async def close(self) -> None:
        """Close all connections to the engine."""
        await self._transport.aclose()

    async def _ask_once(self, probe: Probe) -> Reply | Silence:
        headers = self._headers
        if probe.body:
            headers = headers | {"content-type": "application/json"}
        request = httpx.Request(
            probe.method, self._base + probe.path, headers=headers, content=probe.body or None
        )
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            response = await self._transport.handle_async_request(request)
            try:
                return await _read(response)
            finally:
                await response.aclose()


Connect = Callable[[EngineSpec], EngineProbe]


async def _read(response: httpx.Response) -> Reply | Silence:
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > MAX_REPLY_BYTES:
            return Silence(Health.MISSED, f"reply over {MAX_REPLY_BYTES} bytes")
    return Reply(response.status_code, bytes(body))


def _silence(error: Exception) -> Silence:
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return Silence(Health.MISSED, f"no answer within {PROBE_TIMEOUT_S:g} s")
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLError):
            return Silence(Health.DOWN, tls_reason(cause))
        if isinstance(cause, PermissionError) and cause.errno is None:  # the door's own word
            return Silence(Health.DOWN, str(cause))
    codes = {cause.errno for cause in _causes(error) if isinstance(cause, OSError) and cause.errno}
    if codes and codes <= _CERTAIN:
        return Silence(Health.DOWN, " and ".join(sorted(_reason(code) for code in codes)))
    if isinstance(error, httpx.ReadError | httpx.WriteError | httpx.RemoteProtocolError):
        return Silence(Health.DOWN, "connection closed without an answer")
    return Silence(Health.MISSED, str(error) or type(error).__name__)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, what it was raised from, and all of that, through exception groups."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _causes(inner)
        return
    yield error
    cause = error.__cause__ or error.__context__
    if cause is not None:
        yield from _causes(cause)


def _reason(code: int) -> str:
    return errno.errorcode.get(code, str(code))
