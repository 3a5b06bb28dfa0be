"""One start that was logged, and what it says of other starts on the same machine.

Overheads repeat to 0.02 GiB for one GPU, engine release, model and layout. So the log's own
amounts replace the profile's estimates, and other flags move them only by the difference that
the profile makes between the two starts.

    amount(asked) = logged + profile(asked) - profile(logged start)
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from proa.planner.boot_log.facts import GIB, BootLog
from proa.planner.boot_start import Kinship, boot_start, kinship, same_machine
from proa.planner.fit_spec import FitPlan, FitSpec, MeasuredMemory

Fit: TypeAlias = Callable[[FitSpec], FitPlan]
"""`planner.fit.fit`, or a profile's own."""

_ROUNDING = 0.006 * GIB
_BELIEVED = (0.5, 2.0)


class _Parts(msgspec.Struct, frozen=True, kw_only=True):
    weights: float
    activation: float
    non_torch: float
    graphs: float


def calibrated_fit(spec: FitSpec, boots: Sequence[BootLog], fit: Fit) -> FitPlan:
    """What `fit` says of `spec`, corrected by the nearest log of the same engine and GPU.

    Without such a log the answer is the profile's own. What the log leaves open (another model,
    release or layout) stands in `doubts`.

    Raises:
        InputError: the start that is asked for, or the logged one, cannot be.
    """
    boot = nearest_boot(spec, boots)
    if boot is None:
        return fit(spec)
    spec = _of_release(spec, boot)
    kin = kinship(spec, boot)
    start = boot_start(spec, boot)
    own, asked = fit(start), fit(_on_gpu(spec, boot))
    known = _SOURCES.get(spec.engine, _by_budget)(boot, own)
    moved = _moved(known, own, asked, kin)
    corrected = fit(msgspec.structs.replace(spec, measured=_measured(boot, moved, spec)))
    corrected = _with_tokens(corrected, boot, fit(_again(start, boot, known)), kin)
    return msgspec.structs.replace(corrected, doubts=_doubts(asked, kin, boot))


def nearest_boot(spec: FitSpec, boots: Sequence[BootLog]) -> BootLog | None:
    """The log that is most like `spec`; of equals the last. None if none is of this machine."""
    fitting = [boot for boot in boots if same_machine(spec, boot)]
    if not fitting:
        return None
    return max(
        reversed(fitting), key=lambda boot: _nearness(kinship(_of_release(spec, boot), boot))
    )


def _nearness(kin: Kinship) -> tuple[bool, ...]:
    return (kin.model, kin.layout, kin.release, kin.cache, kin.named)


def _of_release(spec: FitSpec, boot: BootLog) -> FitSpec:
    """The log's release where none was asked for."""
    version = spec.engine_version or boot.engine_version
    return msgspec.structs.replace(spec, engine_version=version)


def _on_gpu(spec: FitSpec, boot: BootLog) -> FitSpec:
    measured = MeasuredMemory(gpu_bytes=boot.gpu_total_bytes)
    return msgspec.structs.replace(spec, measured=measured)


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


def _by_budget(boot: BootLog, own: FitPlan) -> _Parts:
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
        return _Parts(weights=weights, activation=activation, non_torch=non_torch, graphs=graphs)
    # The profile knows whether graphs count; what it took off the cache beside the parts stays.
    beside = own.requested_bytes - own.kv_cache_bytes - own.weights_bytes
    beside -= own.activation_bytes + own.non_torch_bytes
    counted = graphs if own.cuda_graph_bytes and beside >= own.cuda_graph_bytes else 0.0
    rest = own.requested_bytes - kv - weights - non_torch - counted
    return _Parts(weights=weights, activation=rest, non_torch=non_torch, graphs=graphs)


def _by_free_memory(boot: BootLog, own: FitPlan) -> _Parts:
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
    return _Parts(
        weights=weights,
        activation=own.activation_bytes,
        non_torch=gpu - before,
        graphs=own.cuda_graph_bytes,
    )


