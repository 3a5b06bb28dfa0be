"""Faults of a configuration: collected, told all at once, without secrets."""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from proa.errors import ConfigError

HIDDEN = "(hidden)"
_USERINFO = re.compile(r"//[^/?#]*@")
_QUERY = re.compile(r"[?#].*", re.DOTALL)
_LONGEST_SHOWN = 120


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a configuration.

    `key` is dotted with indices (`engines[1].url`), empty for the file as a whole.
    `shown` is the value as it may be printed, None where there is none.
    `line` is None where it is not known.
    """

    file: str
    key: str
    accepted: str
    shown: str | None = None
    problem: str = ""
    line: int | None = None

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        what = self.key if self.shown is None else f"{self.key} = {self.shown}"
        told = " ".join(part for part in (what, self.problem) if part)
        return f"{where}: {told}: {self.accepted}" if told else f"{where}: {self.accepted}"


class ConfigFaults(ConfigError):
    """Everything that is wrong with a configuration; `faults` is never empty.

    `file`, `key`, `value` and `accepted` are those of the first fault. `files` are
    those that were looked at: when one of them changes, another try is worth it.
    """

    def __init__(self, faults: Sequence[Fault], files: Sequence[Path] = ()) -> None:
        faults = in_order(faults)
        first = faults[0]
        super().__init__(first.file, first.key, first.shown, first.accepted)
        self.faults = tuple(faults)
        self.files = tuple(files)

    def __str__(self) -> str:
        return "\n".join(map(str, self.faults))


def one_fault(file: str, problem: str, accepted: str, *, line: int | None = None) -> ConfigFaults:
    """The error of a file that could not be read at all."""
    return ConfigFaults([Fault(file=file, key="", problem=problem, accepted=accepted, line=line)])


def in_order(faults: Sequence[Fault]) -> list[Fault]:
    """File by file as they were met first, by line; those without a line lead."""
    files = list(dict.fromkeys(fault.file for fault in faults))
    return sorted(faults, key=lambda fault: (files.index(fault.file), fault.line or 0))


def shown_value(value: object) -> str:
    """A value as it may be printed: user names, passwords and queries of addresses are cut."""
    if isinstance(value, dict):
        return "{…}"
    if isinstance(value, list):
        return "[…]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        safe = _QUERY.sub("?…", _USERINFO.sub("//…@", value)) if "//" in value else value
        return _shortened(f'"{safe}"')
    return _shortened(ascii(value) if isinstance(value, int | float) else str(value))


def shown_variable(name: object) -> str:
    """A variable's name; what does not look like one may be the secret itself."""
    is_name = isinstance(name, str) and name.isidentifier() and name.isascii() and name.isupper()
    return f'"{name}"' if is_name else HIDDEN


def _shortened(text: str) -> str:
    printable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    if len(printable) <= _LONGEST_SHOWN:
        return printable
    return printable[:_LONGEST_SHOWN] + "…"
