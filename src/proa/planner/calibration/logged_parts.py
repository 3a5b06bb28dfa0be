"""What a start-up log says of a GPU's parts, engine by engine; the profile's where it is silent."""

from collections.abc import Callable

import msgspec

from proa.planner.boot_log.facts import GIB, BootLog
from proa.planner.fit.spec import FitPlan

_ROUNDING = 0.006 * GIB


class LoggedParts(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of one GPU; with the cache they are what the engine's budget was spent on."""

    weights: float
    activation: float
    non_torch: float
    graphs: float


def logged_parts(boot: BootLog, own: FitPlan) -> LoggedParts:
    """The log's parts; `own` is the profile's plan of the same start."""
    return _SOURCES.get(boot.engine, _by_budget)(boot, own)


def cache_bytes(boot: BootLog, own: FitPlan) -> float | None:
    """The logged cache; by its tokens, which are exact, where they agree with the rounded GiB.

    `own` is the profile's plan of the same start.
    """
    by_tokens = None
    if boot.kv_cache_tokens is not None and own.kv_bytes_per_token:
        by_tokens = boot.kv_cache_tokens * own.kv_bytes_per_token
    if boot.kv_cache_bytes is None:
        return by_tokens
    if by_tokens is not None and abs(by_tokens - boot.kv_cache_bytes) <= _ROUNDING:
        return by_tokens
    return float(boot.kv_cache_bytes)


def _by_budget(boot: BootLog, own: FitPlan) -> LoggedParts:
    """vLLM: what the budget lost to all but the cache, in the parts that the log names.

    What the named parts leave (rounding, or parts that are not named) goes to the activation.
    """
    weights = _or(boot.weights_bytes, own.weights_bytes)
    non_torch = _or(boot.non_torch_bytes, own.non_torch_bytes)
    if boot.non_torch_bytes is None and boot.consumed_bytes and boot.weights_bytes:
        non_torch = boot.consumed_bytes - boot.weights_bytes
    graphs = _or(boot.cuda_graph_estimated_bytes, _or(boot.cuda_graph_bytes, own.cuda_graph_bytes))
    kv = None if boot.is_cache_given else cache_bytes(boot, own)
    if kv is None:
        activation = _or(boot.activation_bytes, own.activation_bytes)
        return LoggedParts(
            weights=weights, activation=activation, non_torch=non_torch, graphs=graphs
        )
    # The profile knows whether graphs count; what it took off the cache beside the parts stays.
    beside = own.requested_bytes - own.kv_cache_bytes - own.weights_bytes
    beside -= own.activation_bytes + own.non_torch_bytes
    counted = graphs if own.cuda_graph_bytes and beside >= own.cuda_graph_bytes else 0.0
    rest = own.requested_bytes - kv - weights - non_torch - counted
    return LoggedParts(weights=weights, activation=rest, non_torch=non_torch, graphs=graphs)


def _by_free_memory(boot: BootLog, own: FitPlan) -> LoggedParts:
    """SGLang: what was free before and after loading."""
    gpu, before = own.gpu_bytes, boot.gpu_free_bytes
    if before is None:
        before = gpu - own.non_torch_bytes
    kv = cache_bytes(boot, own)
    weights = _or(boot.weights_bytes, own.weights_bytes)
    if boot.free_after_load_bytes is not None:
        weights = before - boot.free_after_load_bytes
    budget = _or(boot.budget_bytes, own.requested_bytes * before / (gpu - own.non_torch_bytes))
    if kv is not None and abs(budget - kv - weights) <= 4 * _ROUNDING:
        weights = budget - kv
    return LoggedParts(
        weights=weights,
        activation=own.activation_bytes,
        non_torch=gpu - before,
        graphs=own.cuda_graph_bytes,
    )


def _by_buffers(boot: BootLog, own: FitPlan) -> LoggedParts:
    """llama.cpp: buffers as they were taken; what no buffer tells stays the profile's."""
    return LoggedParts(
        weights=_or(boot.weights_bytes, own.weights_bytes),
        activation=_or(boot.activation_bytes, own.activation_bytes),
        non_torch=own.non_torch_bytes,
        graphs=own.cuda_graph_bytes,
    )


_SOURCES: dict[str, Callable[[BootLog, FitPlan], LoggedParts]] = {
    "vllm": _by_budget,
    "sglang": _by_free_memory,
    "llamacpp": _by_buffers,
}


def _or(value: float | None, other: float) -> float:
    return other if value is None else value
