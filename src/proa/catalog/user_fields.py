"""One table of the user's TOML rows; errors name file, key, value and what is accepted."""

import re
from collections.abc import Mapping
from fractions import Fraction

from proa.errors import ConfigError
from proa.units import parse_bytes


class UserTable:
    """A table, `at` its place in the file (`gpus[0]`)."""

    def __init__(self, table: Mapping[str, object], at: str, file: str) -> None:
        self._table, self._at, self._file = table, at, file

    def only(self, accepted: tuple[str, ...]) -> None:
        """Refuse keys that nobody reads.

        Raises:
            ConfigError: there is one.
        """
        for key in self._table:
            if key not in accepted:
                raise self.wrong(key, f"one of the keys {', '.join(accepted)}")

    def wrong(self, key: str, accepted: str) -> ConfigError:
        """The error for what stands at `key`."""
        return ConfigError(self._file, f"{self._at}.{key}", self._table.get(key), accepted)

    def has(self, key: str) -> bool:
        """True if the key is there."""
        return key in self._table

    def text(self, key: str, default: str | None = None) -> str:
        """A text that is not empty; it has to be there unless there is a default.

        Raises:
            ConfigError: it is missing, empty or no text.
        """
        found = self._table.get(key, default)
        if not isinstance(found, str) or not found.strip():
            raise self.wrong(key, "a text that is not empty")
        return found.strip()

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, empty where the key is missing.

        Raises:
            ConfigError: it is no list of texts.
        """
        found = self._table.get(key, [])
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise self.wrong(key, 'a list of texts, as ["a", "b"]')
        return tuple(found)

    def size(self, key: str, default: int | None = None) -> int:
        """Bytes, written as `"48 GiB"`, `"44.4 GiB"` (rounded down) or as a whole number.

        Raises:
            ConfigError: it is missing or no size.
        """
        found = self._table.get(key, default)
        try:
            size = _bytes(str(found)) if isinstance(found, str | int) else 0
        except ValueError as bad:
            raise self.wrong(key, str(bad).partition("accepted is ")[2]) from bad
        if size <= 0 or isinstance(found, bool):
            raise self.wrong(key, 'a size above 0, as "48 GiB"')
        return size

    def number(self, key: str, default: float | None = None) -> float:
        """A number above 0.

        Raises:
            ConfigError: it is missing, no number, or not above 0.
        """
        found = self._table.get(key, default)
        if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found < 1e18:
            raise self.wrong(key, "a number above 0")
        return float(found)

    def number_or_none(self, key: str, default: float | None) -> float | None:
        """A number above 0 that may be missing.

        Raises:
            ConfigError: it is there, and is no number above 0.
        """
        return self.number(key) if key in self._table else default

    def table(self, key: str) -> "UserTable | None":
        """A nested table, None where the key is missing.

        Raises:
            ConfigError: it is no table.
        """
        found = self._table.get(key)
        if found is None:
            return None
        if not isinstance(found, Mapping):
            raise self.wrong(key, "a table, as { key = value }")
        return UserTable(found, f"{self._at}.{key}", self._file)

    def keys(self) -> tuple[str, ...]:
        """Its keys in the order of the file."""
        return tuple(self._table)

    def raw(self) -> dict[str, object]:
        """The table as it is."""
        return dict(self._table)


_BINARY = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?([KMGT])iB", re.ASCII | re.IGNORECASE)


def _bytes(text: str) -> int:
    """As `parse_bytes`; drivers report `44.4 GiB`, which is rounded down here, not refused."""
    part = _BINARY.fullmatch(text.strip())
    if part is None:
        return parse_bytes(text)
    return int(Fraction(part[1]) * parse_bytes(f"1 {part[2]}iB"))
