"""Small runs for tests of what is kept: one user for seven seconds, one failure."""

from pathlib import Path

import msgspec

from proa.bench.conditions import RunConditions, asked_conditions
from proa.bench.datasets import DatasetRow
from proa.bench.decode import VisitLabel
from proa.bench.gauge_stats import GaugeSample
from proa.bench.keep.row_file import RowFile
from proa.bench.keep.run_file import RunEnd, RunFile
from proa.bench.process_messages import TargetLoad, Tick
from proa.bench.raw import Asked, RawExchange
from proa.bench.run import LevelVisit, RunStart, level_visit
from proa.bench.run_spec import LevelSpec, RunSpec
from proa.bench.sample import ContentEvent, Failure, RequestSample, TokenSource
from proa.bench.slo import parse_slo
from proa.bench.target import TargetSpec
from proa.bench.visit import visit_result
from proa.bench.window import Cause, LevelWindow, WindowSpec
from proa.bench.workloads import WorkloadSpec
from proa.domain.load import EngineLoad

SPEC = RunSpec(
    targets=(
        TargetSpec(
            name="t", url="http://user:pass@10.0.0.1:8000", model="m",
            api_key="secret-key", headers={"x-key": "secret-header"},
        ),
    ),
    workload=WorkloadSpec(dataset=[DatasetRow([{"role": "user", "content": "secret text"}])]),
    window=WindowSpec(warmup_s=1.0, duration_s=4.0),
    slo=parse_slo("user_tokens_per_s>=30,ttft_s<=2"),
    seed=3,
)  # fmt: skip
TARGETS = [TargetLoad(SPEC.targets[0])]
START = RunStart(
    spec=SPEC,
    targets=TARGETS,
    check=None,
    conditions=RunConditions(
        started_unix_s=1.7e9, started_monotonic_s=100.0, asked=asked_conditions(SPEC, TARGETS)
    ),
)
LABEL = VisitLabel(0, users=1)


def sample(number: int, sent_s: float, **changes: object) -> RequestSample:
    times = [sent_s + 0.1 + n / 97 for n in range(20)]
    made = RequestSample(
        number=number, target="t", level=0, user=0, users=1, prompt=f"{number:x}",
        output_tokens_asked=20, sent_s=sent_s, wired_s=sent_s, first_byte_s=sent_s + 0.05,
        first_content_s=times[0], first_visible_s=times[0], last_content_s=times[-1],
        end_s=times[-1] + 1e-9, status=200, finish_reason="stop", input_tokens=11,
        output_tokens=20, token_source=TokenSource.USAGE, first_tokens=1, reads=20,
        events=tuple(ContentEvent(at_s, 4, read) for read, at_s in enumerate(times)),
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


def tick(at_s: float, oldest_sent_s: float | None) -> Tick:
    return Tick(
        share=0, at_s=at_s, on_wire=1, oldest_sent_s=oldest_sent_s, cpu_s=at_s / 10,
        runqueue_s=0.0, late_connects=0, pulse_delays_s=[1e-4, 0.1 + 0.2], loop_lags_s=[1e-5],
    )  # fmt: skip


def write_visit(keep: RunFile, *, end: bool = True) -> LevelVisit | None:
    """Seven seconds of one user; returns what was measured in memory."""
    before = [EngineLoad(at_s=100.0, prefix_queries_total=10.0, prefix_hits_total=1.0)]
    after = [EngineLoad(at_s=107.0, prefix_queries_total=110.0, prefix_hits_total=4.0)]
    keep.level(LABEL, 0.0, before)
    samples, ticks = [], []
    for number in range(21):
        sent_s = number / 3
        failure = Failure.STATUS if number == 7 else None
        samples.append(
            sample(number, sent_s, failure=failure, failure_text="503" if failure else "")
        )
        keep.raw(RawExchange(Asked(0, number, 0), 100.0, 100.0, [], [], 100.0 + sent_s + 0.3))
        keep.sample(samples[-1])
        ticks.append(tick(sent_s + 0.32, None))
        keep.tick(ticks[-1])
        keep.gauges([GaugeSample(sent_s, "t", "kv_use", 0.1 * number / 3)])
    if not end:
        return None
    window = LevelWindow(1.0, 5.0, 5.0, Cause.DURATION)
    result = visit_result(LABEL, samples, ticks, window, next_number=21)
    gauges = [GaugeSample(n / 3, "t", "kv_use", 0.1 * n / 3) for n in range(21)]
    visit = level_visit(LevelSpec(1), result, (before, after), start=START, gauges=gauges)
    keep.visit(visit, after)
    return visit


def started(path: Path) -> tuple[RowFile, RunFile]:
    file = RowFile(path)
    keep = RunFile(file)
    keep.started(START)
    return file, keep


def written(path: Path) -> LevelVisit:
    file, keep = started(path)
    visit = write_visit(keep)
    file.end(RunEnd(None, 1.7e9 + 7))
    file.close()
    assert file.fault is None
    assert visit is not None
    return visit
