"""Which cells of the shared rows belong to which name, for the life of the supervisor."""

from proa.errors import InputError


class Slots:
    """Gives each name a slot and never gives it to another name.

    Counters of an engine that left stay its own, also if it comes back.
    """

    def __init__(self, what: str, limit: int) -> None:
        self._what = what
        self._limit = limit
        self._by_name: dict[str, int] = {}

    def assign(self, names: list[str]) -> dict[str, int]:
        """The slots of `names`.

        Raises:
            InputError: more different names than there are slots since the start.
        """
        fresh = [name for name in names if name not in self._by_name]
        if len(self._by_name) + len(fresh) > self._limit:
            raise InputError(
                f"more than {self._limit} different {self._what} since the start: restart it"
            )
        for name in fresh:
            self._by_name[name] = len(self._by_name)
        return {name: self._by_name[name] for name in names}

    @property
    def names(self) -> dict[str, int]:
        """Every name that ever had a slot."""
        return dict(self._by_name)
