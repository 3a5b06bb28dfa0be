"""Which rows of the shared counters, with their bells, belong to no worker."""

from proa.errors import OwnFault
from proa.gateway.bells import Bells
from proa.telemetry.rows import SharedRows


class RowPool:
    """The shared rows and which of them no worker has."""

    def __init__(self, rows: SharedRows) -> None:
        self.rows = rows
        self.bells = Bells.create()
        self._free = list(range(1, len(rows.rows)))

    def take(self) -> int:
        """A row for a new worker.

        Raises:
            OwnFault: workers that still finish what they have hold all of them.
        """
        if not self._free:
            raise OwnFault("too many old workers still finish what they have")
        index = min(self._free)
        self._free.remove(index)
        self.rows.use(index)
        return index

    def give_back(self, index: int) -> None:
        """Keep the counters of the worker that ended, and clear its row."""
        self.rows.retire(index)
        self._free.append(index)
