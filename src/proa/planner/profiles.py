"""What every engine's memory profile offers, and how a version finds its own."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, TypeVar

from proa.planner.fit_spec import FitPlan, FitSpec

_VERSION = re.compile(r"v?(\d+)\.(\d+)")
_Profile = TypeVar("_Profile")


class EngineProfile(ABC):
    """How one engine shares out a GPU's memory."""

    name: ClassVar[str]

    @abstractmethod
    def fit(self, spec: FitSpec) -> FitPlan:
        """The memory after a start.

        Raises:
            InputError: a flag that this engine would refuse.
        """


def version_pair(version: str) -> tuple[int, int] | None:
    """(0, 19) of `0.19.1.dev6+g6d4a`; None where the text does not begin with a version."""
    match = _VERSION.match(version.strip())
    return (int(match[1]), int(match[2])) if match else None


def nearest(
    profiles: Mapping[tuple[int, int], _Profile], version: str | None
) -> tuple[tuple[int, int], _Profile, bool]:
    """The profile of `version`, or the nearest one; True says that it is that version's own.

    Without a version the newest is taken, which is not called its own.
    """
    wanted = version_pair(version) if version else None
    if wanted is None:
        key = max(profiles)
        return key, profiles[key], False
    key = min(profiles, key=lambda known: abs(_ordinal(known) - _ordinal(wanted)))
    return key, profiles[key], key == wanted


def _ordinal(pair: tuple[int, int]) -> int:
    return pair[0] * 1000 + pair[1]
