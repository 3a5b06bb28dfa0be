"""What load runs say of the speed that is planned: which of them count, and by how much."""

from collections.abc import Iterator, Sequence

import msgspec

from proa.catalog.gpus import known_gpu
from proa.catalog.models import known_model
from proa.cli.plan.asked import PlanAsked
from proa.cli.plan.bench_runs import BenchLevel, BenchRun
from proa.cli.plan.place import engine_of, layout_of, seat_of
from proa.cli.plan.subject import Subject
from proa.cli.plan.texts import both
from proa.domain.contract import ContractSpec
from proa.domain.gpu import GpuSpec
from proa.planner.assumptions import Assumption
from proa.planner.place.need import NeedSpec
from proa.planner.speed.calibration import MeasuredSpeed, SpeedCalibration
from proa.planner.speed.measured_levels import MeasuredLevel, speed_calibration
from proa.planner.speed.performance import PerformanceSpec
from proa.planner.text import Text

_ENGINES = ("vllm", "sglang", "tgi", "llamacpp")


class RunsView(msgspec.Struct, frozen=True, kw_only=True):
    """The runs that are of the plan's model, GPU and engine, and what became of them."""

    runs: tuple[BenchRun, ...] = ()
    speed: SpeedCalibration | None = None
    most_users: float = 0.0
    warnings: tuple[Text, ...] = ()
    assumptions: tuple[Assumption, ...] = ()

    def confirms(self, contract: ContractSpec) -> bool:
        """Whether a level of at least the promised sessions kept the whole promise."""
        return any(level.keeps(contract) for run in self.runs for level in run.levels)


def runs_view(
    asked: PlanAsked,
    runs: Sequence[BenchRun],
    subject: Subject | None,
    gpu: GpuSpec | None,
    need: NeedSpec,
) -> RunsView:
    """Runs of another model, GPU or engine are left out and named; what is not said is assumed.

    The last run that counts scales the speed. Its layout is the plan's own (`--tp`, `--pp`, or
    the one that is placed); users are spread over its targets.
    """
    used: list[BenchRun] = []
    warnings: list[Text] = []
    assumed: list[Assumption] = []
    for run in runs:
        facts = list(_facts(run, asked, subject, gpu))
        other = [
            both("warn_run_other").fill(file=run.file, seen=f[1], planned=f[2])
            for f in facts
            if f[3]
        ]
        warnings += other
        if other:
            continue
        used.append(run)
        silent = ", ".join(key for key, seen, *_ in facts if not seen)
        if silent:
            text = _listed("assumed_run_same", run.file, [f[0] for f in facts if not f[1]])
            assumed.append(Assumption(field=f"calibrate:{run.file}", value=silent, text=text))
    if subject is None or gpu is None or not used:
        return RunsView(runs=tuple(used), warnings=tuple(warnings), assumptions=tuple(assumed))
    return _scaled(asked, tuple(used), (subject, gpu, need), (warnings, assumed))


def _facts(
    run: BenchRun, asked: PlanAsked, subject: Subject | None, gpu: GpuSpec | None
) -> Iterator[tuple[str, str, str, bool]]:
    """(what, as measured, as planned, whether they surely differ), of what the plan names."""
    if subject is not None and not subject.is_sketch:
        seen = ", ".join(run.models)
        known = [found for name in run.models if (found := known_model(name)) is not None]
        yield "model", seen, subject.llm.id, any(not _same(row.id, subject.llm.id) for row in known)
    if gpu is not None:
        cards = [card for name in run.gpus if (card := known_gpu(name)) is not None]
        seen = ", ".join(dict.fromkeys(run.gpus))
        yield "gpu", seen, gpu.name, any(card.id != gpu.id for card in cards)
        engine = engine_of(asked, gpu)
        kinds = [kind for kind in run.engines if kind in _ENGINES]
        yield "engine", ", ".join(kinds), engine, any(kind != engine for kind in kinds)


def _same(one: str, other: str) -> bool:
    """Whether two ids are of one model, in whatever precision."""
    first, second = (name.rpartition("/")[2].casefold() for name in (one, other))
    return first.startswith(second) or second.startswith(first)


def _scaled(
    asked: PlanAsked,
    runs: tuple[BenchRun, ...],
    planned: tuple[Subject, GpuSpec, NeedSpec],
    said: tuple[list[Text], list[Assumption]],
) -> RunsView:
    run, (subject, gpu, need) = runs[-1], planned
    warnings, assumed = said
    levels = [each for each in run.levels if each.users > 0 and each.tpot_s]
    seat = seat_of(asked, subject, gpu, need)
    view = RunsView(runs=runs, warnings=tuple(warnings), assumptions=tuple(assumed))
    if not levels or seat.plan is None:
        return view
    lengths = (_mean(levels, "input_tokens"), _mean(levels, "output_tokens"))
    spec = PerformanceSpec(
        llm=subject.llm,
        gpu=gpu,
        layout=layout_of(seat.plan),
        engine=seat.spec.start.engine,
        input_tokens=max(1.0, lengths[0] or need.input_tokens),
        output_tokens=max(1.0, lengths[1] or need.output_tokens),
        users=1.0,
        places=float(max(1, seat.plan.limits.memory_sessions)),
        kv_dtype=subject.kv_dtype,
        link=seat.plan.links.link,
        stage_link=seat.plan.links.stage_link,
    )
    most = max(each.users for each in levels) / run.targets
    found = speed_calibration(spec, [_measured(each, run) for each in levels], _hinge(run, spec))
    each_has = -(-need.sessions // seat.plan.replicas)
    if each_has > most:
        beyond = both("warn_run_beyond").fill(file=run.file, most=f"{most:g}", planned=each_has)
        warnings = [*warnings, beyond]
    layout = spec.layout
    text = both("assumed_speed_measured").fill(
        file=run.file,
        levels=len(found.levels),
        most=f"{most:g}",
        layout=f"TP{layout.tensor_parallel} PP{layout.pipeline_parallel}",
    )
    assumed = [*assumed, Assumption(field="calibrate", value=run.file, text=text)]
    return msgspec.structs.replace(
        view, speed=found, most_users=most, warnings=tuple(warnings), assumptions=tuple(assumed)
    )


def _measured(level: BenchLevel, run: BenchRun) -> MeasuredLevel:
    return MeasuredLevel(
        users=level.users / run.targets,
        tpot_s=level.tpot_s or 0.0,
        ttft_s=level.ttft_s or None,
        ttft_p95_s=level.ttft_p95_s or None,
    )


def _hinge(run: BenchRun, spec: PerformanceSpec) -> MeasuredSpeed | None:
    hinge = run.hinge
    if hinge is None or hinge.knee_users / run.targets < 2:
        return None
    return MeasuredSpeed(
        base_s=hinge.a_s,
        per_user_s=hinge.b_s * run.targets,
        knee_users=hinge.knee_users / run.targets,
        input_tokens=spec.input_tokens,
        output_tokens=spec.output_tokens,
    )


def _mean(levels: Sequence[BenchLevel], field: str) -> float | None:
    known = [value for each in levels if (value := getattr(each, field)) is not None]
    return sum(known) / len(known) if known else None


def _listed(key: str, file: str, names: Sequence[str]) -> Text:
    """The text with names of things in each language."""
    things = [both(f"run_{name}") for name in names]
    text = both(key)
    return Text(
        text.ko.format(file=file, what=", ".join(each.ko for each in things)),
        text.en.format(file=file, what=", ".join(each.en for each in things)),
    )
