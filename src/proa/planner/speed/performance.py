"""How fast one engine will serve: time to first token, between tokens, tokens per second."""

import msgspec

from proa.domain.gpu import GpuSpec
from proa.domain.llm import LlmSpec
from proa.domain.timing import StepTime
from proa.errors import InputError
from proa.planner.layout import LayoutSpec
from proa.planner.memory.kv_cache import KvDtype
from proa.planner.speed.calibration import SpeedCalibration, calibrated, corrected
from proa.planner.speed.doubts import speed_doubts
from proa.planner.speed.efficiency import pace_of, serving_of
from proa.planner.speed.links import find_link
from proa.planner.speed.roofline import work_of
from proa.planner.speed.serving_formula import (
    LENGTH_SPREAD,
    Engine,
    Load,
    Served,
    closed_loop,
    open_loop,
    prefill_s,
)
from proa.planner.speed.step_formula import cache_s, decode_s
from proa.planner.text import Text

MOST_PLACES = 4096.0
"""Sequences that run at once where nobody says how many fit."""


class PerformanceSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One engine (one replica of `layout`) and its load.

    Either `users` who ask again as soon as they are answered, or `requests_per_s` that come by
    themselves. `places` is how many sequences fit the KV cache (`fit` tells), None for no limit.
    `cached_tokens` of an input are found in the prefix cache. With `prefill_elsewhere` other
    engines like this one read the prompts (disaggregation), and running streams never wait.
    `link` is between the GPUs of the layout (`links.LINK_NAMES`), None for the fastest that the
    GPU has; `stage_link` between pipeline stages, None for the same link. `calibration` is what
    a load run of this engine said. Answers differ by `length_spread` of their mean length.
    `held_steps` pass before a request is seen or its first token sent where the engine's flags
    say so: stream_interval - 1 of TensorRT-LLM, half of SGLang's --scheduler-recv-interval.
    """

    llm: LlmSpec
    gpu: GpuSpec
    layout: LayoutSpec = LayoutSpec()
    engine: str = "vllm"
    input_tokens: float
    output_tokens: float
    users: float | None = None
    requests_per_s: float | None = None
    places: float | None = None
    cached_tokens: float = 0.0
    kv_dtype: KvDtype = KvDtype.AUTO
    link: str | None = None
    stage_link: str | None = None
    chunk_tokens: int | None = None
    prefill_elsewhere: bool = False
    length_spread: float = LENGTH_SPREAD
    held_steps: float = 0.0
    calibration: SpeedCalibration | None = None


class PerformancePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to expect, in seconds and tokens/s; means where no percentile is said.

    `itl_s` is one decode step without prompts in it, `tpot_s` the mean gap with them.
    `user_tokens_per_s` is 1 / tpot, `aggregate_tokens_per_s` that of all streams, with the time
    to first token counted. `running` sequences run at once. `prefill_busy` is the part of the
    time that prompts take. `step` is the line a + b n + c KV tokens through this point.
    `stable` is False where requests come faster than they are served: times then grow without
    end, and those here are of the moment when all places are taken. `doubts` are reasons to
    measure before trusting.
    """

    ttft_s: float
    ttft_p95_s: float
    itl_s: float
    tpot_s: float
    user_tokens_per_s: float
    aggregate_tokens_per_s: float
    requests_per_s: float
    prefill_tokens_per_s: float
    prefill_busy: float
    running: float
    step: StepTime
    stable: bool
    doubts: tuple[Text, ...] = ()


def performance(spec: PerformanceSpec) -> PerformancePlan:
    """The speed of one engine under a load.

    Closed loop: tokens/s = users x output / (ttft + (output - 1) x tpot). Pipeline stages work
    on as many groups of sequences at once, so a group is 1 / stages of them.

    Source:
        Constants: `efficiency`. Accuracy: `python -m benchmarks.planner_accuracy speed`.

    Raises:
        InputError: a field is out of range, or the link is unknown.
    """
    _check(spec)
    engine = engine_of(spec)
    ranks = ranks_of(spec)
    load = load_of(spec, ranks)
    served = (closed_loop if spec.users is not None else open_loop)(engine, load)
    if spec.calibration is not None:
        served = corrected(served, spec.calibration, spec.users or served.running * ranks)
    return _plan(spec, engine, load, served)


