"""Who may read the control plane's pages."""

import hashlib
import hmac
import ipaddress
import time
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from proa.control.settings import ControlSettings
from proa.errors import api_error

_NO_ADMIN = 'this key is no admin key: it has no role = "admin" in the keys\' file'


def refusal(request: Request, settings: ControlSettings) -> Response | None:
    """The answer to a request that may not pass, None for one that may.

    With admin keys, everybody needs one; other keys are known and do not do. Without,
    only this machine's own programs pass, and only under a local name: a web page that
    made its own name point here does not get in. `--insecure` lets everybody in.
    """
    if settings.keys:
        key = _credential(request)
        if settings.admits(key, time.time()):
            return None
        if settings.knows(key):
            return _error(403, _NO_ADMIN)
        what = "is needed" if not key else "is needed, and this key is not known"
        return _error(401, f"an admin key {what}: send Authorization: Bearer KEY or x-api-key: KEY")
    if settings.insecure or _is_local(request):
        return None
    return _error(403, "without an admin key only this machine may read this; add one to the keys")


def who(request: Request, settings: ControlSettings) -> str:
    """Whom an action is charged to: the name of the admin key, else where it came from."""
    digest = hashlib.sha256(_credential(request).encode()).digest()
    names = [key.name for key in settings.keys if hmac.compare_digest(key.digest, digest)]
    if names:
        return f"key {names[0]}"
    client = request.client
    return client.host if client is not None and client.host else "unix socket"


def _credential(request: Request) -> str:
    """The key that a request carries, empty for none; read as the gateway reads it."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token.strip()
    return request.headers.get("x-api-key", "")


def _is_local(request: Request) -> bool:
    if request.client is None or not request.client.host:  # a unix socket
        return True
    return _is_loopback(request.client.host) and _is_local_name(request.url.hostname or "")


def _is_local_name(host: str) -> bool:
    return host.lower().rstrip(".") == "localhost" or _is_loopback(host)


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        return (mapped or address).is_loopback
    return False


def _error(status: int, message: str) -> Response:
    row = api_error(status)
    error = {"message": message, "type": row.type, "param": None, "code": row.code}
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"error": error}, status, headers)
