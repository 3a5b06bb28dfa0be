"""One look at a health address, and waiting for it."""

import asyncio
from collections.abc import Callable
from urllib.parse import urlsplit

POLL_S = 0.05
PROBE_TIMEOUT_S = 1.0


async def probe_status(url: str, *, timeout_s: float = PROBE_TIMEOUT_S) -> int | None:
    """The status that GET `url` (http) gets; None when there is no answer in time."""
    parts = urlsplit(url)
    request = (
        f"GET {parts.path or '/'} HTTP/1.1\r\nhost: {parts.netloc}\r\nconnection: close\r\n\r\n"
    )
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
            try:
                writer.write(request.encode())
                status_line = await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return None
    words = status_line.split()
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else None


async def wait_status_200(
    url: str, *, timeout_s: float, given_up: Callable[[], bool] = lambda: False
) -> bool:
    """Ask until the answer is 200; false when time ran out or `given_up` says so."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    while not given_up():
        left = deadline - loop.time()
        if left <= 0:
            return False
        if await probe_status(url, timeout_s=min(left, PROBE_TIMEOUT_S)) == 200:
            return True
        await asyncio.sleep(min(left, POLL_S))
    return False
