"""`[records]`: where request records go; a URL with a secret comes from the environment."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proa.config.document import Document
from proa.config.environment import variable_value
from proa.config.faults import Fault, shown_value, shown_variable
from proa.config.fields import is_records_store
from proa.control.settings import RecordsSettings
from proa.store.records import ACCEPTED

_SQLITE = "sqlite:"
_BESIDE = "records.db"


def records_settings(
    document: Document, directory: Path, environ: Mapping[str, str]
) -> tuple[RecordsSettings | None, list[Fault]]:
    """The settings, a file's path beginning at `directory`; None without the table.

    What is of a wrong type is told by `validation.py` and passed over here.
    """
    table = document.data.get("records")
    if not isinstance(table, dict):
        return None, []
    url, faults = _url(document, table, environ)
    if faults or not is_records_store(url):
        return None, faults
    if url.startswith(_SQLITE):
        url = f"{_SQLITE}{directory / url.removeprefix(_SQLITE)}"
    days = table.get("retention_days", RecordsSettings(store="", shown="").retention_days)
    if isinstance(days, bool) or not isinstance(days, int | float):
        return None, []
    shown = shown_value(url).strip('"')
    return RecordsSettings(store=url, shown=shown, retention_days=float(days)), []


def _url(
    document: Document, table: dict[str, Any], environ: Mapping[str, str]
) -> tuple[str, list[Fault]]:
    """The store's URL out of the table or the variable that it names."""
    variable = table.get("url_env")
    if not isinstance(variable, str):
        store = table.get("store", f"{_SQLITE}{_BESIDE}")
        return (store if isinstance(store, str) else ""), []
    path = ("records", "url_env")
    if "store" in table:
        accepted = "accepted is one of store and url_env"
        return "", [document.fault(path, accepted, problem="is beside store")]
    url = variable_value(variable, environ)
    if url is not None and is_records_store(url):
        return url, []
    fault = document.fault(
        path,
        f"the name of a variable in the environment that holds {ACCEPTED}",
        shown=shown_variable(variable),
        problem="is not set" if url is None else "holds no URL of a store",
    )
    return "", [fault]
