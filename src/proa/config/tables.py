"""The tables of proa.toml and keys.toml as pydantic reads them.

Keys that may be left out default to None here and are then not passed on: the
default itself stands once, in the settings beside its consumer.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from proa.config import dialect_fields as d
from proa.config import fields as f
from proa.guard.policy import Language, Media, Mode


class Table(BaseModel):
    """What all tables share: unknown keys, wrong types, inf and nan are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class GatewayTable(Table):
    listen: f.Listen | None = None
    workers: f.Workers | None = None
    api_keys_file: f.FilePath | None = None
    trusted_proxies: list[f.Network] | None = None
    heartbeat_s: f.SecondsOrOff | None = None


class ControlTable(Table):
    listen: f.Listen | None = None
    poll_interval_s: f.PollSeconds | None = None
    state_file: f.FilePathOrNone | None = None
    engine_networks: list[f.EngineNetwork] | None = None


class EngineTlsTable(Table):
    ca_file: f.FilePath | None = None
    cert_file: f.FilePath | None = None
    key_file: f.FilePath | None = None


class EngineOptionsTable(Table):
    """What can be said of an engine whatever its address, also of one that is discovered."""

    kind: f.Kind | None = None
    models: list[f.ModelName] | None = None
    server: f.Name | None = None
    weight: f.Weight | None = None
    gpu: f.GpuId | None = None
    max_concurrent_requests: f.CountOrOff | None = None
    api_key_env: f.VariableName | None = None
    lacks: list[d.LackedPath] | None = None
    chat_template: f.Name | None = None
    triton: d.TritonNames | None = None
    tls: EngineTlsTable | None = None


class EngineTable(EngineOptionsTable):
    name: f.Name
    url: f.EngineUrl
    metrics_url: f.MetricsUrl | None = None
    kv_events: f.KvEvents | None = None


class DiscoveryTable(Table):
    name: f.Name
    kind: f.DiscoveryKindName
    interval_s: f.PollSeconds | None = None
    scheme: Literal["http", "https"] | None = None
    address: f.DnsAddress | None = None
    record: Literal["a", "srv"] | None = None
    path: f.FilePath | None = None
    selector: f.Selector | None = None
    namespace: f.Namespace | None = None
    port: f.PortName | None = None
    api_url: f.EngineUrl | None = None
    token_file: f.FilePath | None = None
    ca_file: f.FilePath | None = None
    engine: EngineOptionsTable = EngineOptionsTable()


class ModelTable(Table):
    name: f.ModelName
    quality: f.Quality | None = None
    chat_template: f.Name | None = None


class ChatTemplateTable(Table):
    name: f.Name
    begin: str | None = None
    system: d.RoleForm | None = None
    user: d.RoleForm | None = None
    assistant: d.RoleForm | None = None
    generation: str | None = None


class GuardWordsTable(Table):
    mode: Mode | None = None
    types: dict[str, Mode] = {}
    answers: bool | None = None
    keep_on: list[f.Name] | None = None
    media: Media | None = None
    max_input_tokens: f.Tokens | None = None
    max_output_tokens: f.Tokens | None = None
    blocked_patterns: list[str] | None = None
    allowed_tools: list[str] | None = None


class DetectorTable(Table):
    name: str
    pattern: str
    checksum: str | None = None
    context: list[str] | None = None
    label: f.GuardLabel | None = None
    mode: Mode | None = None


class GuardTable(GuardWordsTable):
    language: Language | None = None
    detectors: list[DetectorTable] | None = None


class MatchTable(Table):
    path: f.PathPrefix | None = None
    model: f.ModelName | None = None
    headers: dict[f.HeaderName, f.HeaderValue] | None = None
    max_input_tokens: f.Tokens | None = None
    min_input_tokens: f.Tokens | None = None
    max_tokens: f.Tokens | None = None
    min_tokens: f.Tokens | None = None
    request_class: f.ClassName | None = Field(default=None, alias="class")
    tenant: f.Name | None = None
    adapter: f.ModelName | None = None
    pii: bool | None = None


class OverflowTable(Table):
    in_flight: f.Count | None = None
    waiting: f.Count | None = None
    predicted_wait_s: f.Seconds | None = None


class RouteTable(Table):
    name: f.Name
    match: MatchTable | None = None
    rewrite_path: f.Path | None = None
    model: f.ModelName | None = None
    fallback_models: list[f.ModelName] | None = None
    prefer: list[f.Name] | None = None
    overflow: list[f.Name] | None = None
    overflow_when: OverflowTable | None = None
    min_quality: f.Quality | None = None
    fallback_on: list[f.Status] | None = None
    priority: f.PriorityClass | None = None
    max_wait_s: f.SecondsOrOff | None = None
    guard: GuardWordsTable | None = None


class BudgetTable(Table):
    per_month: f.Money
    currency: f.Currency | None = None
    per_million_input_tokens: f.Money | None = None
    per_million_output_tokens: f.Money | None = None