def _by_buffers(boot: BootLog, own: FitPlan) -> _Parts:
    """llama.cpp: buffers as they were taken; what no buffer tells stays the profile's."""
    return _Parts(
        weights=_or(boot.weights_bytes, own.weights_bytes),
        activation=_or(boot.activation_bytes, own.activation_bytes),
        non_torch=own.non_torch_bytes,
        graphs=own.cuda_graph_bytes,
    )


_SOURCES: dict[str, Callable[[BootLog, FitPlan], _Parts]] = {
    "vllm": _by_budget,
    "sglang": _by_free_memory,
    "llamacpp": _by_buffers,
}


def _or(value: float | None, other: float) -> float:
    return other if value is None else value


def _moved(known: _Parts, own: FitPlan, asked: FitPlan, kin: Kinship) -> _Parts:
    """The logged amounts at the flags that are asked for."""
    weights = float(asked.weights_bytes)
    if kin.model:
        weights = known.weights * asked.weights_bytes / own.weights_bytes
    graphs = known.graphs + asked.cuda_graph_bytes - own.cuda_graph_bytes
    return _Parts(
        weights=weights,
        activation=known.activation + asked.activation_bytes - own.activation_bytes,
        non_torch=known.non_torch + asked.non_torch_bytes - own.non_torch_bytes,
        graphs=max(graphs, 0.0) if asked.cuda_graph_bytes else 0.0,
    )


def _measured(boot: BootLog, part: _Parts, spec: FitSpec) -> MeasuredMemory:
    return MeasuredMemory(
        gpu_bytes=boot.gpu_total_bytes,
        weights_bytes=round(part.weights),
        activation_bytes=round(part.activation),
        non_torch_bytes=round(part.non_torch),
        cuda_graph_bytes=0 if spec.enforce_eager else round(part.graphs),
    )


def _again(start: FitSpec, boot: BootLog, known: _Parts) -> FitSpec:
    return msgspec.structs.replace(start, measured=_measured(boot, known, start))


def _with_tokens(plan: FitPlan, boot: BootLog, again: FitPlan, kin: Kinship) -> FitPlan:
    """The plan's tokens times what the log had of them over what its bytes would have given.

    `again` is the logged start with the logged amounts: where the profile misses how a model's
    cache is laid out, the log corrects that too.
    """
    if not (kin.model and kin.layout):
        return plan
    tokens = _ratio(boot.kv_cache_tokens, again.kv_cache_tokens, 0.0)
    times = _ratio(boot.max_concurrency, again.max_concurrency, 0.005)
    concurrency = plan.max_concurrency * (tokens if boot.max_concurrency is None else times)
    return msgspec.structs.replace(
        plan,
        kv_cache_tokens=round(plan.kv_cache_tokens * tokens),
        plannable_tokens=int(concurrency * plan.max_model_len),
        max_concurrency=concurrency,
        fits=plan.fits and concurrency >= 1,
    )


def _ratio(logged: float | None, reckoned: float, rounding: float) -> float:
    if not logged or not reckoned or abs(logged - reckoned) <= rounding:
        return 1.0
    ratio = logged / reckoned
    return ratio if _BELIEVED[0] < ratio < _BELIEVED[1] else 1.0


def _doubts(asked: FitPlan, kin: Kinship, boot: BootLog) -> tuple[str, ...]:
    doubts = []
    if not kin.model:
        doubts.append(f"the log is of another model ({boot.flags.model})")
    elif not kin.named:
        doubts.append(f"the log does not name a known model ({boot.flags.model})")
    if not kin.layout:
        doubts.append("the log's engine lay over its GPUs in another way")
    if not kin.release:
        doubts.append(f"the log is of release {boot.engine_version}")
    return tuple(doubts) if kin.is_same else (*asked.doubts, *doubts)
