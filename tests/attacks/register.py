"""The list of attacks: each kind once, with the statuses that answer it.

SECURITY.md has the same list, and `test_list.py` holds the two together.
"""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T", bound=Callable[..., object])

RESULTS: dict[str, set[str]] = {}
"""Kind of attack → what answers it: statuses, or a word where no answer is the right one."""


def resisted(kind: str, *results: int | str) -> Callable[[T], T]:
    """Marks a test that shows what answers a kind of attack."""
    RESULTS.setdefault(kind, set()).update(map(str, results))
    return lambda test: test