class TenantTable(Table):
    name: f.Name
    weight: f.TenantWeight | None = None
    models: list[f.ModelName] | None = None
    routes: list[f.Name] | None = None
    adapters: list[f.ModelName] | None = None
    priority: f.PriorityClass | None = None
    max_concurrent_requests: f.CountOrOff | None = None
    requests_per_minute: f.Tokens | None = None
    tokens_per_minute: f.Tokens | None = None
    input_tokens_per_minute: f.Tokens | None = None
    output_tokens_per_minute: f.Tokens | None = None
    tokens_per_day: f.Tokens | None = None
    tokens_per_month: f.Tokens | None = None
    budget: BudgetTable | None = None
    guard: GuardWordsTable | None = None


class AdapterTable(Table):
    name: f.ModelName
    model: f.ModelName
    path: f.FilePath


class PolicyTable(Table):
    name: f.Policy | None = None
    session_header: f.HeaderName | None = None
    session_load_factor: f.LoadFactor | None = None
    prefix_memory_blocks: f.Count | None = None
    adapters_per_engine: f.Count | None = None
    hedge: bool | None = None
    hedge_share: f.Share | None = None


class ClassifierTable(Table):
    model: f.FilePath
    min_probability: f.Share | None = None


class TlsTable(Table):
    cert_file: f.FilePath
    key_file: f.FilePath
    client_ca_file: f.FilePath | None = None


class CorsTable(Table):
    allow_origins: list[f.Origin] | None = None


class LogsTable(Table):
    format: Literal["json", "text"] | None = None
    path: f.FilePath | None = None
    requests: bool | None = None


class LimitsTable(Table):
    max_head_bytes: f.HeadSize | None = None
    max_body_bytes: f.Size | None = None
    body_budget_bytes: f.Size | None = None
    head_timeout_s: f.Seconds | None = None
    body_min_bytes_per_s: f.SizeOrOff | None = None
    keep_alive_s: f.Seconds | None = None
    linger_s: f.Seconds | None = None
    drain_timeout_s: f.Seconds | None = None
    max_connections: f.Count | None = None
    max_connections_per_client: f.CountOrOff | None = None
    pool_idle_s: f.Seconds | None = None
    connect_timeout_s: f.Seconds | None = None
    first_byte_timeout_s: f.Seconds | None = None
    stall_timeout_s: f.Seconds | None = None
    total_timeout_s: f.Seconds | None = None


class AdmissionTable(Table):
    max_concurrent_requests: f.CountOrOff | None = None
    queue_size: f.CountOrOff | None = None
    ageing_s: f.Seconds | None = None
    retry_budget: f.Share | None = None


class BreakerTable(Table):
    failures: f.Count | None = None
    open_s: f.Seconds | None = None
    max_open_s: f.Seconds | None = None
    successes: f.Count | None = None
    slow_start_s: f.SecondsOrOff | None = None


class ContractLimitsTable(Table):
    sessions: f.Count | None = None
    mean_input_tokens: f.TokenCount | None = None


class ContractTable(Table):
    sessions: f.Count
    mean_input_tokens: f.TokenCount
    user_tokens_per_s: f.Speed
    output_tokens: f.TokenCount | None = None
    ttft_p95_s: f.Seconds | None = None
    rule: f.ContractRuleName | None = None
    attainment: f.ShareAboveZero | None = None
    model: f.ModelName | None = None
    weights: f.Name | None = None
    kv_dtype: f.Name | None = None
    extend_above: ContractLimitsTable | None = None


class RecordsTable(Table):
    store: f.RecordsStore | None = None
    url_env: f.VariableName | None = None
    retention_days: f.Days | None = None


class UsageTable(Table):
    store: f.UsageStore | None = None
    url_env: f.VariableName | None = None
    time_zone: f.TimeZone | None = None


class ProaTable(Table):
    """The whole of proa.toml."""

    gateway: GatewayTable = GatewayTable()
    control: ControlTable = ControlTable()
    engines: list[EngineTable] = []
    discovery: list[DiscoveryTable] = []
    models: list[ModelTable] = []
    chat_templates: list[ChatTemplateTable] = []
    routes: list[RouteTable] = []
    adapters: list[AdapterTable] = []
    tenants: list[TenantTable] = []
    policy: PolicyTable = PolicyTable()
    classifier: ClassifierTable | None = None
    tls: TlsTable | None = None
    cors: CorsTable = CorsTable()
    logs: LogsTable = LogsTable()
    limits: LimitsTable = LimitsTable()
    admission: AdmissionTable = AdmissionTable()
    breaker: BreakerTable = BreakerTable()
    guard: GuardTable | None = None
    records: RecordsTable | None = None
    usage: UsageTable | None = None
    contract: ContractTable | None = None


class KeyTable(Table):
    name: f.Name
    hash: f.KeyHash
    tenant: f.Name | None = None
    role: Literal["user", "admin"] | None = None
    max_concurrent_requests: f.CountOrOff | None = None
    priority: f.PriorityClass | None = None
    created: f.Began | None = None
    expires: f.Ends | None = None
    old_hash: f.KeyHash | None = None
    old_expires: f.Ends | None = None


class KeysTable(Table):
    """The whole of keys.toml."""

    keys: list[KeyTable] = []
