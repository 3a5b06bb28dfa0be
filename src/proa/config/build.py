"""From validated tables to the settings that the programs take."""

import os
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from proa.config.dialect_fields import triton_fields
from proa.config.discovery import discovery_specs
from proa.config.engine_tls import engine_tls
from proa.config.fields import MOST_WORKERS
from proa.config.guard import guard_settings
from proa.config.tables import EngineTable, ProaTable, RouteTable
from proa.config.tenants import tenant_specs
from proa.config.usage import UTC
from proa.control.settings import AdminKeySpec, ControlSettings, RecordsSettings, UsageSettings
from proa.domain.dialect import ChatTemplate
from proa.domain.fleet import EngineSpec
from proa.domain.reach import Reach
from proa.gateway.keys import with_old
from proa.gateway.settings import (
    AdmissionSettings,
    GatewaySettings,
    KeySpec,
    LimitsSettings,
    LogSettings,
    TlsSettings,
)
from proa.routing.spec import (
    AdapterSpec,
    BreakerSpec,
    ClassifierSpec,
    MatchSpec,
    ModelSpec,
    OverflowSpec,
    PolicyOptions,
    RouteSpec,
    RoutingSpec,
)


def engine_specs(
    table: ProaTable, keys: dict[str, str], directory: Path, reach: Reach
) -> tuple[EngineSpec, ...]:
    """The engines; `keys` are the values of the variables that they name."""
    return tuple(engine_spec(engine, keys, directory, reach) for engine in table.engines)


def gateway_settings(
    table: ProaTable,
    *,
    engines: tuple[EngineSpec, ...],
    keys: tuple[KeySpec, ...] | None,
    directory: Path,
    classifier: bytes | None = None,
) -> GatewaySettings:
    """The data plane's settings; relative paths start at `directory`.

    `classifier` is the content of the file that the table names.
    """
    given = _given(table.gateway, but={"api_keys_file"})
    if given.get("workers") == 0:
        given["workers"] = min(len(os.sched_getaffinity(0)), MOST_WORKERS)
    return GatewaySettings(
        **given | _tuples(given, "trusted_proxies"),
        engines=engines,
        routing=_routing(table, engines, classifier),
        keys=keys,
        tenants=tenant_specs(table),
        **guard_settings(table),
        cors_allow_origins=tuple(table.cors.allow_origins or ()),
        limits=LimitsSettings(**_given(table.limits)),
        chat_templates={
            t.name: ChatTemplate(**_given(t, but={"name"})) for t in table.chat_templates
        },
        model_templates={m.name: m.chat_template for m in table.models if m.chat_template},
        logs=_logs(table, directory),
        tls=_tls(table, directory),
        records=table.records is not None,
        counts_usage=table.usage is not None,
        time_zone=(table.usage and table.usage.time_zone) or UTC,
        admission=AdmissionSettings(**_given(table.admission, but={"retry_budget"})),
        **table.admission.model_dump(exclude_unset=True, include={"retry_budget"}),
    )


class Stores(NamedTuple):
    """What is kept in databases, None for what is not."""

    records: RecordsSettings | None = None
    usage: UsageSettings | None = None


NO_STORES = Stores()


def control_settings(
    table: ProaTable,
    *,
    engines: tuple[EngineSpec, ...],
    keys: tuple[KeySpec, ...] | None,
    insecure: bool,
    directory: Path,
    stores: Stores = NO_STORES,
) -> ControlSettings:
    """The control plane's settings; keys without `admin` are only told apart from unknown ones."""
    given = _given(table.control, but={"engine_networks"})
    if given.get("state_file"):
        given["state_file"] = str(directory / given["state_file"])
    return ControlSettings(
        **given,
        engines=engines,
        discovery=discovery_specs(table, directory),
        keys=tuple(
            AdminKeySpec(name=k.name, digest=k.digest, expires_s=k.expires_s)
            for key in keys or ()
            for k in with_old(key)
            if k.admin
        ),
        other_digests=tuple(k.digest for k in keys or () if not k.admin),
        insecure=insecure,
        records=stores.records,
        usage=stores.usage,
    )


def engine_spec(
    table: EngineTable, keys: dict[str, str], directory: Path, reach: Reach
) -> EngineSpec:
    """One engine; `keys` has the value of the variable that it names."""
    given = {"server": table.name} | _given(table, but={"api_key_env", "tls"})
    if table.triton is not None:
        given["triton"] = triton_fields(table.triton)
    if table.tls is not None:
        given["tls"] = engine_tls(_given(table.tls), directory)
    key = keys[table.api_key_env] if table.api_key_env else ""
    return EngineSpec(**given | _tuples(given, "models", "lacks"), api_key=key, reach=reach)


def _routing(
    table: ProaTable, engines: tuple[EngineSpec, ...], classifier: bytes | None
) -> RoutingSpec:
    return RoutingSpec(
        routes=tuple(_route(route) for route in table.routes),
        models=tuple(
            ModelSpec(name=model.name, quality=model.quality)
            for model in table.models
            if model.quality is not None
        ),
        weights={engine.name: engine.weight for engine in engines},
        breaker=BreakerSpec(**_given(table.breaker)),
        policy=table.policy.name or RoutingSpec().policy,
        policy_options=PolicyOptions(**_given(table.policy, but={"name"})),
        adapters=tuple(AdapterSpec(**_given(adapter)) for adapter in table.adapters),
        classifier=_classifier(table, classifier),
    )


def _classifier(table: ProaTable, content: bytes | None) -> ClassifierSpec | None:
    """Only where a route asks for it: workers need not carry the model for nothing."""
    asks = any(route.match is not None and route.match.request_class for route in table.routes)
    if table.classifier is None or content is None or not asks:
        return None
    return ClassifierSpec(model=content, **_given(table.classifier, but={"model"}))


def _route(table: RouteTable) -> RouteSpec:
    given = _given(table, but={"match", "overflow_when", "fallback_on", "guard"})
    if table.match is not None:
        match = _given(table.match)
        headers = tuple(match.pop("headers", {}).items())
        given["match"] = MatchSpec(**match, headers=headers)
    if table.overflow_when is not None:
        given["overflow_when"] = OverflowSpec(**_given(table.overflow_when))
    if table.fallback_on is not None:
        given["fallback_on"] = frozenset(table.fallback_on)
    return RouteSpec(**given | _tuples(given, "prefer", "overflow", "fallback_models"))


def _logs(table: ProaTable, directory: Path) -> LogSettings:
    given = _given(table.logs)
    if given.get("path", "-") != "-":
        given["path"] = str(directory / given["path"])
    return LogSettings(**given)


def _tls(table: ProaTable, directory: Path) -> TlsSettings | None:
    if table.tls is None:
        return None
    return TlsSettings(**{key: str(directory / path) for key, path in _given(table.tls).items()})


def _given(table: BaseModel, *, but: set[str] | None = None) -> dict[str, Any]:
    """The keys that the file has: what it leaves out is the settings' own default."""
    return table.model_dump(exclude_unset=True, exclude=but)


def _tuples(given: dict[str, Any], *keys: str) -> dict[str, tuple[Any, ...]]:
    return {key: tuple(given[key]) for key in keys if key in given}
