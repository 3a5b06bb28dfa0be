"""One start that was logged, and what it says of other starts on the same machine.

Overheads repeat to 0.02 GiB for one GPU, engine release, model and layout. So the log's own
amounts replace the profile's estimates, and other flags move them only by the difference that
the profile makes between the two starts.

    amount(asked) = logged + profile(asked) - profile(logged start)
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from proa.planner.boot_log.facts import BootLog
from proa.planner.calibration.boot_start import Kinship, boot_start, kinship, same_machine
from proa.planner.calibration.logged_parts import LoggedParts, logged_parts
from proa.planner.fit.spec import FitPlan, FitSpec, MeasuredMemory
from proa.planner.text import Text

Fit: TypeAlias = Callable[[FitSpec], FitPlan]
"""`planner.fit.fit`, or a profile's own."""

_BELIEVED = (0.5, 2.0)
_OTHER_MODEL = Text("다른 모델({model})의 로그입니다", "the log is of another model ({model})")
_UNNAMED = Text(
    "로그의 모델({model})이 아는 모델이 아닙니다",
    "the log does not name a known model ({model})",
)
_OTHER_LAYOUT = Text(
    "로그의 엔진은 GPU에 다르게 나뉘어 있었습니다",
    "the log's engine lay over its GPUs in another way",
)
_OTHER_RELEASE = Text("릴리스 {version}의 로그입니다", "the log is of release {version}")


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
    known = logged_parts(boot, own)
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


def _moved(known: LoggedParts, own: FitPlan, asked: FitPlan, kin: Kinship) -> LoggedParts:
    """The logged amounts at the flags that are asked for.

    A log of another model only tells what does not depend on the model: over public logs its
    activation and graphs were worse than the profile's own.
    """
    non_torch = known.non_torch + asked.non_torch_bytes - own.non_torch_bytes
    if not kin.model:
        return LoggedParts(
            weights=asked.weights_bytes,
            activation=asked.activation_bytes,
            non_torch=non_torch,
            graphs=asked.cuda_graph_bytes,
        )
    graphs = known.graphs + asked.cuda_graph_bytes - own.cuda_graph_bytes
    return LoggedParts(
        weights=known.weights * asked.weights_bytes / own.weights_bytes,
        activation=known.activation + asked.activation_bytes - own.activation_bytes,
        non_torch=non_torch,
        graphs=max(graphs, 0.0) if asked.cuda_graph_bytes else 0.0,
    )


def _measured(boot: BootLog, part: LoggedParts, spec: FitSpec) -> MeasuredMemory:
    return MeasuredMemory(
        gpu_bytes=boot.gpu_total_bytes,
        weights_bytes=round(part.weights),
        activation_bytes=round(part.activation),
        non_torch_bytes=round(part.non_torch),
        cuda_graph_bytes=0 if spec.enforce_eager else round(part.graphs),
    )


def _again(start: FitSpec, boot: BootLog, known: LoggedParts) -> FitSpec:
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


def _doubts(asked: FitPlan, kin: Kinship, boot: BootLog) -> tuple[Text, ...]:
    doubts: list[Text] = []
    if not kin.model:
        doubts.append(_OTHER_MODEL.fill(model=boot.flags.model))
    elif not kin.named:
        doubts.append(_UNNAMED.fill(model=boot.flags.model))
    if not kin.layout:
        doubts.append(_OTHER_LAYOUT)
    if not kin.release:
        doubts.append(_OTHER_RELEASE.fill(version=boot.engine_version))
    return tuple(doubts) if kin.is_same else (*asked.doubts, *doubts)
