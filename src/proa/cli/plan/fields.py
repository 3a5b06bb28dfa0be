"""Every question of `proa plan`: one row each, for flags, scenarios and batch lines."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from proa.units import CURRENCIES as MONEY_CODES


class Kind(StrEnum):
    """What a value is; `plan_values.py` reads each."""

    SHARE = "share"
    NUMBER = "number"
    COUNT = "count"
    TOKENS = "tokens"
    PARAMETERS = "parameters"
    MONEY = "money"
    TEXT = "text"
    CHOICES = "choices"
    SWITCH = "switch"
    FILES = "files"


class Field(NamedTuple):
    """One question. `least` and `most` are the accepted range, both ends included.

    `group` is the heading that it stands under in the help and the documentation.
    """

    name: str
    group: str
    kind: Kind
    help: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def shown(self) -> str:
        """The value's place in the help."""
        return _SHOWN[self.kind]


_SHOWN = {
    Kind.SHARE: "SHARE",
    Kind.NUMBER: "N",
    Kind.COUNT: "N",
    Kind.TOKENS: "TOKENS",
    Kind.PARAMETERS: "N",
    Kind.MONEY: "PRICE",
    Kind.TEXT: "NAME",
    Kind.CHOICES: "LIST",
    Kind.SWITCH: "",
    Kind.FILES: "FILE",
}

WEIGHTS = ("bf16", "fp8", "int8", "int4", "nvfp4", "mxfp4")
KV_DTYPES = ("bf16", "fp16", "fp8", "int8", "nvfp4")
LINKS = ("nvlink", "pcie", "1gbe", "10gbe", "25gbe", "100gbe", "infiniband")
ENGINES = ("vllm", "sglang", "tensorrt-llm", "tgi", "llamacpp")
CURRENCIES = tuple(MONEY_CODES)

_MOST = 1e12


def _share(group: str, name: str, told: str, least: float = 0.0) -> Field:
    return Field(name, group, Kind.SHARE, told, least, 1.0)


def _number(group: str, name: str, told: str, least: float = 0.0, most: float = _MOST) -> Field:
    return Field(name, group, Kind.NUMBER, told, least, most)


def _count(group: str, name: str, told: str, least: int = 1, most: float = 10**9) -> Field:
    return Field(name, group, Kind.COUNT, told, least, most)


def _tokens(group: str, name: str, told: str, least: int = 1) -> Field:
    return Field(name, group, Kind.TOKENS, told, least, 100 * 2**20)


def _parameters(name: str, told: str) -> Field:
    return Field(name, "model", Kind.PARAMETERS, told, 1e6, 1e14)


def _money(name: str, told: str) -> Field:
    return Field(name, "cost", Kind.MONEY, told)


def _text(group: str, name: str, told: str, choices: tuple[str, ...] = ()) -> Field:
    return Field(name, group, Kind.TEXT, told, choices=choices)


_SMALLEST = 1e-9
_D, _C, _M, _P, _S, _K, _R, _F = (
    "demand", "context", "model", "placement", "speed", "cost", "contract", "files",
)  # fmt: skip

