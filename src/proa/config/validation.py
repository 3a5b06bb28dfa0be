"""pydantic's errors, told in the words of the configuration."""

from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from proa.config.document import Document, KeyPath
from proa.config.faults import HIDDEN, Fault, shown_value, shown_variable
from proa.config.later import LATER_KEYS, RENAMED_KEYS

T = TypeVar("T", bound=BaseModel)

_ACCEPTED = {
    "string_type": "a string",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "greater_than": "a number greater than {gt}",
    "greater_than_equal": "a number from {ge}",
    "less_than_equal": "a number up to {le}",
    "enum": "one of {expected}",
    "literal_error": "one of {expected}",
    "value_error": "{error}",
}
_ARRAYS_OF_TABLES = (
    "engines",
    "discovery",
    "models",
    "chat_templates",
    "routes",
    "adapters",
    "tenants",
    "keys",
)


def validate(model: type[T], document: Document) -> tuple[T | None, list[Fault]]:
    """The document as a model, or None and every fault that pydantic found."""
    try:
        return model.model_validate(document.data), []
    except ValidationError as error:
        return None, [_fault(detail, document, model) for detail in error.errors()]


def _fault(detail: ErrorDetails, document: Document, model: type[BaseModel]) -> Fault:
    path: KeyPath = detail["loc"]
    if "headers" in path and path[-1] == "[key]":  # pydantic's mark for the name of an entry
        path = path[:-1]
    match detail["type"]:
        case "missing":
            return document.fault(path, _missing(path), problem="is missing")
        case "extra_forbidden":
            return _unknown(document, path, model)
        case _:
            return document.fault(
                path, _accepted(path, detail), shown=_shown(path, detail["input"])
            )


def _accepted(path: KeyPath, detail: ErrorDetails) -> str:
    if detail["type"] == "list_type" and len(path) == 1 and path[0] in _ARRAYS_OF_TABLES:
        return f"accepted is an array of tables, each under [[{path[0]}]]"
    form = _ACCEPTED.get(detail["type"])
    text = form.format(**detail.get("ctx", {})) if form else detail["msg"]
    return f"accepted is {text}"


def _missing(path: KeyPath) -> str:
    if len(path) == 1:
        return "it is needed"
    return f"every [[{path[0]}]] needs it" if len(path) > 2 else f"[{path[0]}] needs it"


def _unknown(document: Document, path: KeyPath, model: type[BaseModel]) -> Fault:
    # The value is not printed: a mistyped key may hold a secret.
    name = ".".join(part for part in path if isinstance(part, str))
    if name in RENAMED_KEYS:
        return document.fault(path, RENAMED_KEYS[name], problem="is not a key any more")
    if name in LATER_KEYS:
        problem = "is not supported by this version of proa"
        return document.fault(path, "remove it; it would have no effect", problem=problem)
    known = _known_keys(model, path[:-1])
    close = get_close_matches(str(path[-1]), known, n=1)
    accepted = f'did you mean "{close[0]}"?' if close else f"known are {', '.join(known)}"
    return document.fault(path, accepted, problem="is not a known key")


def _known_keys(model: type[BaseModel], path: KeyPath) -> list[str]:
    for part in path:
        if isinstance(part, str):
            model = _table_of(model.model_fields[part].annotation)
    return [field.alias or name for name, field in model.model_fields.items()]


def _table_of(annotation: Any) -> type[BaseModel]:
    """The one model in `M`, `M | None` or `list[M]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(_table_of(part) for part in annotation.__args__ if part is not type(None))


def _shown(path: KeyPath, value: object) -> str:
    if path[-1] == "api_key_env":
        return shown_variable(value)
    return HIDDEN if path[-1] in ("hash", "old_hash") or "headers" in path else shown_value(value)
