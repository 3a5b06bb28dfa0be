"""Restate result files of other load generators under proa's definitions.

Read are guidellm (JSON), aiperf (profile_export.jsonl, profile_export_aiperf.json), `vllm bench
serve` (JSON; --save-detailed for single requests) and evalscope (benchmark_data.db,
benchmark_summary.json). What a file does not hold is said. Exit codes: 0 done, 2 wrong input.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proa.cli.texts import Texts, add_language, language_asked

if TYPE_CHECKING:
    from proa.bench.levels import LevelStats
    from proa.bench.restate.restated import Restated

FORMATS = ("text", "markdown", "json")
_METRICS = ("ttft_s", "itl_s", "itl_per_request_s", "tpot_s", "e2e_s", "user_tokens_per_s",
            "user_tokens_per_s_e2e")  # fmt: skip
_MILLI = 1e3


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="FILE")
    add("--format", choices=FORMATS, default="text")
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    import json

    from proa.bench.restate.read_foreign import read_foreign
    from proa.bench.restate.restated import stats_of

    texts = Texts("bench_import", language_asked(args))
    levels = [(path, level) for path in args.files for level in read_foreign(path)]
    if args.format == "json":
        rows = [_document(path, level, texts) for path, level in levels]
        sys.stdout.write(json.dumps({"levels": rows}, ensure_ascii=False, indent=2) + "\n")
        return 0
    is_markdown = args.format == "markdown"
    parts = [_view(level, stats_of(level), texts, is_markdown) for _, level in levels]
    sys.stdout.write("\n".join(parts))
    return 0


def _document(path: Path, level: "Restated", texts: Texts) -> dict[str, Any]:
    import msgspec

    from proa.bench.restate.restated import stats_of

    stats = stats_of(level)
    ours: dict[str, Any] = {} if stats is None else msgspec.to_builtins(stats)
    for name in ("client", "gpu", "gauges", "cache", "verdict", "attainment", "users", "rate"):
        ours.pop(name, None)
    return {
        "file": path.name,
        "tool": level.tool,
        "version": level.version,
        "model": level.model,
        "users": level.users,
        "rate": level.rate,
        **ours,
        "told": level.told,
        "notes": {key: texts.say(f"note_{key}") for key in level.notes},
        "lost": {key: texts.say(f"lost_{key}") for key in level.lost},
    }


def _view(level: "Restated", stats: "LevelStats | None", texts: Texts, is_markdown: bool) -> str:
    from proa.cli.bench.tables import table

    load = texts.say("no_level")
    if level.users is not None:
        load = texts.say("users_level", users=level.users)
    elif level.rate is not None:
        load = texts.say("rate_level", rate=level.rate)
    about = {
        "tool": level.tool,
        "version": level.version,
        "model": level.model or "-",
        "load": load,
    }
    if stats is None:
        title = texts.say("no_requests", **about)
    else:
        title = texts.say("title", requests=stats.requests, errors=stats.errors, **about)
    lines = [f"## {title}\n" if is_markdown else title]
    lines.append(table(list(_rows(level, stats, texts)), markdown=is_markdown))
    for key, items in (("other", level.notes), ("lost", level.lost)):
        if items:
            said = [texts.say(f"{'note' if key == 'other' else key}_{name}") for name in items]
            lines += ["", texts.say(key), *(f"- {text}" for text in said)]
    return "\n".join(lines) + "\n"


def _rows(level: "Restated", stats: "LevelStats | None", texts: Texts) -> Iterator[list[str]]:
    from proa.cli.bench.tables import number

    yield [texts.say(f"column_{name}") for name in ("metric", "told", "ours", "p50", "p95", "p99")]
    for name in _METRICS:
        factor = _MILLI if name.endswith("_s") and "per_s" not in name else 1.0
        told = level.told.get(name, {}).get("mean")
        found = None if stats is None else getattr(stats, name)
        values = [None] * 4 if found is None else [found.mean, found.p50, found.p95, found.p99]
        cells = [number(value, 1, factor) for value in (told, *values)]
        yield [texts.say(f"metric_{name}"), *cells]
    total = level.told.get("aggregate_tokens_per_s", {}).get("mean")
    ours = None if stats is None or "times" in level.lost else stats.aggregate_tokens_per_s
    yield [texts.say("metric_aggregate_tokens_per_s"), number(total), number(ours), "", "", ""]
    rate = None if stats is None else stats.error_rate
    yield [texts.say("metric_error_rate"), "", number(rate, 2, 100), "", "", ""]
