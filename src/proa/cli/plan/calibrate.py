"""What was measured, in the files of `--calibrate`: boot logs of engines, and bench runs."""

from pathlib import Path

import msgspec

from proa.cli.plan.asked import PlanAsked
from proa.cli.plan.bench_runs import BenchRun, bench_run
from proa.errors import FieldError
from proa.planner.boot_log.facts import BootLog
from proa.planner.fit.spec import FitSpec, MeasuredMemory
from proa.planner.layout import LayoutSpec
from proa.planner.text import Text


class Logged(msgspec.Struct, frozen=True, kw_only=True):
    """What a start-up log says of a start: its layout, its memory, and why to doubt that."""

    layout: LayoutSpec
    measured: MeasuredMemory
    doubts: tuple[Text, ...] = ()


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """Boot logs and bench runs, in the order of the files."""

    boots: tuple[BootLog, ...] = ()
    runs: tuple[BenchRun, ...] = ()

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
        return max((level.users for run in self.runs for level in run.levels), default=None)


def calibration_of(asked: PlanAsked) -> Calibration:
    """Every file read, each by what is in it.

    Raises:
        FieldError: a file that cannot be read.
        InputError: a log of no known engine, or of a start that did not get far enough, or a
            damaged run.
    """
    boots: list[BootLog] = []
    runs: list[BenchRun] = []
    for name in asked.calibrate:
        text = _text(name)
        run = bench_run(name, text)
        if run is None:
            from proa.planner.boot_log.read import read_boot_log

            boots.append(read_boot_log(text, name=name))
        else:
            runs.append(run)
    return Calibration(boots=tuple(boots), runs=tuple(runs))


def _text(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FieldError("calibrate", name, f"a readable file ({reason})") from None
