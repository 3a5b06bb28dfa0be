"""Restate result files of other load generators under proa's definitions.

Read are guidellm (JSON), aiperf (profile_export.jsonl, profile_export_aiperf.json), `vllm bench
serve` (JSON; --save-detailed for single requests) and evalscope (benchmark_data.db,
benchmark_summary.json). What a file does not hold is said. With --out, requests are kept as those
of a run, for `report` and `verify`; a file of sums alone has none. Exit codes: 0 done, 2 wrong
input.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from proa.cli.page.blocks import Block, Bullets, Page, Prose, Section
from proa.cli.texts import Texts, add_language, language_asked

if TYPE_CHECKING:
    from proa.bench.keep.row_file import RowFile
    from proa.bench.levels import LevelStats
    from proa.bench.restate.document import ImportResult
    from proa.bench.restate.restated import Restated

FORMATS = ("text", "markdown", "json")
_METRICS = ("ttft_s", "itl_s", "itl_per_request_s", "tpot_s", "e2e_s", "user_tokens_per_s",
            "user_tokens_per_s_e2e")  # fmt: skip
_MILLI = 1e3


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="FILE")
    add("--out", type=Path, metavar="FILE.sqlite", help="keep the requests in a new file")
    add("--format", choices=FORMATS, default="text")
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    from proa.bench.restate.document import ImportEnd, ImportResult, document
    from proa.bench.restate.read_foreign import read_foreign
    from proa.cli.bench.session import kept_in, print_told
    from proa.errors import OwnFault

    texts = Texts("bench_import", language_asked(args))
    levels = [(path.name, level) for path in args.files for level in read_foreign(path)]
    result = ImportResult([name for name, _ in levels], [level for _, level in levels])
    if args.out is not None:
        _refuse_sums(args.out, result, texts)
    _, is_kept = kept_in(
        args.out,
        lambda file: _keep(file, result),
        lambda _: ImportEnd(),
        texts.language,
    )
    print_told(document(result), page_of(result, texts), args.format)
    return 0 if is_kept else OwnFault.exit_code


def _keep(file: "RowFile | None", result: "ImportResult") -> None:
    from proa.bench.keep.import_file import write_import

    if file is not None:
        write_import(file, result)


def _refuse_sums(out: Path, result: "ImportResult", texts: Texts) -> None:
    """Raises FieldError: a level has no requests, so there is nothing to compute from."""
    from proa.errors import FieldError

    sums = [name for name, level in _pairs(result) if not level.samples]
    if sums:
        raise FieldError("--out", str(out), texts.say("only_sums", files=", ".join(sums)))


def _pairs(result: "ImportResult") -> "Iterator[tuple[str, Restated]]":
    return zip(result.files, result.levels, strict=True)


def page_of(result: "ImportResult", texts: Texts) -> Page:
    """A section for each level."""
    from proa.bench.restate.restated import stats_of

    sections = []
    for name, level in _pairs(result):
        stats = stats_of(level)
        title = f"{name}: {_title(level, stats, texts)}"
        sections.append(Section(title, tuple(_blocks(level, stats, texts))))
    requests = sum(len(level.samples) for level in result.levels)
    lead = ((texts.say("lead_levels"), f"{len(result.levels)}"),)
    return Page(
        language=texts.language,
        title=texts.say("page_title"),
        status=texts.say("status"),
        lead=(*lead, (texts.say("lead_requests"), f"{requests:,}")),
        sections=tuple(sections),
    )


def _title(level: "Restated", stats: "LevelStats | None", texts: Texts) -> str:
    load = texts.say("no_level")
    if level.users is not None:
        load = texts.say("users_level", users=level.users)
    elif level.rate is not None:
        load = texts.say("rate_level", rate=level.rate)
    told = {"tool": level.tool, "model": level.model or "-", "load": load}
    if stats is None:
        return texts.say("no_requests", **told)
    return texts.say("title", requests=stats.requests, errors=stats.errors, **told)


def _blocks(level: "Restated", stats: "LevelStats | None", texts: Texts) -> Iterator[Block]:
    from proa.cli.bench.tables import grid

    yield grid(list(_rows(level, stats, texts)))
    for key, prefix, items in (("other", "note", level.notes), ("lost", "lost", level.lost)):
        if items:
            yield Prose(texts.say(key))
            yield Bullets(tuple(texts.say(f"{prefix}_{name}") for name in items))


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
