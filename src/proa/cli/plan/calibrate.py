"""What was measured, in the files of `--calibrate`: boot logs of engines, and bench runs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from proa.cli.plan.asked import PlanAsked
from proa.domain.contract import ContractRule, ContractSpec
from proa.errors import FieldError
from proa.planner.boot_log.facts import BootLog
from proa.planner.fit.spec import FitSpec, MeasuredMemory
from proa.planner.layout import LayoutSpec
from proa.planner.text import Text


class BenchLevel(msgspec.Struct, frozen=True, kw_only=True):
    """One level of a bench run; None is what was not measured."""

    users: int
    user_tokens_per_s: float | None = None
    ttft_p95_s: float | None = None
    attainment: float | None = None


class Logged(msgspec.Struct, frozen=True, kw_only=True):
    """What a start-up log says of a start: its layout, its memory, and why to doubt that."""

    layout: LayoutSpec
    measured: MeasuredMemory
    doubts: tuple[Text, ...] = ()


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """Boot logs and bench levels, in the order of the files."""

    boots: tuple[BootLog, ...] = ()
    levels: tuple[BenchLevel, ...] = ()

    def confirms(self, contract: ContractSpec) -> bool:
        """Whether a level of at least the promised sessions kept the whole promise."""
        return any(
            level.users >= contract.sessions and _keeps(level, contract) for level in self.levels
        )

    def logged(self, start: FitSpec, *, tp: int | None, pp: int | None) -> "Logged | None":
        """What the log of this engine and GPU says of `start`, in the split asked for or logged."""
        if not self.boots:
            return None
        from proa.planner.calibration.start import calibrated_fit, nearest_boot
        from proa.planner.fit.fit import fit

        boot = nearest_boot(start, self.boots)
        if boot is None:
            return None
        layout = LayoutSpec(
            tensor_parallel=tp or boot.flags.tensor_parallel or 1,
            pipeline_parallel=pp or boot.flags.pipeline_parallel or 1,
        )
        plan = calibrated_fit(msgspec.structs.replace(start, layout=layout), self.boots, fit)
        measured = MeasuredMemory(
            gpu_bytes=plan.gpu_bytes,
            weights_bytes=plan.weights_bytes,
            activation_bytes=plan.activation_bytes,
            non_torch_bytes=plan.non_torch_bytes,
            cuda_graph_bytes=plan.cuda_graph_bytes,
        )
        return Logged(layout=layout, measured=measured, doubts=plan.doubts)

    @property
    def most_users(self) -> int | None:
        """The most users at once of any run, None without one."""
        return max((level.users for level in self.levels), default=None)


def calibration_of(asked: PlanAsked) -> Calibration:
    """Every file read, each by what is in it.

    Raises:
        FieldError: a file that cannot be read.
        InputError: a log of no known engine, or of a start that did not get far enough.
    """
    boots: list[BootLog] = []
    levels: list[BenchLevel] = []
    for name in asked.calibrate:
        text = _text(name)
        run = _bench_run(text)
        if run is None:
            from proa.planner.boot_log.read import read_boot_log

            boots.append(read_boot_log(text, name=name))
        else:
            levels += [_level(level) for level in run["levels"] if isinstance(level, dict)]
    return Calibration(boots=tuple(boots), levels=tuple(levels))


def _text(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FieldError("calibrate", name, f"a readable file ({reason})") from None


def _bench_run(text: str) -> dict[str, Any] | None:
    """The document of `proa bench run --format json`, None for any other text."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_run = isinstance(document, dict) and isinstance(document.get("levels"), list)
    return document if is_run else None


def _level(level: Mapping[str, Any]) -> BenchLevel:
    return BenchLevel(
        users=int(_number(level.get("users")) or 0),
        user_tokens_per_s=_number(_inner(level, "user_tokens_per_s", "mean")),
        ttft_p95_s=_number(_inner(level, "ttft_s", "p95")),
        attainment=_number(level.get("attainment")),
    )


def _inner(level: Mapping[str, Any], key: str, statistic: str) -> object:
    stats = level.get(key)
    return stats.get(statistic) if isinstance(stats, dict) else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def _keeps(level: BenchLevel, contract: ContractSpec) -> bool:
    speed, ttft = level.user_tokens_per_s, level.ttft_p95_s
    if speed is None or speed < contract.user_tokens_per_s:
        return False
    if contract.ttft_p95_s is not None and (ttft is None or ttft > contract.ttft_p95_s):
        return False
    if contract.rule is ContractRule.MEAN:
        return True
    return level.attainment is not None and level.attainment >= contract.attainment
