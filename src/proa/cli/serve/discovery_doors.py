"""Which door belongs to which kind of discovery, and the lookings that run."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from proa.control.discovery import Discovery, EngineSource, Tell
from proa.domain.discovery import DiscoveryKind, DiscoverySpec
from proa.providers.dns import DnsAddresses, SrvRecords
from proa.providers.engine_file import EngineFile
from proa.providers.kubernetes import EndpointSlices
from proa.telemetry.logs import Log

_FIRST_LOOK_S = 2.0


def source_of(spec: DiscoverySpec) -> EngineSource:
    """The place that a `[[discovery]]` names.

    Raises:
        InputError: it needs a package that is not installed.
    """
    match spec.kind:
        case DiscoveryKind.FILE:
            return EngineFile(spec)
        case DiscoveryKind.KUBERNETES:
            return EndpointSlices(spec)
        case DiscoveryKind.DNS:
            return SrvRecords(spec) if spec.record == "srv" else DnsAddresses(spec)


class Discoveries:
    """All lookings of one generation of settings; those that stay keep what they know."""

    def __init__(self, tell: Tell, log: Log) -> None:
        self._tell = tell
        self._log = log
        self._running: dict[str, Discovery] = {}

    async def follow(self, specs: Sequence[DiscoverySpec]) -> None:
        """Look where `specs` say from now on, and no more elsewhere.

        Raises:
            InputError: a kind needs a package that is not installed; nothing has changed.
        """
        old = self._running
        kept = {s.name: old[s.name] for s in specs if s.name in old and old[s.name].spec == s}
        fresh = {
            spec.name: Discovery(spec, source_of(spec), tell=self._tell, log=self._log)
            for spec in specs
            if spec.name not in kept
        }
        self._running = kept | fresh
        ended = [looking for name, looking in old.items() if kept.get(name) is not looking]
        await asyncio.gather(*(looking.close() for looking in ended))
        for looking in fresh.values():
            looking.start()

    async def first_looks(self) -> None:
        """Wait a short time until every place was looked at once."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_LOOK_S):
                await asyncio.gather(*(d.looked.wait() for d in self._running.values()))

    def told(self, engines: dict[str, tuple[str, ...]]) -> list[dict[str, Any]]:
        """What each one sees; `engines` are the names of those that take part."""
        return [
            {
                "name": looking.spec.name,
                "kind": looking.spec.kind.value,
                "engines": list(engines.get(looking.spec.name, ())),
                "seen_at_s": looking.seen_at_s,
                "error": looking.problem or None,
            }
            for looking in self._running.values()
        ]

    async def close(self) -> None:
        """Stop all of them."""
        await asyncio.gather(*(looking.close() for looking in self._running.values()))
