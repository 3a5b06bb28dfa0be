"""The few readings that an adapter wants out of an engine's Prometheus page.

Written for pages as engines really send them, and for two reads a second of each engine:
only lines with a wanted name are looked at, and a line that cannot be read is no reading,
not the end of the page. prometheus_client's parser needs thirty times as long for vLLM's
page of 785 lines (25 ms), and gives up at the first bad line.
"""

import math
import re
from collections.abc import Collection, Iterable

import msgspec

_SAMPLE = re.compile(
    rb"[^\s{]+[ \t]*(\{(?:[^\"{}]|\"(?:[^\"\\]|\\.)*\")*\})?[ \t]+([^\s#]+)", re.DOTALL
)
_LABEL = re.compile(rb"([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n"}


class Reading(msgspec.Struct, frozen=True):
    """One labelled value; finite and not negative."""

    labels: dict[str, str]
    value: float


class Readings:
    """What a page says of some names; a name that it does not have has no readings."""

    def __init__(self, page: bytes, names: Collection[str]) -> None:
        wanted = {name.encode(): name for name in names}
        self._by_name: dict[str, list[Reading]] = {}
        for line in page.split(b"\n"):
            name = wanted.get(line.partition(b"{")[0].partition(b" ")[0].partition(b"\t")[0])
            reading = None if name is None else _reading(line)
            if name is not None and reading is not None:
                self._by_name.setdefault(name, []).append(reading)

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def series(self, *names: str) -> list[Reading]:
        """The readings of the first of `names` that has any: newer names go first."""
        return next((self._by_name[name] for name in names if name in self._by_name), [])

    def total(self, *names: str, copies: Iterable[str] = (), **labels: str) -> float | None:
        """Sum over all series with these labels, None without any.

        Series that differ only in the labels `copies` tell the same thing several times:
        of those the greatest counts.
        """
        left_out = frozenset(copies)
        groups: dict[frozenset[tuple[str, str]], float] = {}
        for reading in self._matching(names, labels):
            rest = frozenset(item for item in reading.labels.items() if item[0] not in left_out)
            groups[rest] = max(reading.value, groups.get(rest, 0.0))
        return sum(groups.values()) if groups else None

    def count(self, *names: str, copies: Iterable[str] = (), **labels: str) -> int | None:
        """`total` as a whole number."""
        total = self.total(*names, copies=copies, **labels)
        return None if total is None else round(total)

    def greatest(self, *names: str, **labels: str) -> float | None:
        """The greatest value over all series with these labels, None without any."""
        return max((reading.value for reading in self._matching(names, labels)), default=None)

    def share(self, *names: str) -> float | None:
        """The greatest value, at most 1: the fullest rank is the one that makes others wait."""
        greatest = self.greatest(*names)
        return None if greatest is None else min(greatest, 1.0)

    def _matching(self, names: tuple[str, ...], labels: dict[str, str]) -> list[Reading]:
        return [r for r in self.series(*names) if labels.items() <= r.labels.items()]


def _reading(line: bytes) -> Reading | None:
    sample = _SAMPLE.match(line)
    if sample is None:
        return None
    try:
        value = float(sample[2])
    except ValueError:
        return None
    if not math.isfinite(value) or value < 0:
        return None
    return Reading(_labels(sample[1] or b""), value)


def _labels(text: bytes) -> dict[str, str]:
    return {
        name.decode(): _ESCAPE.sub(_unescaped, value.decode("utf-8", "replace"))
        for name, value in _LABEL.findall(text)
    }


def _unescaped(escape: re.Match[str]) -> str:
    return _ESCAPED.get(escape[1], escape[1])
