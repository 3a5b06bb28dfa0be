"""From users to sessions, context, memory, GPUs, speed, cost and clause; or from GPUs to promises.

Flags, a scenario in TOML with the same keys (underscores), or both: flags win. Nothing is
fetched; models, GPUs and prices come from the catalogue inside, or from files of one's own.
"""

import argparse
import json
import sys
from pathlib import Path

from proa.cli.plan.asked import PlanAsked
from proa.cli.plan.input import add_flags, asked_from_flags, batch_lines
from proa.cli.texts import add_language, language_asked
from proa.errors import FieldError, InputError

FORMATS = ("text", "json", "markdown", "html", "csv")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.allow_abbrev = False
    parser.add_argument("scenario", nargs="?", type=Path, metavar="SCENARIO.toml")
    add_flags(parser)
    parser.add_argument("--batch", type=Path, metavar="FILE", help="one plan a line, as JSON")
    parser.add_argument("--format", choices=FORMATS, default="text")
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    language = language_asked(args)
    if args.batch is not None:
        return _run_batch(args.batch, language)
    asked = asked_from_flags(args)
    if asked == PlanAsked():
        raise InputError("nothing is asked: give --users, --sessions or --gpus, see --help")
    sys.stdout.write(told(asked, args.format, language))
    return 0


def told(asked: PlanAsked, form: str, language: str) -> str:
    """The answer in one of the formats.

    Raises:
        InputError: something asked cannot be used, or the contract cannot be written.
    """
    from proa.cli.plan.document import document_of
    from proa.cli.plan.think import think

    document = document_of(think(asked), language)
    if asked.contract_out is not None:
        _write_contract(asked.contract_out, document["contract_toml"])
    if form == "json":
        return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    if form == "csv":
        from proa.cli.page.long_csv import csv_page

        return csv_page(document)
    from proa.cli.plan.page import page_of
    from proa.cli.plan.texts import PlanTexts

    texts = PlanTexts(language)
    page = page_of(document, texts, is_html=form == "html")
    if form == "html":
        from proa.cli.page.html import html_page

        confirmed = document["status"] == "confirmed"
        return html_page(page, footer=texts.say("footer"), look="confirmed" if confirmed else "")
    if form == "markdown":
        from proa.cli.page.markdown import markdown_page

        return markdown_page(page)
    from proa.cli.page.plain_text import text_page

    return text_page(page)


def _run_batch(path: Path, language: str) -> int:
    """A line each, in order; a refused one is an `error` object, and the rest goes on."""
    for asked in batch_lines(path):
        print(json.dumps(_answer(asked, language), ensure_ascii=False))
    return 0


def _answer(asked: PlanAsked | FieldError, language: str) -> dict[str, object]:
    from proa.cli.plan.document import document_of
    from proa.cli.plan.think import think

    if isinstance(asked, FieldError):
        return _error(asked)
    try:
        return document_of(think(asked), language)
    except InputError as error:
        return _error(error)


def _error(error: InputError) -> dict[str, object]:
    told: dict[str, object] = {"field": None, "value": None, "accepted": None}
    if isinstance(error, FieldError):
        told = {"field": error.field, "value": error.value, "accepted": error.accepted}
    return {"error": told | {"message": str(error)}}


def _write_contract(name: str, table: str | None) -> None:
    if table is None:
        raise FieldError("contract_out", name, "a plan with users, sessions or GPUs to promise")
    try:
        Path(name).write_text(table, encoding="utf-8")
    except OSError as error:
        raise FieldError("contract_out", name, f"a writable file ({error.strerror})") from None
