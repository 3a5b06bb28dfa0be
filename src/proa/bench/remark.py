"""What the bench says of a level beside its numbers: a code and values, in no language."""

from collections.abc import Iterable

import msgspec


class Remark(msgspec.Struct, frozen=True):
    """`code` is what is the case, `values` by how much, by names with their units.

    The words are the reader's (`told_CODE` in cli/translations/bench_report.toml).
    """

    code: str
    values: dict[str, float] = {}


def each_once(remarks: Iterable[Remark]) -> list[Remark]:
    """In their order, without repetitions."""
    found: list[Remark] = []
    for remark in remarks:
        if remark not in found:
            found.append(remark)
    return found
