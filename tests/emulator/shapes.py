"""Whether two JSON values have the same form: the same keys and kinds, whatever the values."""

from typing import Any


def differences(real: Any, emulated: Any, path: str = "$") -> list[str]:
    """Where the emulated value is formed otherwise than the real one.

    Lists are compared by their first elements, and None goes with everything.
    """
    if real is None or emulated is None:
        return []
    if isinstance(real, dict) and isinstance(emulated, dict):
        found = [f"{path}.{key} is not in the real one" for key in emulated if key not in real]
        found += [f"{path}.{key} is missing" for key in real if key not in emulated]
        for key in real.keys() & emulated.keys():
            found += differences(real[key], emulated[key], f"{path}.{key}")
        return found
    if isinstance(real, list) and isinstance(emulated, list):
        return differences(real[0], emulated[0], f"{path}[0]") if real and emulated else []
    both_numbers = isinstance(real, int | float) and isinstance(emulated, int | float)
    if both_numbers or type(real) is type(emulated):
        return []
    return [f"{path} is {type(emulated).__name__}, not {type(real).__name__}"]
