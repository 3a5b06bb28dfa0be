"""The tables accept the keys that the settings have, no more and no fewer."""

import msgspec
import pytest
from pydantic import BaseModel

from proa.config import tables
from proa.gateway.settings import LimitsSettings, LogSettings, TlsSettings
from proa.routing.spec import BreakerSpec, MatchSpec, ModelSpec, OverflowSpec, RouteSpec


@pytest.mark.parametrize(
    ("table", "settings"),
    [
        (tables.LimitsTable, LimitsSettings),
        (tables.BreakerTable, BreakerSpec),
        (tables.LogsTable, LogSettings),
        (tables.TlsTable, TlsSettings),
        (tables.MatchTable, MatchSpec),
        (tables.ModelTable, ModelSpec),
        (tables.OverflowTable, OverflowSpec),
        (tables.RouteTable, RouteSpec),
    ],
)
def test_a_table_has_the_keys_of_its_settings(
    table: type[BaseModel], settings: type[msgspec.Struct]
) -> None:
    assert set(table.model_fields) == {field.name for field in msgspec.structs.fields(settings)}
