"""Values that say what an engine's own API is like: paths it lacks, templates, field names."""

from typing import Annotated, Any

from pydantic import AfterValidator

from proa.domain.dialect import TritonFields
from proa.routing.candidates import TEXT_PATHS

_LONGEST_NAME = 128
_FIELDS = tuple(name for name in TritonFields.__struct_fields__ if name != "extra")
_NEEDED = ("text_input", "text_output")
_ACCEPTED = (
    f"a table of names, known are {', '.join(_FIELDS)}; and extra, a table of values to send"
)


def lacked_path(value: str) -> str:
    """A path whose requests proa can translate."""
    if value not in TEXT_PATHS:
        raise ValueError(f"one of {', '.join(sorted(TEXT_PATHS))}")
    return value


def role_form(value: str) -> str:
    """How a message of one role is written."""
    if value.count("{content}") != 1:
        raise ValueError("a text with {content} in it, once")
    return value


def triton_names(value: dict[str, Any]) -> dict[str, Any]:
    """Names of a Triton model's inputs and outputs; "" for none."""
    for key, name in value.items():
        if key == "extra":
            _check_extra(name)
        elif key not in _FIELDS:
            raise ValueError(f"{_ACCEPTED}; not {key!r}")
        elif not isinstance(name, str) or len(name) > _LONGEST_NAME or not name.isprintable():
            raise ValueError(f"a name as text for {key!r}")
        elif not name and key in _NEEDED:
            raise ValueError(f"a name for {key!r}: every model has one")
    return value


def _check_extra(values: object) -> None:
    if not isinstance(values, dict) or not all(
        isinstance(value, str | bool | int | float) for value in values.values()
    ):
        raise ValueError("a table of texts, numbers, true or false for 'extra'")


def triton_fields(names: dict[str, Any]) -> TritonFields:
    """The checked table as settings."""
    extra = tuple(names.get("extra", {}).items())
    return TritonFields(**{key: name for key, name in names.items() if key != "extra"}, extra=extra)


LackedPath = Annotated[str, AfterValidator(lacked_path)]
RoleForm = Annotated[str, AfterValidator(role_form)]
TritonNames = Annotated[dict[str, Any], AfterValidator(triton_names)]
