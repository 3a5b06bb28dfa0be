"""Compute every number of a report again from the raw files, to the last digit.

The report is JSON (`--format json` of `proa bench run`, `compare`, `combine`, `quality` or
`report`) or the HTML page, of which the text is compared as well. A report over several files
takes them in the same order. Exit codes: 0 all the same, 2 wrong input, 4 something differs; it
is named.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from proa.cli.texts import Texts, add_language, language_asked
from proa.errors import InputError, PromiseError

_SHOWN = 20
_OWN = ("proa", "language", "contract")


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("report", type=Path, metavar="REPORT.json|REPORT.html")
    add("files", nargs="+", type=Path, metavar="FILE.sqlite")
    add("--format", choices=("text", "json"), default="text")
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    import json

    import msgspec

    from proa.bench.keep.kept import kept
    from proa.bench.keep.verify import read_report

    texts = Texts("bench_report", language_asked(args))
    told = read_report(args.report)
    runs = [kept(path) for path in args.files]
    compared, found = _compared(args, told, runs, texts)
    if args.format == "json":
        rows = msgspec.to_builtins(found)
        sys.stdout.write(json.dumps({"compared": compared, "differences": rows}) + "\n")
    else:
        sys.stdout.write(_text(args, compared, found, texts))
    return PromiseError.exit_code if found else 0


def _compared(
    args: argparse.Namespace, told: dict[str, Any], runs: Any, texts: Texts
) -> tuple[int, list[Any]]:
    """How many values were compared, and where they differ."""
    from proa.bench.keep.documents import document_of
    from proa.bench.keep.report import report_of
    from proa.bench.keep.verify import as_json, count_values, differences

    if "runs" not in told:
        if len(runs) != 1:
            raise _another_count(args, 1, texts)
        again: dict[str, Any] = document_of(runs[0].result)
        return count_values(told), list(differences(told, as_json(again)))
    if len(told["runs"]) != len(runs):
        raise _another_count(args, len(told["runs"]), texts)
    language = str(told.get("language", "en"))
    again = report_of(runs, _contract(told, args.report), language=language)
    for mine, theirs in zip(again["runs"], told["runs"], strict=True):
        mine["file"] = theirs.get("file")  # a file may be renamed; its digest tells
    same_version = told.get("proa") == again["proa"]
    again["proa"] = told.get("proa")
    found = list(differences(told, as_json(again)))
    if args.report.suffix.lower() in (".html", ".htm") or _is_page(args.report):
        if same_version:
            found += _page_differences(args.report, again, runs)
        else:
            print(texts.say("other_version", version=told.get("proa")), file=sys.stderr)
    return count_values(told), found


def _page_differences(path: Path, again: dict[str, Any], runs: Any) -> list[Any]:
    """The page's visible text against that of a page made anew."""
    import msgspec

    from proa.bench.keep.verify import page_differences
    from proa.cli.bench.report_html import html_report

    named = [
        msgspec.structs.replace(each, path=each.path.with_name(str(told["file"])))
        for each, told in zip(runs, again["runs"], strict=True)
    ]
    page = html_report(again, named, Texts("bench_report", again["language"]))
    return list(page_differences(path.read_text(encoding="utf-8"), page))


def _contract(told: dict[str, Any], path: Path) -> Any:
    import msgspec

    from proa.domain.contract import ContractSpec

    try:
        return msgspec.convert(told.get("contract"), ContractSpec | None)
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: contract: {error}") from None


def _is_page(path: Path) -> bool:
    return path.read_text(encoding="utf-8").lstrip()[:1] == "<"


def _another_count(args: argparse.Namespace, runs: int, texts: Texts) -> InputError:
    return InputError(
        texts.say("not_in_report", path=args.report, runs=runs, files=len(args.files))
    )


def _text(args: argparse.Namespace, compared: int, found: list[Any], texts: Texts) -> str:
    if not found:
        files = ", ".join(str(path) for path in args.files)
        done = texts.say("verified", numbers=f"{compared:,}", report=args.report, file=files)
        return f"{done}\n"
    lines = []
    for each in found[:_SHOWN]:
        key = "differs" if each.where else "differs_text"
        lines.append(texts.say(key, where=each.where, told=each.told, found=each.found))
    if len(found) > _SHOWN:
        lines.append("…")
    lines.append(texts.say("differs_many", count=len(found)))
    return "\n".join(lines) + "\n"
