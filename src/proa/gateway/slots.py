"""Which cells of the shared rows belong to which name."""

from collections.abc import Callable

from proa.errors import InputError

NEVER_S = float("inf")


class Slots:
    """Gives each name a slot; a name that left keeps its own for as long as nobody needs it.

    Counters of an engine that left stay its own, also if it comes back. When no new slot
    is left, the one that was left longest ago goes to another name, if that is
    `reuse_after_s` ago (by then no request that could know the old name is left) and
    `is_idle` says so too. `clear` is called with each slot before it changes its name.
    """

    def __init__(
        self,
        what: str,
        limit: int,
        *,
        clock: Callable[[], float],
        is_idle: Callable[[int], bool] = lambda slot: True,
        clear: Callable[[int], None] = lambda slot: None,
    ) -> None:
        self._what = what
        self._limit = limit
        self._clock = clock
        self._is_idle = is_idle
        self._clear = clear
        self._by_name: dict[str, int] = {}
        self._left_at_s: dict[str, float] = {}

    def assign(self, names: list[str], *, reuse_after_s: float = NEVER_S) -> dict[str, int]:
        """The slots of `names`; all other names are taken to have left.

        Raises:
            InputError: too many names, with those that left a short time ago; nothing changed.
        """
        wanted = set(names)
        fresh = [name for name in dict.fromkeys(names) if name not in self._by_name]
        room = self._limit - len(self._by_name)
        reusable = self._reusable(wanted, reuse_after_s, len(fresh) - room)
        if len(fresh) > room + len(reusable):
            raise InputError(self._refusal(len(wanted), reuse_after_s))
        for name in fresh:
            self._by_name[name] = self._slot(reusable)
        now_s = self._clock()
        for name in self._by_name.keys() - wanted:
            self._left_at_s.setdefault(name, now_s)
        for name in wanted:
            self._left_at_s.pop(name, None)
        return {name: self._by_name[name] for name in names}

    @property
    def names(self) -> dict[str, int]:
        """Every name that has a slot, those that left included."""
        return dict(self._by_name)

    def _reusable(self, wanted: set[str], after_s: float, needed: int) -> list[str]:
        """Up to `needed` names whose slots may go to others, the last to be taken first."""
        if needed <= 0:
            return []
        until_s = self._clock() - after_s
        left = sorted(self._left_at_s.items(), key=lambda item: item[1])
        old = [name for name, at_s in left if at_s <= until_s and name not in wanted]
        idle = [name for name in old if self._is_idle(self._by_name[name])]
        return idle[:needed][::-1]

    def _slot(self, reusable: list[str]) -> int:
        if len(self._by_name) < self._limit:
            return len(self._by_name)
        name = reusable.pop()
        del self._left_at_s[name]
        slot = self._by_name.pop(name)
        self._clear(slot)
        return slot

    def _refusal(self, wanted: int, reuse_after_s: float) -> str:
        if wanted > self._limit:
            return f"{wanted} {self._what} are more than the {self._limit} that there is room for"
        told = f"no room for more {self._what}: {self._limit} with those that left a short time ago"
        if reuse_after_s == NEVER_S:
            return f"more than {self._limit} different {self._what} since the start: restart it"
        return f"{told}; room is given away {reuse_after_s:g} s (limits.total_timeout_s) later"
