"""What was changed at runtime beside proa.toml, as one frozen value; kept over restarts."""

from typing import Any

import msgspec


class EngineChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was set for one engine while it served; None leaves what its entry says."""

    weight: float | None = None
    max_concurrent_requests: int | None = None
    draining: bool = False

    @property
    def keys(self) -> list[str]:
        """The names of what is set."""
        return list(msgspec.to_builtins(self))


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """All changes at runtime.

    `added` are engines as they were given, keys as in proa.toml (the name of a variable,
    never a secret). `removed` are engines of the file or of a discovery that are to stay
    away. `changed` belongs to names, wherever their engines come from.
    """

    added: dict[str, dict[str, Any]] = {}
    removed: tuple[str, ...] = ()
    changed: dict[str, EngineChange] = {}

    def add(self, name: str, entry: dict[str, Any]) -> "Changes":
        """An engine more; one that was removed under this name may come back."""
        return self._with(added=self.added | {name: entry}, removed=_without(self.removed, name))

    def bring_back(self, name: str) -> "Changes":
        """An engine that was removed takes part again."""
        return self._with(removed=_without(self.removed, name))

    def remove(self, name: str, *, remember: bool) -> "Changes":
        """An engine less; `remember` where the file or a discovery still names it."""
        removed = _without(self.removed, name)
        return self._with(
            added={key: entry for key, entry in self.added.items() if key != name},
            removed=(*removed, name) if remember else removed,
            changed={key: change for key, change in self.changed.items() if key != name},
        )

    def change(self, name: str, given: dict[str, Any]) -> "Changes":
        """Other numbers or draining for one engine; a value of None takes a change back."""
        before = self.changed.get(name, EngineChange())
        after = msgspec.structs.replace(before, **given)
        rest = {key: change for key, change in self.changed.items() if key != name}
        return self._with(changed=rest if after == EngineChange() else rest | {name: after})

    def forget(self, known: set[str], in_file: set[str]) -> "Changes":
        """Without what has lost its engine; an entry of the file replaces an addition."""
        added = {name: entry for name, entry in self.added.items() if name not in in_file}
        return self._with(
            added=added,
            removed=tuple(name for name in self.removed if name in known),
            changed={n: c for n, c in self.changed.items() if n in known or n in added},
        )

    def _with(self, **fields: Any) -> "Changes":
        return msgspec.structs.replace(self, **fields)


def read_changes(value: Any) -> Changes:
    """Changes out of the state file.

    Raises:
        ValueError: they have another form.
    """
    return msgspec.convert(value, Changes)


def _without(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(other for other in names if other != name)