def engine_of(spec: PerformanceSpec) -> Engine:
    """The numbers that the formulae want of the spec's model, GPU, layout and engine."""
    link = find_link(spec.link, spec.gpu)
    between = find_link(spec.stage_link, spec.gpu) if spec.stage_link else None
    work = work_of(
        spec.llm,
        spec.gpu,
        spec.layout,
        link=link,
        kv_dtype=spec.kv_dtype,
        stage_link=between,
    )
    pace = pace_of(spec.engine, spec.gpu)
    serve = serving_of(spec.engine)
    if spec.chunk_tokens:
        serve = serve._replace(chunk_tokens=float(spec.chunk_tokens))
    if spec.prefill_elsewhere:
        serve = serve._replace(blocked=0.0)
    serve = serve._replace(first_steps=serve.first_steps + spec.held_steps)
    engine = Engine(work, pace, serve)
    return calibrated(engine, spec.calibration) if spec.calibration else engine


def ranks_of(spec: PerformanceSpec) -> int:
    """Ranks over which sequences spread: data-parallel ones, and pipeline stages' groups."""
    return spec.layout.data_parallel * spec.layout.pipeline_parallel


def load_of(spec: PerformanceSpec, ranks: int) -> Load:
    """The load of one rank."""
    demand = spec.users if spec.users is not None else spec.requests_per_s
    places = MOST_PLACES if spec.places is None else spec.places
    return Load(
        demand=(demand or 0.0) / ranks,
        places=places / ranks,
        tokens_in=spec.input_tokens,
        new_tokens_in=spec.input_tokens - spec.cached_tokens,
        tokens_out=spec.output_tokens,
        length_spread=spec.length_spread,
    )


def _plan(spec: PerformanceSpec, engine: Engine, load: Load, served: Served) -> PerformancePlan:
    ranks = ranks_of(spec)
    closed = spec.users is not None
    answer_s = served.ttft_s + (spec.output_tokens - 1) * served.tpot_s
    rate = spec.users / answer_s if spec.users is not None else spec.requests_per_s or 0.0
    stable = closed or (served.busy < 1 and served.running < load.places)
    if not stable:
        full = closed_loop(engine, load._replace(demand=load.places))
        rate = load.places * ranks / (full.ttft_s + (spec.output_tokens - 1) * full.tpot_s)
    return PerformancePlan(
        ttft_s=served.ttft_s,
        ttft_p95_s=served.ttft_p95_s,
        itl_s=served.step_s,
        tpot_s=served.tpot_s,
        user_tokens_per_s=1 / served.tpot_s,
        aggregate_tokens_per_s=rate * spec.output_tokens,
        requests_per_s=rate,
        prefill_tokens_per_s=ranks * load.new_tokens_in / prefill_s(engine, load),
        prefill_busy=served.busy,
        running=served.running * ranks,
        step=step_line(engine, load, served.running),
        stable=bool(stable),
        doubts=_doubts(spec),
    )


def _doubts(spec: PerformanceSpec) -> tuple[Text, ...]:
    """None once a load run of this engine was read."""
    if spec.calibration is not None:
        return ()
    links = (spec.link, spec.stage_link)
    return tuple(speed_doubts(spec.engine, spec.gpu, spec.layout, links))


def step_line(engine: Engine, load: Load, sequences: float) -> StepTime:
    """The line through one sequence and `sequences` (2 at the least): a + b n + c KV tokens."""
    work, pace, _ = engine
    context = load.tokens_in + load.tokens_out / 2
    most = max(sequences, 2.0)
    slope = (cache_s(work, pace, context + 1) - cache_s(work, pace, context - 1)) / 2
    one, all_ = (decode_s(work, pace, n, context) - n * context * slope for n in (1.0, most))
    per_sequence = (all_ - one) / (most - 1)
    return StepTime(base_s=one - per_sequence, per_sequence_s=per_sequence, per_kv_token_s=slope)


def _check(spec: PerformanceSpec) -> None:
    if (spec.users is None) == (spec.requests_per_s is None):
        raise InputError("users, requests_per_s: accepted is exactly one of the two")
    for field in ("input_tokens", "output_tokens"):
        if getattr(spec, field) < 1:
            raise InputError(f"{field} = {getattr(spec, field):g}: accepted is 1 or more")
    for field in ("users", "requests_per_s", "places"):
        value = getattr(spec, field)
        if value is not None and not value > 0:
            raise InputError(f"{field} = {value:g}: accepted is more than 0")
    if not spec.held_steps >= 0:
        raise InputError(f"held_steps = {spec.held_steps:g}: accepted is 0 or more")
    if not 0 <= spec.length_spread <= 1:
        raise InputError(f"length_spread = {spec.length_spread:g}: accepted is 0 to 1")
    if not 0 <= spec.cached_tokens < spec.input_tokens:
        raise InputError(
            f"cached_tokens = {spec.cached_tokens:g}: accepted is 0 up to less than "
            f"input_tokens = {spec.input_tokens:g}"
        )