FIELDS: tuple[Field, ...] = (
    _count(_D, "users", "people who may use the service"),
    _share(_D, "active_share", "share of them that use it on one day"),
    _number(_D, "queries_per_user", "requests of an active user per day"),
    _share(_D, "peak_hour_share", "share of a day's requests in its busiest hour"),
    _number(_D, "seconds_per_request", "mean time of one request; derived where not given"),
    _number(_D, "burst_factor", "design sessions per mean session", 1.0, 1000.0),
    _number(_D, "tokens_per_s", "output tokens per second for each user", _SMALLEST),
    _number(_D, "growth_per_year", "growth of the users per year, 0.2 is 20 %", -0.99, 10.0),
    _number(_D, "years", "years of that growth", 0.0, 50.0),
    _share(_D, "max_wait_share", "at most this share of requests waits longer …", _SMALLEST),
    _number(_D, "max_wait_s", "… than this (Erlang C)"),
    _count(_D, "sessions", "sessions at once, in place of the users"),
    _tokens(_C, "context", "input and output together, as 8192 or 8K"),
    _tokens(_C, "input_tokens", "mean input of one request"),
    _tokens(_C, "output_tokens", "mean output of one request"),
    _tokens(_C, "system_tokens", "system prompt", 0),
    _tokens(_C, "question_tokens", "one question", 0),
    _count(_C, "history_turns", "earlier turns that are sent again", 0, 100_000),
    _tokens(_C, "tokens_per_turn", "tokens of one earlier turn, question and answer", 0),
    _count(_C, "rag_chunks", "passages that a search adds", 0, 100_000),
    _tokens(_C, "tokens_per_chunk", "tokens of one passage", 0),
    _text(_M, "model", "catalogue id, or the path of a config.json"),
    _parameters("params", "parameters, as 30B; where no model is named"),
    _parameters("active_params", "of them used by one token (mixture of experts)"),
    _count(_M, "layers", "layers of the model of --params", 1, 1000),
    _count(_M, "kv_heads", "its KV heads", 1, 1024),
    _count(_M, "head_dim", "its head dimension", 8, 4096),
    _text(_M, "weights", "precision of the weights", WEIGHTS),
    _text(_M, "kv_dtype", "precision of the KV cache", KV_DTYPES),
    Field("allow_weights", _M, Kind.CHOICES, "precisions that quality allows", choices=WEIGHTS),
    Field("allow_kv", _M, Kind.CHOICES, "KV precisions that quality allows", choices=KV_DTYPES),
    _text(_P, "gpu", "catalogue id, as h100-80gb"),
    _count(_P, "gpus", "this many GPUs; without users or sessions: what can be promised", 1, 1e6),
    _count(_P, "tp", "tensor parallel", 1, 1024),
    _count(_P, "pp", "pipeline parallel", 1, 1024),
    Field("expert_parallel", _P, Kind.SWITCH, "whole experts on each GPU"),
    _text(_P, "engine", "inference engine", ENGINES),
    _text(_P, "engine_version", "its version, as 0.19"),
    _share(_P, "gpu_memory_utilization", "share of the memory that the engine takes", 0.01),
    _text(_P, "link", "link between the GPUs", LINKS),
    Field("margin", _P, Kind.SHARE, "share of memory, speed and time kept back", 0.0, 0.9),
    _number(_S, "ttft_p95_s", "95 % of requests begin to answer within", _SMALLEST),
    _number(_S, "aggregate_tokens_per_s", "measured speed of all sessions", _SMALLEST),
    _number(_K, "power_w", "power at the wall"),
    _number(_K, "gpu_power_w", "power of one GPU"),
    _number(_K, "system_power_w", "power of the server without its GPUs"),
    _number(_K, "gpu_cap_w", "power cap of one GPU"),
    _number(_K, "volts", "voltage of the supply, for the current", 1.0, 1000.0),
    _number(_K, "rack_units", "rack units of one server"),
    _money("tariff", "electricity per kWh, as 120 or 120원"),
    _number(_K, "pue", "power usage effectiveness of the room", 1.0, 5.0),
    _money("gpu_price", "price of one GPU, as $5,000 or 700만원"),
    _money("server_price", "price of one server without its GPUs"),
    _money("cloud_price_per_hour", "what one GPU costs per hour in the cloud"),
    _text(_K, "currency", "currency of the answer", CURRENCIES),
    _number(_K, "exchange_rate", "units of that currency per US dollar", _SMALLEST),
    _number(_K, "depreciation_years", "years over which the hardware is written off", 0.1, 50.0),
    _share(_R, "attainment", "share of the requests that keep the promise", 0.01),
    _text(_R, "rule", "what the promise is compared with", ("per_request", "mean")),
    _count(_R, "extend_above_sessions", "resources are added above so many sessions"),
    _tokens(_R, "extend_above_input_tokens", "… and above this mean input"),
    _text(_R, "contract_out", "write the [contract] table of proa.toml to this file"),
    Field("calibrate", _F, Kind.FILES, "boot log of an engine, or a bench run (repeatable)"),
    Field("catalogue", _F, Kind.FILES, "TOML with GPUs and models of one's own (repeatable)"),
    Field("explore", _F, Kind.SWITCH, "walk the whole space, print the Pareto front"),
)

BY_NAME = {field.name: field for field in FIELDS}


def groups() -> Sequence[str]:
    """The headings, in order."""
    return tuple(dict.fromkeys(field.group for field in FIELDS))
