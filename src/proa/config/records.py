"""`[records]`: where request records go; a URL with a secret comes from the environment."""

from collections.abc import Mapping
from pathlib import Path

from proa.config.document import Document
from proa.config.faults import Fault, shown_value
from proa.config.fields import is_records_store
from proa.config.store_url import StoreTable, from_directory, store_url
from proa.control.settings import RecordsSettings
from proa.store.records import ACCEPTED

_TABLE = StoreTable("records", "sqlite:records.db", is_records_store, ACCEPTED)


def records_settings(
    document: Document, directory: Path, environ: Mapping[str, str]
) -> tuple[RecordsSettings | None, list[Fault]]:
    """The settings, a file's path beginning at `directory`; None without the table.

    What is of a wrong type is told by `validation.py` and passed over here.
    """
    table = document.data.get("records")
    if not isinstance(table, dict):
        return None, []
    url, faults = store_url(_TABLE, table, document, environ)
    if not url:
        return None, faults
    url = from_directory(url, directory)
    days = table.get("retention_days", RecordsSettings(store="", shown="").retention_days)
    if isinstance(days, bool) or not isinstance(days, int | float):
        return None, []
    shown = shown_value(url).strip('"')
    return RecordsSettings(store=url, shown=shown, retention_days=float(days)), []
