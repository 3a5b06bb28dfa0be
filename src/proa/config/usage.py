"""`[usage]`: where the usage of tenants is kept, and whose calendar its days and months are of."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proa.config.document import Document
from proa.config.faults import Fault, shown_value
from proa.config.fields import is_usage_store
from proa.config.store_url import StoreTable, from_directory, store_url
from proa.control.settings import UsageSettings
from proa.store.usage import ACCEPTED, SHARED

_TABLE = StoreTable("usage", "sqlite:usage.db", is_usage_store, ACCEPTED)
_KEPT = ("tokens_per_day", "tokens_per_month", "budget")
UTC = "UTC"


def usage_settings(
    document: Document, directory: Path, environ: Mapping[str, str]
) -> tuple[UsageSettings | None, list[Fault]]:
    """The settings, a file's path beginning at `directory`.

    Without the table, a file beside proa.toml if a tenant has a limit per day or month, which
    has to outlive a restart, else None.
    """
    table = document.data.get("usage")
    if table is None and _has_to_be_kept(document.data):
        table = {}
    if not isinstance(table, dict):
        return None, []
    url, faults = store_url(_TABLE, table, document, environ)
    if not url:
        return None, faults
    url = from_directory(url, directory)
    zone = table.get("time_zone", UTC)
    return (
        UsageSettings(
            store=url,
            shown=shown_value(url).strip('"'),
            is_shared=url.startswith(SHARED),
            time_zone=zone if isinstance(zone, str) else UTC,
        ),
        [],
    )


def _has_to_be_kept(data: Mapping[str, Any]) -> bool:
    tenants = data.get("tenants")
    entries = tenants if isinstance(tenants, list) else []
    return any(isinstance(entry, dict) and entry.get(key) for entry in entries for key in _KEPT)
