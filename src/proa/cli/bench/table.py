"""A run of `proa bench` as text: a line per visit, then what must be known beside it."""

from collections.abc import Sequence

from proa.bench.health import worst
from proa.bench.level_search import boundary_of_run, drift_of_run
from proa.bench.levels import LevelStats
from proa.bench.limits import reasons_of
from proa.bench.percentiles import Summary
from proa.bench.run import RunResult
from proa.bench.statistics.boundary_text import boundary_text
from proa.cli.bench.phrases import reasons_told, remarks_told
from proa.cli.texts import Texts, columns

_NONE = "-"
_COLUMNS = ("level", "requests", "errors", "ttft_p50", "ttft_p95", "itl", "speed_mean",
            "speed_p05", "aggregate", "attainment", "verdict", "client")  # fmt: skip


def table(result: RunResult, texts: Texts) -> str:
    """What standard output gets; `-` is "not measured", or too few requests for it."""
    rows = [[texts.say(f"column_{name}") for name in _COLUMNS]]
    rows += [_row(visit.stats, texts) for visit in result.visits]
    lines = [*_aligned(rows), "", *_notes(result, texts)]
    return "\n".join(lines) + "\n"


def _row(stats: LevelStats, texts: Texts) -> list[str]:
    level = stats.users if stats.users is not None else stats.rate
    return [
        texts.say("trace_level") if level is None else f"{level:g}",
        f"{stats.requests}",
        f"{stats.errors}",
        _seconds(stats.ttft_s.p50),
        _seconds(stats.ttft_s.p95),
        _milliseconds(stats.itl_s),
        _number(stats.user_tokens_per_s.mean),
        _number(stats.user_tokens_per_s.p05),
        _number(stats.aggregate_tokens_per_s),
        _NONE if stats.attainment is None else f"{stats.attainment:.1%}",
        _NONE if stats.verdict is None else texts.say(stats.verdict),
        texts.say(str(stats.client.verdict)),
    ]


def _notes(result: RunResult, texts: Texts) -> list[str]:
    notes = []
    boundary = boundary_of_run(result.spec, result.visits)
    if boundary is not None and result.spec.slo is not None:
        notes.append(
            boundary_text(
                boundary, result.spec.slo, texts.language, of_rates=bool(result.spec.rates)
            )
        )
    phrases = Texts("bench_report", texts.language)
    notes += reasons_told(reasons_of(result.visits, result.spec.slo), phrases)
    verdict = worst(visit.stats.client.verdict for visit in result.visits)
    by_kernel = all(visit.stats.client.clock == "kernel" for visit in result.visits)
    clock = texts.say("clock_kernel" if by_kernel else "clock_loop")
    notes += [texts.say("client_verdict", verdict=texts.say(str(verdict)), clock=clock)]
    for number, visit in enumerate(result.visits, start=1):
        said = remarks_told([*visit.stats.client.reasons, *visit.stats.warnings], phrases)
        notes += [f"  {texts.say('visit', number=number)}: {text}" for text in said]
    check = result.check
    if check is not None and check.stamp_delay_p99_s is not None:
        notes.append(
            texts.say(
                "self_check",
                users=check.users,
                processes=check.processes,
                events=check.events_per_s,
                delay=check.stamp_delay_p99_s * 1e3,
                verdict=texts.say(str(check.verdict)),
            )
        )
    if result.drift is not None:
        notes.append(texts.say("drift", drift=result.drift) + _beyond_chance(result, texts))
    if result.stopped is not None:
        notes.append(texts.say(f"stopped_{result.stopped}", visits=len(result.visits)))
    return notes


def _beyond_chance(result: RunResult, texts: Texts) -> str:
    drift = drift_of_run(result.visits)
    if drift is None:
        return ""
    key = "drift_seen" if drift.is_seen else "drift_not_seen"
    return texts.say(key, low=drift.low, high=drift.high)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(columns(row[n]) for row in rows) for n in range(len(rows[0]))]
    return [
        "  ".join(
            " " * (width - columns(cell)) + cell for cell, width in zip(row, widths, strict=True)
        )
        for row in rows
    ]


def _seconds(value: float | None) -> str:
    return _NONE if value is None else f"{value:.3f}"


def _milliseconds(found: Summary) -> str:
    return _NONE if found.mean is None else f"{found.mean * 1e3:.2f}"


def _number(value: float | None) -> str:
    return _NONE if value is None else f"{value:.1f}"
