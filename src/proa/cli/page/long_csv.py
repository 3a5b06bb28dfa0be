"""A plan's document as CSV in long form: section, row, key, value."""

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any


def csv_page(document: Mapping[str, Any]) -> str:
    """Each number of the document on a line; `row` counts from 1 in sections that are lists."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("section", "row", "key", "value"))
    for section, value in document.items():
        rows = enumerate(value, start=1) if isinstance(value, list) else [("", value)]
        for row, told in rows:
            writer.writerows((section, row, key, each) for key, each in _leaves(told))
    return out.getvalue()


def _leaves(value: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _leaves(each, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _leaves(each, f"{prefix}[{index}]")
    elif isinstance(value, bool):
        yield prefix, "true" if value else "false"
    else:
        yield prefix, "" if value is None else value
