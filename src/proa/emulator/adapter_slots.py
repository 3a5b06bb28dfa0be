"""LoRA adapters in the GPU's slots: which are there, which are in use, what a load costs."""


class AdapterSlots:
    """At most `slots` adapters are on the GPU at one time; unused ones make room, oldest first."""

    def __init__(self, *, slots: int, load_s: float) -> None:
        self.slots = slots
        self._load_s = load_s
        self._users: dict[str, int] = {}

    @property
    def resident(self) -> tuple[str, ...]:
        """Adapters in slots, the longest unused first."""
        return tuple(self._users)

    @property
    def in_use(self) -> tuple[str, ...]:
        """Adapters of running sequences."""
        return tuple(name for name, users in self._users.items() if users)

    def can_take(self, adapter: str) -> bool:
        """Whether a sequence with this adapter can run now; without one it always can."""
        if not adapter or adapter in self._users:
            return True
        return len(self._users) < self.slots or 0 in self._users.values()

    def take(self, adapter: str) -> float:
        """Use a slot; returns the seconds that loading takes, 0 when it is there.

        Callers ask `can_take` first.
        """
        if not adapter:
            return 0.0
        users = self._users.pop(adapter, None)
        if users is None and len(self._users) >= self.slots:
            del self._users[next(name for name, used in self._users.items() if not used)]
        self._users[adapter] = (users or 0) + 1
        return self._load_s if users is None else 0.0

    def give_back(self, adapter: str) -> None:
        if adapter:
            self._users[adapter] -= 1
