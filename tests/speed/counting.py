"""What a call costs in numbers that do not depend on the machine."""

import gc
import sys
from collections.abc import Callable
from typing import Any, NamedTuple


class Cost(NamedTuple):
    """Calls of Python and C functions, and executed lines of `proa`, per repetition."""

    calls: float
    lines: float


def cost_of(action: Callable[[], object], repetitions: int) -> Cost:
    """The mean cost of `action`; it must be warm."""
    return Cost(_calls(action, repetitions), _lines(action, repetitions))


def _calls(action: Callable[[], object], repetitions: int) -> float:
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        if event in ("call", "c_call") and _is_ours(frame):
            count += 1

    earlier = sys.getprofile()
    sys.setprofile(profile)
    try:
        for _ in range(repetitions):
            action()
    finally:
        sys.setprofile(earlier)
    return count / repetitions


def _lines(action: Callable[[], object], repetitions: int) -> float:
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        if not _is_ours(frame):
            return None
        if event == "line":
            count += 1
        return trace

    earlier = sys.gettrace()
    sys.settrace(trace)
    try:
        for _ in range(repetitions):
            action()
    finally:
        sys.settrace(earlier)
    return count / repetitions


def _is_ours(frame: Any) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("proa.")


def cyclic_garbage(action: Callable[[], object], repetitions: int) -> int:
    """Objects that only the cycle collector could free afterwards."""
    gc.collect()
    gc.disable()
    try:
        for _ in range(repetitions):
            action()
        return gc.collect()
    finally:
        gc.enable()


def blocks_left(action: Callable[[], object], repetitions: int) -> int:
    """Memory blocks that are in use afterwards and were not before.

    As many repetitions come first: a counter above 256 takes a block, once.
    """
    for _ in range(repetitions):
        action()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(repetitions):
        action()
    gc.collect()
    return sys.getallocatedblocks() - before
