"""Settings of a start, read from the argument lists that engines print."""

from proa.planner.boot_log.scan import number, settings

_NONE = {"None", "null", ""}


def text_setting(text: str, *keys: str) -> str | None:
    """The first of `keys` that has a value, as it is written there."""
    for key in keys:
        for value in settings(text, key):
            if value not in _NONE:
                return value
    return None


def whole_setting(text: str, *keys: str) -> int | None:
    """The same, as a whole number."""
    value = real_setting(text, *keys)
    return None if value is None else int(value)


def real_setting(text: str, *keys: str) -> float | None:
    """The same, as a number."""
    value = text_setting(text, *keys)
    return None if value is None else number(value)


def switch_setting(text: str, *keys: str) -> bool | None:
    """The same, as a yes or no."""
    value = text_setting(text, *keys)
    return {"True": True, "False": False, "true": True, "false": False}.get(value or "")
