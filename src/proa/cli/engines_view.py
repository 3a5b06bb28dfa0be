"""The table of `proa engines list`; colours only on a terminal."""

import sys
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

_COLOURS = {"ready": "green", "unreachable": "red", "draining": "yellow", "loading": "yellow"}
_COLUMNS = (
    "name", "state", "kind", "models", "in_flight", "weight", "cap", "source", "url",
)  # fmt: skip
_NUMBERS = {"in_flight", "weight", "cap"}
_MODELS_SHOWN = 2
_WIDE = 500


def print_fleet(fleet: dict[str, Any], texts: dict[str, str]) -> None:
    """The engines as a table, and below it what is wrong."""
    is_terminal = sys.stdout.isatty()
    console = Console(width=None if is_terminal else _WIDE, highlight=False, soft_wrap=True)
    if fleet["engines"]:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in _COLUMNS:
            table.add_column(
                texts[column], justify="right" if column in _NUMBERS else "left", no_wrap=True
            )
        for engine in fleet["engines"]:
            table.add_row(*(_cell(column, engine, texts) for column in _COLUMNS))
        console.print(table)
    else:
        console.print(texts["none"])
    for line in _remarks(fleet, texts):
        console.print(line, markup=False)


def _cell(column: str, engine: dict[str, Any], texts: dict[str, str]) -> Text:
    match column:
        case "state":
            shown = texts["leaving"] if engine["leaving"] else engine["state"]
            return Text(shown, style=_COLOURS.get(engine["state"], ""))
        case "models":
            return Text(_models(engine["models"], texts))
        case "weight":
            return Text(f"{engine['weight']:g}")
        case "cap":
            return Text(str(engine["max_concurrent_requests"] or texts["unlimited"]))
        case _:
            return Text(str(engine.get(column, "")))


def _models(models: list[str] | None, texts: dict[str, str]) -> str:
    if models is None:
        return texts["unknown"]
    rest = len(models) - _MODELS_SHOWN
    shown = ", ".join(models[:_MODELS_SHOWN])
    return f"{shown} {texts['more'].format(count=rest)}" if rest > 0 else shown


def _remarks(fleet: dict[str, Any], texts: dict[str, str]) -> list[str]:
    lines = [
        f"{engine['name']}: {texts['changed'].format(keys=', '.join(engine['changed']))}"
        for engine in fleet["engines"]
        if engine["changed"]
    ]
    lines += [
        texts["discovery_fails"].format(**source)
        for source in fleet["discovery"]
        if source["error"]
    ]
    if fleet["state_error"]:
        lines.append(texts["state_fails"].format(error=fleet["state_error"]))
    return lines + [texts["note"].format(text=note) for note in fleet["notes"]]
