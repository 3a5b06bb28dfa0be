"""What is asked of `proa plan`, of whatever origin; None is what nobody said."""

import msgspec

from proa.units import Money


class ModelAsked(msgspec.Struct, frozen=True, kw_only=True):
    """One of several models on the same GPU, a `[[models]]` table of a scenario."""

    model: str | None = None
    params: float | None = None
    active_params: float | None = None
    layers: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    weights: str | None = None
    kv_dtype: str | None = None
    sessions: int | None = None
    context: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    gpu_memory_utilization: float | None = None


class AlternativeAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Another way to spend the money, an `[[alternatives]]` table of a scenario."""

    name: str
    gpu: str | None = None
    gpus: int | None = None
    gpu_price: Money | None = None
    server_price: Money | None = None
    power_w: float | None = None
    aggregate_tokens_per_s: float | None = None
    cloud_price_per_hour: Money | None = None
    currency: str | None = None


class PlanAsked(msgspec.Struct, frozen=True, kw_only=True):
    """The questions of `plan_fields.py` with their answers, and the tables of a scenario."""

    users: int | None = None
    active_share: float | None = None
    queries_per_user: float | None = None
    peak_hour_share: float | None = None
    seconds_per_request: float | None = None
    burst_factor: float | None = None
    tokens_per_s: float | None = None
    growth_per_year: float | None = None
    years: float | None = None
    max_wait_share: float | None = None
    max_wait_s: float | None = None
    sessions: int | None = None
    context: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    system_tokens: int | None = None
    question_tokens: int | None = None
    history_turns: int | None = None
    tokens_per_turn: int | None = None
    rag_chunks: int | None = None
    tokens_per_chunk: int | None = None
    model: str | None = None
    params: float | None = None
    active_params: float | None = None
    layers: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    weights: str | None = None
    kv_dtype: str | None = None
    allow_weights: tuple[str, ...] = ()
    allow_kv: tuple[str, ...] = ()
    gpu: str | None = None
    gpus: int | None = None
    tp: int | None = None
    pp: int | None = None
    expert_parallel: bool = False
    engine: str | None = None
    engine_version: str | None = None
    gpu_memory_utilization: float | None = None
    link: str | None = None
    margin: float | None = None
    ttft_p95_s: float | None = None
    aggregate_tokens_per_s: float | None = None
    power_w: float | None = None
    gpu_power_w: float | None = None
    system_power_w: float | None = None
    gpu_cap_w: float | None = None
    volts: float | None = None
    rack_units: float | None = None
    tariff: Money | None = None
    pue: float | None = None
    gpu_price: Money | None = None
    server_price: Money | None = None
    cloud_price_per_hour: Money | None = None
    currency: str | None = None
    exchange_rate: float | None = None
    depreciation_years: float | None = None
    attainment: float | None = None
    rule: str | None = None
    extend_above_sessions: int | None = None
    extend_above_input_tokens: int | None = None
    contract_out: str | None = None
    calibrate: tuple[str, ...] = ()
    catalogue: tuple[str, ...] = ()
    explore: bool = False
    models: tuple[ModelAsked, ...] = ()
    alternatives: tuple[AlternativeAsked, ...] = ()
