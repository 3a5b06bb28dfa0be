"""Files of the classifier: examples a line each, and the model that was trained from them."""

import json
from pathlib import Path
from typing import Any

from msgspec import DecodeError, ValidationError

from proa.config.document import read_text
from proa.config.faults import ConfigFaults, Fault, one_fault, shown_value
from proa.routing.classify.model import Classifier, ready
from proa.routing.classify.training import Example

_LONGEST_CLASS = 64
_LINE = 'a JSON object with "text" and "class"'


def read_examples(path: Path) -> list[Example]:
    """Examples in JSON Lines: `text`, `class`, and optionally `group`; empty lines are passed over.

    Raises:
        ConfigError: `ConfigFaults` with every line that cannot be used.
    """
    examples: list[Example] = []
    faults: list[Fault] = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        found = _example(str(path), number, line)
        if isinstance(found, Fault):
            faults.append(found)
        else:
            examples.append(found)
    if not examples and not faults:
        raise one_fault(str(path), "has no examples", f"{_LINE} on each line")
    if faults:
        raise ConfigFaults(faults)
    return examples


def read_classifier(path: Path) -> tuple[bytes, Classifier]:
    """A model file's content, and what it makes.

    Raises:
        ConfigError: it cannot be read or is no model.
    """
    content = read_text(path).encode()
    try:
        return content, ready(content)
    except (ValidationError, DecodeError, ValueError) as error:
        accepted = 'a file that "proa classify train" wrote'
        raise one_fault(str(path), f"is no classifier ({error})", accepted) from error


def _example(file: str, line: int, text: str) -> Example | Fault:
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Fault(file=file, key="", line=line, problem=f"is not JSON ({error})", accepted=_LINE)
    if not isinstance(entry, dict):
        return Fault(
            file=file, key="", line=line, shown=None, problem="is no object", accepted=_LINE
        )
    for key, accepted in (
        ("text", "a string that is not empty"),
        ("class", f"a name of 1 to {_LONGEST_CLASS} printable characters"),
    ):
        if (fault := _text_fault(file, line, entry, key, accepted)) is not None:
            return fault
    group = entry.get("group", "")
    if not isinstance(group, str):
        return Fault(
            file=file,
            key="group",
            line=line,
            shown=shown_value(group),
            accepted="accepted is a string",
        )
    return Example(text=entry["text"], label=entry["class"], group=group)


def _text_fault(
    file: str, line: int, entry: dict[str, Any], key: str, accepted: str
) -> Fault | None:
    if key not in entry:
        return Fault(
            file=file, key=key, line=line, problem="is missing", accepted=f"{_LINE} is needed"
        )
    value = entry[key]
    good = isinstance(value, str) and bool(value.strip())
    if good and key == "class":
        good = len(value) <= _LONGEST_CLASS and value.isprintable()
    if good:
        return None
    return Fault(
        file=file, key=key, line=line, shown=shown_value(value), accepted=f"accepted is {accepted}"
    )
