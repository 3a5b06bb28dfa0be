"""What one engine start would log: weights, activation, CUDA graphs, KV cache, concurrency.

Nothing is started, and nothing is asked over the network. With --calibrate LOG, a start-up log
of the same machine takes the place of the estimates. A start that does not fit is an answer,
not an error: exit code 0, "fits": false, and how much is missing. Exit code 2: wrong input.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proa.cli.texts import Texts, add_language, language_asked
from proa.errors import FieldError, InputError

if TYPE_CHECKING:
    from proa.cli.fit.answer import FitAnswer

FORMATS = ("text", "json", "markdown", "csv")


def configure(parser: argparse.ArgumentParser) -> None:
    from proa.cli.fit.fields import FIELDS, SIZES
    from proa.cli.plan.fields import Kind

    sections: dict[str, Any] = {}
    for field in FIELDS:
        section = sections.get(field.group) or parser.add_argument_group(field.group)
        sections[field.group] = section
        if field.kind == Kind.SWITCH:
            section.add_argument(field.flag, action="store_true", default=None, help=field.help)
        else:
            action = "append" if field.kind == Kind.FILES else "store"
            shown = "|".join(field.choices) or ("SIZE" if field.name in SIZES else field.shown)
            section.add_argument(field.flag, action=action, metavar=shown, help=field.help)
    parser.add_argument(
        "--batch", type=Path, metavar="FILE.jsonl", help="a start on each line; answers in JSON"
    )
    parser.add_argument("--format", choices=FORMATS, help="default: text; json with --batch")
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    from proa.cli.fit.fields import BY_NAME

    given = {name: getattr(args, name) for name in BY_NAME}
    if args.batch is not None:
        if args.format not in (None, "json"):
            raise FieldError("--format", args.format, "json, where --batch is given")
        for line in _batch(args.batch, given):
            sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
        return 0
    try:
        told = _answered(given)
    except FieldError as error:
        from proa.cli.plan.values import at_flag

        field = BY_NAME.get(error.field)
        raise (at_flag(error, field.flag) if field else error) from None
    sys.stdout.write(_printed(told, args.format or "text", language_asked(args)))
    return 0


def _answered(keys: Mapping[str, object]) -> "FitAnswer":
    from proa.cli.fit.answer import answer
    from proa.cli.fit.asked import asked_of, read_keys

    return answer(asked_of(read_keys(keys)))


def _printed(told: "FitAnswer", form: str, language: str) -> str:
    from proa.cli.fit.answer import document

    if form == "json":
        return json.dumps(document(told), ensure_ascii=False, indent=2) + "\n"
    if form == "csv":
        from proa.cli.page.long_csv import csv_page

        return csv_page({"fit": document(told)})
    from proa.cli.fit.page import fit_page

    page = fit_page(told, Texts("fit", language))
    if form == "markdown":
        from proa.cli.page.markdown import markdown_page

        return markdown_page(page)
    from proa.cli.page.plain_text import text_page

    return text_page(page)


def _batch(path: Path, given: Mapping[str, object]) -> Iterator[dict[str, Any]]:
    """An answer for each line that is not empty; flags stand in for keys that a line lacks."""
    from proa.cli.fit.answer import document
    from proa.config.document import read_text

    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            yield document(_answered({**given, **_object(number, line)}))
        except InputError as error:
            yield {"error": _refusal(error)}


def _object(number: int, line: str) -> dict[str, object]:
    try:
        keys = json.loads(line)
    except (ValueError, RecursionError):
        keys = None
    if not isinstance(keys, dict):
        raise FieldError(f"line {number}", line.strip()[:200], "a JSON object")
    return keys


def _refusal(error: InputError) -> dict[str, object]:
    told: dict[str, object] = {"message": str(error)}
    for name in ("field", "value", "accepted"):
        told[name] = getattr(error, name, None)
    return told
