"""The URL of a store, out of its table or the variable in the environment that the table names."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from proa.config.document import Document
from proa.config.environment import variable_value
from proa.config.faults import Fault, shown_variable

_SQLITE = "sqlite:"


class StoreTable(NamedTuple):
    """A table with `store` and `url_env`; `accepts` knows the URLs that `accepted` tells of."""

    name: str
    default: str
    accepts: Callable[[str], bool]
    accepted: str


def store_url(
    of: StoreTable, table: dict[str, Any], document: Document, environ: Mapping[str, str]
) -> tuple[str, list[Fault]]:
    """The URL, empty where it is told elsewhere that it is of a wrong type or form."""
    variable = table.get("url_env")
    if not isinstance(variable, str):
        store = table.get("store", of.default)
        return (store if isinstance(store, str) and of.accepts(store) else ""), []
    path = (of.name, "url_env")
    if "store" in table:
        accepted = "accepted is one of store and url_env"
        return "", [document.fault(path, accepted, problem="is beside store")]
    url = variable_value(variable, environ)
    if url is not None and of.accepts(url):
        return url, []
    fault = document.fault(
        path,
        f"the name of a variable in the environment that holds {of.accepted}",
        shown=shown_variable(variable),
        problem="is not set" if url is None else "holds no URL of a store",
    )
    return "", [fault]


def from_directory(url: str, directory: Path) -> str:
    """The URL, a file's path beginning at `directory`."""
    if url.startswith(_SQLITE):
        return f"{_SQLITE}{directory / url.removeprefix(_SQLITE)}"
    return url
