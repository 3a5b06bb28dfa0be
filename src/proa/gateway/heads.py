"""Who is first in each worker's queue, as the workers tell each other in their rows."""

from collections.abc import Callable, Iterator, Sequence

from proa.gateway.bells import Bells
from proa.gateway.fair_rows import FairRows
from proa.routing.admission.order import ClassKey, OrderKey
from proa.routing.admission.priority import PRIORITIES
from proa.routing.admission.ticket import T, Ticket
from proa.telemetry.rows import ENGINE_CELLS, ENGINES_AT, LINE_AT, Header, Line, SharedRows

_CLASS, _SINCE, _ENGINES = Header.HEAD_CLASS, Header.HEAD_SINCE_US, Header.HEAD_ENGINES
_QUEUED = Header.QUEUED
_RANKS = range(len(PRIORITIES))
_BITS = 62
_US_PER_S = 1e6

Seen = tuple[int, int]
"""A worker's row and since when its first waits: the same pair is the same request."""


def engine_bit(base: int) -> int:
    """The bit of the engine whose cells begin at `base`; far-apart engines may share one."""
    return 1 << ((base - ENGINES_AT) // ENGINE_CELLS % _BITS)


class Heads:
    """Writes this worker's head, reads those of the others, rings their bells.

    `other_rows` are those of the other workers, and change with them. Reading two cells of
    another worker is not one moment: a wrong order of two requests is the worst of it.
    `fair` has the tenants of all of them.
    """

    def __init__(self, rows: SharedRows, row_index: int, other_rows: Sequence[memoryview]) -> None:
        self.bells: Bells | None = None
        self._rows = rows
        self._row = rows.rows[row_index]
        self._row_index = row_index
        self.other_rows = other_rows
        self.fair = FairRows(rows, row_index, other_rows)

    def publish(self, head: Ticket[T] | None, engines: int, waiting: Sequence[int]) -> None:
        """`engines` are the bits of all engines that somebody here waits for."""
        row = self._row
        row[_CLASS] = 0
        if head is not None:
            row[_SINCE] = int(head.arrived_s * _US_PER_S)
            row[_ENGINES] = engines
            row[_CLASS] = head.rank + 1
        for rank in _RANKS:
            row[_QUEUED + rank] = waiting[rank]

    @property
    def anybody(self) -> bool:
        """Whether somebody waits in another worker."""
        return bool(sum([row[_CLASS] for row in self.other_rows]))

    def best(self, free: int, class_key: Callable[[int], ClassKey]) -> tuple[OrderKey, Seen] | None:
        """The first of the other workers' heads that can use one of the `free` engines."""
        found = []
        for index, row in self._others():
            if row[_CLASS] and row[_ENGINES] & free:
                rank = min(_ranks_of(row), key=class_key, default=row[_CLASS] - 1)
                since_us = row[_SINCE]
                tag = self.fair.least_tag(row, rank)
                found.append(((class_key(rank), tag, since_us / _US_PER_S), (index, since_us)))
        return min(found, default=None)

    def waiting_elsewhere(self, *, below: int = -1) -> int:
        """How many wait in other workers, of the classes after that of rank `below`."""
        ranks = _RANKS[below + 1 :]
        return sum(row[_QUEUED + rank] for _, row in self._others() for rank in ranks)

    def best_class_elsewhere(self) -> int:
        """The highest class that waits in another worker; below all classes for nobody."""
        classes = [row[_CLASS] - 1 for _, row in self._others() if row[_CLASS]]
        return min(classes, default=len(PRIORITIES))

    def wake(self, row_index: int) -> None:
        """Tell a worker that it may have a place."""
        if self.bells is not None:
            self.bells.ring(row_index)

    def silence(self) -> None:
        """Our own bell was heard."""
        if self.bells is not None:
            self.bells.silence(self._row_index)

    def _others(self) -> Iterator[tuple[int, memoryview]]:
        for index, row in enumerate(self._rows.active(), 1):
            if index != self._row_index:
                yield index, row


def _ranks_of(row: memoryview) -> list[int]:
    """The classes that somebody waits in."""
    return [rank for rank in _RANKS if row[LINE_AT + Line.OLDEST_US + rank]]
