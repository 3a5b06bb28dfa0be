"""Under which conditions a run measured: who served, with what, and who measured."""

import asyncio
import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

import proa
from proa.bench.ask import get
from proa.bench.process_messages import TargetLoad
from proa.bench.run_spec import RunSpec
from proa.bench.sample import RequestSample
from proa.bench.slo import SloSpec
from proa.bench.target import TargetSpec, address_of
from proa.domain.fleet import EngineKind
from proa.engines.adapters import ADAPTERS, DETECTION, detect
from proa.engines.sources import EngineFacts, Reply, merged_facts
from proa.telemetry.gpu import GpuReading

_TIMEOUT_S = 2.0


class EngineCondition(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine told of itself before the load."""

    target: str
    kind: str = ""
    version: str = ""
    context_tokens: int | None = None
    max_running: int | None = None
    kv_tokens: int | None = None
    flags: dict[str, Any] = {}


class RunConditions(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known at the start of a run and holds for all of it.

    `started_monotonic_s` is the run's zero on the client's monotonic clock,
    `started_unix_s` the same moment as wall clock time. `notes` are the user's.
    """

    proa: str = proa.__version__
    python: str = ""
    system: str = ""
    client_cpus: int | None = None
    started_unix_s: float
    started_monotonic_s: float
    engines: list[EngineCondition] = []
    gpus: list[dict[str, Any]] = []
    notes: dict[str, str] = {}
    asked: dict[str, Any] = {}


async def conditions_of(
    spec: RunSpec,
    targets: Sequence[TargetLoad],
    gpus: Iterable[GpuReading],
    *,
    clocks: tuple[float, float],
) -> RunConditions:
    """Ask the engines; `clocks` are the run's zero: monotonic, Unix."""
    engines = await asyncio.gather(*(_engine(load.target) for load in targets))
    return RunConditions(
        python=f"{platform.python_implementation()} {platform.python_version()}",
        system=f"{platform.platform()} {sys.platform}",
        client_cpus=os.cpu_count(),
        started_monotonic_s=clocks[0],
        started_unix_s=clocks[1],
        engines=list(engines),
        gpus=[_gpu(gpu) for gpu in gpus],
        notes=dict(spec.notes),
        asked=asked_conditions(spec, targets),
    )


def asked_conditions(spec: RunSpec, targets: Sequence[TargetLoad]) -> dict[str, Any]:
    """What was asked of the run, without keys, passwords or the texts of a data set."""
    workload = msgspec.to_builtins(spec.workload)
    rows = {name: len(workload.pop(name)) for name in ("dataset", "trace")}
    return {
        "seed": spec.seed,
        "order": str(spec.order),
        "window": msgspec.to_builtins(spec.window),
        "slo": told_slo(spec.slo),
        "workload": workload | {f"{name}_rows": count for name, count in rows.items()},
        "targets": [
            {
                "name": load.target.name,
                "url": shown_url(load.target.url),
                "model": load.target.model,
                "path": load.target.path,
                "tokens_per_word": load.scale.per_word if load.scale.is_measured else None,
                "forces_length": load.body.force,
                "asks_usage": load.body.usage,
            }
            for load in targets
        ],
    }


def told_slo(slo: SloSpec | None) -> dict[str, Any] | None:
    """An SLO as a person writes it."""
    if slo is None:
        return None
    bounds = [f"{b.metric}{'>=' if b.at_least else '<='}{b.value:g}" for b in slo.bounds]
    if slo.error_rate is not None:
        bounds.append(f"error_rate<={slo.error_rate:g}")
    return {"bounds": bounds, "attainment": slo.attainment, "rule": str(slo.rule)}


def shown_url(url: str) -> str:
    """The address without a user and a password in it."""
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"


def prompts_hash(samples: Iterable[RequestSample]) -> str:
    """One digest over number and prompt of all requests: equal loads have equal ones."""
    digest = blake2b(digest_size=8)
    for number, prompt in sorted({(s.number, s.prompt) for s in samples}):
        digest.update(f"{number} {prompt}\n".encode())
    return digest.hexdigest()


def _gpu(gpu: GpuReading) -> dict[str, Any]:
    names = ("index", "name", "driver", "memory_total_bytes", "power_limit_w")
    return {name: getattr(gpu, name) for name in names}


async def _engine(target: TargetSpec) -> EngineCondition:
    """By its own word; empty where it says nothing, or is a gateway that hides it."""
    asked = target
    if target.metrics_url:
        asked = TargetSpec(name=target.name, url=target.metrics_url.removesuffix("/metrics"))
    kind = await _kind(asked)
    if kind is None:
        return EngineCondition(target=target.name)
    parts = []
    for source in ADAPTERS[kind].fact_sources:
        reply = await _reply(asked, source.probe.path)
        facts = None if reply is None or reply.status != 200 else source.read(reply.body)
        if facts is not None:
            parts.append(facts)
    return _condition(target.name, kind, merged_facts(parts))


def _condition(name: str, kind: EngineKind, facts: EngineFacts) -> EngineCondition:
    return EngineCondition(
        target=name,
        kind=str(kind.value),
        version=facts.version,
        context_tokens=facts.context_tokens or next(iter(facts.contexts.values()), None),
        max_running=facts.max_running,
        kv_tokens=facts.kv_tokens,
        flags=dict[str, Any](facts.flags),
    )


async def _kind(target: TargetSpec) -> EngineKind | None:
    for probe in DETECTION:
        reply = await _reply(target, probe.path)
        kind = None if reply is None else detect(probe, reply)
        if kind is not None:
            return kind
    return None


async def _reply(target: TargetSpec, path: str) -> Reply | None:
    try:
        status, body = await get(
            target, f"{address_of(target.url).prefix}{path}", timeout_s=_TIMEOUT_S
        )
    except OSError:
        return None
    return Reply(status, body)


def noted(pairs: Iterable[str]) -> Mapping[str, str]:
    """`KEY=VALUE` notes by their keys; a note without `=` is true."""
    return {key: value or "true" for key, _, value in (pair.partition("=") for pair in pairs)}
