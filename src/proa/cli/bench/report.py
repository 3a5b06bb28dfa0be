"""Print a kept file as a report: one HTML page, Markdown, JSON, or tables for other programs.

HTML and Markdown begin with the verdict; with --contract, each part of the clause passes, fails
or is not decided. CSV and Parquet hold a table: a run's levels, the requests (of
quality, the answers), or gauges. Exit codes: 0 done,
2 wrong input, 3 a metric that the clause bounds was not measured, 4 the contract is not kept,
or not decided.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from proa.cli.texts import Texts, add_language, language_asked
from proa.errors import FieldError, InputError, PromiseError

FORMATS = ("html", "markdown", "json", "csv", "parquet")
TABLES = ("levels", "requests", "gauges")


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="FILE.sqlite", help="of --out")
    add("--contract", type=Path, metavar="proa.toml", help="check its [contract]")
    add("--format", choices=FORMATS, default="html")
    add("--table", choices=TABLES, help="of csv and parquet (default: levels, requests)")
    add("--out", type=Path, metavar="FILE", help="default: standard output, or FILE.html")
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    from proa.bench.keep.kept import kept
    from proa.bench.keep.report import report_of

    contract = _contract(args.contract)
    runs = [kept(path) for path in args.files]
    language = language_asked(args)
    report = report_of(runs, contract, language=language)
    texts = Texts("bench_report", language)
    if args.format in ("csv", "parquet"):
        _table(args, runs, report)
    else:
        _document(args, runs, report, texts)
    clauses = [told["clause"]["verdict"] for told in report["runs"] if told["clause"]]
    return PromiseError.exit_code if any(verdict != "pass" for verdict in clauses) else 0


def _contract(path: Path | None) -> Any:
    if path is None:
        return None
    from proa.config.contract import read_contract

    return read_contract(path)


def _document(args: argparse.Namespace, runs: Any, report: dict[str, Any], texts: Texts) -> None:
    import json

    from proa.cli.bench.report_html import html_report
    from proa.cli.bench.report_page import page_of
    from proa.cli.page.markdown import markdown_page

    if args.format == "html":
        out = args.out or args.files[0].with_suffix(".html")
        _write(out, html_report(report, runs, texts))
        print(out)
        return
    if args.format == "json":
        told = json.dumps(report, ensure_ascii=False, indent=2) + "\n"
    else:
        told = markdown_page(page_of(report, runs, texts))
    _write(args.out, told)


def _table(args: argparse.Namespace, runs: Any, report: dict[str, Any]) -> None:
    from proa.cli.bench.tables_out import csv_text, table_of, write_parquet

    if args.format == "csv":
        name = args.table or ("levels" if runs[0].kind == "run" else "requests")
        _write(args.out, csv_text(table_of(name, runs, report)))
        return
    if args.out is None:
        raise FieldError("--out", "", "a file; Parquet is not written to standard output")
    write_parquet(table_of(args.table or "requests", runs, report), args.out)


def _write(path: Path | None, told: str) -> None:
    if path is None:
        sys.stdout.write(told)
        return
    try:
        path.write_text(told, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
