"""`proa serve` as a process of its own, for tests."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

_WITHIN_S = 30


class Serving:
    """Up while the context is open; `line` waits for a line of its JSON log."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
        launcher: Sequence[str] = (),
    ) -> None:
        self._command = [*launcher, sys.executable, "-m", "proa", "serve", *arguments]
        self._environment = os.environ | (environment or {})
        self._pass_fds = tuple(pass_fds)
        self._process: asyncio.subprocess.Process
        self.welcome = ""

    @property
    def url(self) -> str:
        """The gateway's address."""
        return self._told(r"gateway on ([^,]+),")

    @property
    def control_url(self) -> str:
        return self._told(r"control on ([^,]+),")

    def _told(self, pattern: str) -> str:
        found = re.search(pattern, self.welcome)
        assert found is not None, self.welcome
        return found[1]

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            env=self._environment,
            pass_fds=self._pass_fds,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert self._process.stderr is not None
        async with asyncio.timeout(_WITHIN_S):
            self.welcome = (await self._process.stderr.readline()).decode()
        return self

    async def line(self, message: str) -> dict[str, Any]:
        """The next log line with this message."""
        assert self._process.stdout is not None
        async with asyncio.timeout(_WITHIN_S):
            async for line in self._process.stdout:
                told: dict[str, Any] = json.loads(line)
                if told.get("message") == message:
                    return told
        raise AssertionError(f"it ended before it said {message!r}")

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    async def ended(self) -> int:
        """Its exit code, once it has ended by itself."""
        async with asyncio.timeout(_WITHIN_S):
            await self._process.communicate()
        assert self._process.returncode is not None
        return self._process.returncode

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.returncode is None:
            self._process.kill()
            await self._process.communicate()
