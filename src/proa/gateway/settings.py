"""What the data plane is told; made by `config`, carried to the workers as JSON."""

from typing import Literal

import msgspec

from proa.domain.dialect import CHAT_TEMPLATES, PLAIN, ChatTemplate
from proa.domain.fleet import EngineSpec
from proa.domain.tenant import DEFAULT_TENANT, QuotaSpec
from proa.guard.policy import GuardSettings, GuardSpec
from proa.routing.admission.priority import Priority
from proa.routing.spec import RoutingSpec


class LimitsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`[limits]`: sizes in bytes, times in seconds; 0 connections per client is no limit."""

    max_head_bytes: int = 65_536
    max_body_bytes: int = 67_108_864
    body_budget_bytes: int = 536_870_912
    head_timeout_s: float = 10.0
    body_min_bytes_per_s: int = 256
    keep_alive_s: float = 75.0
    linger_s: float = 2.0
    drain_timeout_s: float = 30.0
    max_connections: int = 10_000
    max_connections_per_client: int = 0
    pool_idle_s: float = 4.0
    connect_timeout_s: float = 3.0
    first_byte_timeout_s: float = 300.0
    stall_timeout_s: float = 60.0
    total_timeout_s: float = 1800.0


class AdmissionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`[admission]`, but the retry budget; counts are over all workers, 0 requests is no limit."""

    max_concurrent_requests: int = 0
    queue_size: int = 1024
    ageing_s: float = 30.0


class KeySpec(msgspec.Struct, frozen=True, kw_only=True):
    """One API key: `digest` is the SHA-256 of the key, 0 requests is no limit.

    `priority` is the highest class that its requests may ask for, None is that of the route.
    Times are in Unix time; it works before `expires_s`, None for ever. `old_digest` is that of
    the key that it replaces, which works before `old_expires_s`.
    """

    name: str
    digest: bytes
    max_concurrent_requests: int = 0
    priority: Priority | None = None
    admin: bool = False
    tenant: str = DEFAULT_TENANT
    created_s: float | None = None
    expires_s: float | None = None
    old_digest: bytes | None = None
    old_expires_s: float | None = None


class TenantSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One tenant: what all its keys together may ask for; nothing named is no limit.

    Its keys ask for `models`, go by `routes`, and use LoRA `adapters` only of these, without
    any of those of its models. No request of it is of a higher class than `priority`.
    `weight` is its part of the places while others wait, too.
    """

    name: str
    weight: float = 1.0
    models: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    adapters: tuple[str, ...] = ()
    priority: Priority | None = None
    max_concurrent_requests: int = 0
    quota: QuotaSpec = QuotaSpec()


class TlsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`[tls]`: paths of PEM files; `client_ca_file` demands client certificates."""

    cert_file: str
    key_file: str
    client_ca_file: str | None = None


class LogSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`[logs]`: `path` "-" is standard output; `requests` writes a line per request."""

    format: Literal["json", "text"] = "json"
    path: str = "-"
    requests: bool = True


class GatewaySettings(msgspec.Struct, frozen=True, kw_only=True):
    """One generation of the data plane's settings.

    `listen` is `host:port`, `[v6]:port` or `unix:/path`. `keys` is None when the
    gateway is open, and a tuple, even an empty one, when a key is demanded. `tenants` are
    those of the file, without the default one if that is not among them.
    `retry_budget` is the share of traffic that may be retries.
    `counts_usage` counts what tenants without quotas use, too; their days and months are
    those of `time_zone`.
    `records` keeps a record of every request. `guard` None searches nothing; the words of
    routes and tenants on it are by their names.
    `heartbeat_s` 0 sends no comment while an engine is silent. `chat_templates` are what
    the file adds to those that proa has; `model_templates` are names of templates by model.
    """

    listen: str = "127.0.0.1:8080"
    workers: int = 1
    engines: tuple[EngineSpec, ...] = ()
    routing: RoutingSpec = RoutingSpec()
    keys: tuple[KeySpec, ...] | None = None
    tenants: tuple[TenantSpec, ...] = ()
    cors_allow_origins: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    limits: LimitsSettings = LimitsSettings()
    logs: LogSettings = LogSettings()
    tls: TlsSettings | None = None
    retry_budget: float = 0.1
    admission: AdmissionSettings = AdmissionSettings()
    records: bool = False
    counts_usage: bool = False
    time_zone: str = "UTC"
    guard: GuardSettings | None = None
    route_guards: dict[str, GuardSpec] = {}
    tenant_guards: dict[str, GuardSpec] = {}
    heartbeat_s: float = 0.0
    chat_templates: dict[str, ChatTemplate] = {}
    model_templates: dict[str, str] = {}

    def chat_template(self, model: str | None, engine_template: str) -> ChatTemplate:
        """The template for a model: its own, else that of the engine, by the name it goes by."""
        name = self.model_templates.get(model or "", engine_template)
        return self.chat_templates.get(name) or CHAT_TEMPLATES.get(name, PLAIN)
