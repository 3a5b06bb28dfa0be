"""Find or mask personal data and secrets in the text on standard input, as the gateway does."""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proa.cli.texts import Texts, add_language, language_asked
from proa.errors import InputError

if TYPE_CHECKING:
    from proa.guard.finding import Finding
    from proa.guard.scan import Scanner

_INPUT = "standard input"
_SLICE_CHARS = 1 << 16
_SURROGATE = re.compile("[\ud800-\udfff]")


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="scan|mask")
    scan = actions.add_parser("scan", help="a line for each finding; never what was found")
    mask = actions.add_parser("mask", help="the text without what was found")
    scan.add_argument("--format", choices=("json", "text"), default="json")
    mask.add_argument("--format", choices=("json", "text"), default="text",
                      help="json: one line {text}, or {id, text} with --jsonl")  # fmt: skip
    mask.add_argument(
        "--mode",
        choices=("mask", "token"),
        help="token: [PHONE_1] in its place; default: mask, or as --config says",
    )
    for action in (scan, mask):
        action.add_argument("--jsonl", action="store_true", help="lines {id, text} in, lines out")
        action.add_argument("--types", metavar="A,B", help="only these types; default: all")
        action.add_argument("--config", type=Path, metavar="FILE",
                            help="a proa.toml, whose [guard] has detectors and modes")  # fmt: skip
        add_language(action)


def run(args: argparse.Namespace) -> int:
    {"scan": _scan, "mask": _mask}[args.action](args)
    return 0


def _scan(args: argparse.Namespace) -> None:
    from proa.guard.scan import Scanner
    from proa.guard.types import label

    settings = _settings(args)
    scanner = Scanner(_types(args), settings.detectors)
    texts = Texts("guard", language_asked(args))
    names = {each.name: each.label for each in settings.detectors}
    for about, text in _entries(args):
        for one in _findings(scanner, text):
            told = about | {"type": one.type, "start": one.start, "end": one.end,
                            "confidence": round(one.confidence, 2)}  # fmt: skip
            if args.format == "json":
                _write(json.dumps(told, ensure_ascii=False) + "\n")
                continue
            name = names.get(one.type) or label(one.type, texts.language)
            line = text.count("\n", 0, one.start) + 1
            column = one.start - (text.rfind("\n", 0, one.start) + 1) + 1
            place = texts.say("place", line=line, column=column)
            about_id = f"{about['id']}: " if about else ""
            _write(f"{about_id}{place}: {name} ({one.type}), {one.confidence:.0%}\n")


def _mask(args: argparse.Namespace) -> None:
    from proa.guard.mask import mask
    from proa.guard.policy import effective
    from proa.guard.scan import Scanner
    from proa.guard.tokens import TokenBook, token_texts

    settings = _settings(args)
    rule = effective(settings)
    scanner = Scanner(_types(args), settings.detectors)
    for about, text in _entries(args):
        tokens = TokenBook(settings.language, rule.labels)
        tokens.reserve(token_texts(text))
        pieces: list[str] = []
        at = 0
        for one in _findings(scanner, text):
            mode = rule.mode_of(one.type)
            if mode in ("off", "count"):
                continue
            found = text[one.start : one.end]
            new = tokens.token(one.type, found) if mode == "token" else mask(one.type, found)
            pieces += text[at : one.start], new
            at = one.end
        masked = "".join((*pieces, text[at:]))
        if args.jsonl or args.format == "json":
            _write(json.dumps(about | {"text": masked}, ensure_ascii=False) + "\n")
        else:
            _write(masked)


def _findings(scanner: "Scanner", text: str) -> Iterator["Finding"]:
    """Slice by slice, so that a text of any length has its first lines at once."""
    for piece in scanner.scan_slices(text, _SLICE_CHARS):
        yield from piece or ()


def _settings(args: argparse.Namespace) -> Any:
    """The guard's settings: of --config, with --mode and --types before them."""
    import msgspec

    from proa.config.load import Flags, load
    from proa.guard.policy import GuardSettings, Language, Mode

    mode: Mode | None = getattr(args, "mode", None)
    types: dict[str, Mode] = dict.fromkeys(_types(args) or (), mode or "mask")
    if args.config is None:
        language: Language = "ko" if language_asked(args) == "ko" else "en"
        return GuardSettings(language=language, mode=mode, types=types)
    settings = load(args.config, Flags(insecure=True)).gateway.guard
    if settings is None:
        raise InputError(f"{args.config}: [guard] is missing; accepted is a file that has one")
    if mode is not None:
        settings = msgspec.structs.replace(settings, mode=mode, types=types)
    return settings


def _types(args: argparse.Namespace) -> frozenset[str] | None:
    if args.types is None:
        return None
    return frozenset(name.strip() for name in args.types.split(",") if name.strip())


def _entries(args: argparse.Namespace) -> Iterator[tuple[dict[str, Any], str]]:
    """What goes before each text of standard input, and the text; with --jsonl the ids."""
    if not args.jsonl:
        yield {}, _decoded(sys.stdin.buffer.read(), _INPUT)
        return
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if line.strip():
            entry = _entry(f"{_INPUT}:{number}", line)
            yield {"id": entry.get("id")}, entry["text"]


def _entry(where: str, line: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(_decoded(line, where))
    except (ValueError, RecursionError) as error:
        told = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
        raise InputError(f"{where}: is not JSON ({told})") from None
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
        raise InputError(f'{where}: accepted is a JSON object with "text", a string, and an "id"')
    if _SURROGATE.search(entry["text"]) or _SURROGATE.search(
        json.dumps(entry.get("id"), ensure_ascii=False)
    ):
        raise InputError(f"{where}: has half a surrogate pair; accepted is valid Unicode")
    return entry


def _decoded(read: bytes, where: str) -> str:
    try:
        return read.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: is not UTF-8 at byte {error.start}") from None


def _write(text: str) -> None:
    """As it is: no newline is changed, whatever the locale."""
    sys.stdout.buffer.write(text.encode())
