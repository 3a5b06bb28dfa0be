"""Flags, a scenario and the lines of a batch file → `PlanAsked`; flags win over the scenario."""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from proa.cli.plan.asked import AlternativeAsked, ModelAsked, PlanAsked
from proa.cli.plan.fields import BY_NAME, FIELDS, Kind
from proa.cli.plan.values import UnknownKeyError, at_flag, in_file, read_value
from proa.errors import FieldError

_TABLES: dict[str, type[ModelAsked] | type[AlternativeAsked]] = {
    "models": ModelAsked,
    "alternatives": AlternativeAsked,
}
KEYS = (*BY_NAME, *_TABLES)
Table = TypeVar("Table", ModelAsked, AlternativeAsked)


def asked_from_flags(args: argparse.Namespace) -> PlanAsked:
    """The scenario, where one is named, with the flags over it.

    Raises:
        FieldError: a value cannot be used; it names the flag or the file's line.
        InputError: the file cannot be read, or has a key that no question is.
    """
    values = {} if args.scenario is None else _scenario(args.scenario)
    for field in FIELDS:
        given = getattr(args, field.name)
        if given is None or given is False:
            continue
        try:
            values[field.name] = read_value(field, given)
        except FieldError as error:
            raise at_flag(error, field.flag) from None
    return PlanAsked(**values)


def asked_from_keys(keys: Mapping[str, object]) -> PlanAsked:
    """The same from keys with underscores, as a batch line or a program gives them.

    Raises:
        FieldError: a key that no question is, or a value that cannot be used.
    """
    return PlanAsked(**_values(keys))


def batch_lines(path: Path) -> Iterator[PlanAsked | FieldError]:
    """What each line of a batch file asks, or why it is refused; empty lines are skipped.

    Raises:
        InputError: the file cannot be read.
    """
    from proa.config.document import read_text

    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if line.strip():
            yield _batch_line(number, line)


def _batch_line(number: int, line: str) -> PlanAsked | FieldError:
    try:
        keys = json.loads(line)
    except (ValueError, RecursionError):
        return FieldError(f"line {number}", line.strip(), "a JSON object")
    if not isinstance(keys, dict):
        return FieldError(f"line {number}", line.strip(), "a JSON object")
    try:
        return asked_from_keys({key: value for key, value in keys.items() if value is not None})
    except FieldError as error:
        return error


def _scenario(path: Path) -> dict[str, Any]:
    from proa.config.document import read_document

    document = read_document(path)
    try:
        return _values(document.data)
    except FieldError as error:
        line = document.line(_key_path(error.field))
        place = f"{path}:{line}" if line else str(path)
        raise in_file(error, place) from None


def _values(keys: Mapping[str, object], known: tuple[str, ...] = KEYS) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in keys.items():
        if key not in known:
            raise UnknownKeyError(key, value, known)
        if key in _TABLES:
            values[key] = _tables(key, value, _TABLES[key])
        elif key == "name":
            values[key] = str(value)
        else:
            values[key] = read_value(BY_NAME[key], value)
    return values


def _tables(key: str, value: object, row: type[Table]) -> tuple[Table, ...]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise FieldError(key, value, f"tables, [[{key}]]")
    known = row.__struct_fields__
    rows = []
    for index, table in enumerate(value):
        try:
            rows.append(row(**_values(table, known)))
        except FieldError as error:
            inner = f"{key}[{index}].{error.field}"
            raise FieldError(inner, error.value, error.accepted) from None
        except TypeError:
            raise FieldError(key, table, f"a table with a name in {key}[{index}]") from None
    return tuple(rows)


def _key_path(where: str) -> tuple[str | int, ...]:
    head, bracket, rest = where.partition("[")
    if not bracket:
        return (where,)
    index, _, key = rest.partition("].")
    return (head, int(index), key)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """All flags of a plan's questions, under their headings."""
    from proa.cli.plan.fields import groups

    for group in groups():
        section = parser.add_argument_group(group)
        for field in FIELDS:
            if field.group != group:
                continue
            if field.kind == Kind.SWITCH:
                section.add_argument(
                    field.flag, action="store_true", default=None, help=_help(field.help)
                )
            else:
                action = "append" if field.kind == Kind.FILES else "store"
                shown = "|".join(field.choices) if len(field.choices) < 8 else ""
                section.add_argument(
                    field.flag, action=action, metavar=shown or field.shown, help=_help(field.help)
                )


def _help(text: str) -> str:
    return text.replace("%", "%%")
