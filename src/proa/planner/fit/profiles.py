"""What every engine's memory profile offers, and how a version finds its own."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, TypeAlias, TypeVar

from proa.planner.fit.spec import FitPlan, FitSpec

Version: TypeAlias = tuple[int, int, int]

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")
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


def parse_version(text: str) -> Version | None:
    """(0, 19, 1) of `0.19.1.dev6+g6d4a`; None where the text does not begin with a version."""
    match = _VERSION.match(text.strip())
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def nearest(
    profiles: Mapping[Version, _Profile], version: str | None
) -> tuple[Version, _Profile, bool]:
    """The profile of `version`, or the nearest one; True says that it is that minor version's own.

    Patch releases take the last profile of their minor version that is not newer. Without a
    version the newest is taken, which is not called its own.
    """
    wanted = parse_version(version) if version else None
    if wanted is None:
        key = max(profiles)
        return key, profiles[key], False
    same = [known for known in profiles if known[:2] == wanted[:2]]
    if same:
        key = max((known for known in same if known <= wanted), default=min(same))
        return key, profiles[key], True
    key = min(profiles, key=lambda known: abs(_ordinal(known) - _ordinal(wanted)))
    return key, profiles[key], False


def _ordinal(version: Version) -> int:
    return (version[0] * 1000 + version[1]) * 1000 + version[2]
