"""The tables accept the keys that the settings have, no more and no fewer."""

import msgspec
import pytest
from pydantic import BaseModel

from proa.config import tables
from proa.domain.dialect import ChatTemplate
from proa.gateway.settings import LimitsSettings, LogSettings, TlsSettings
from proa.guard.detectors import DetectorSpec
from proa.guard.policy import GuardSettings, GuardSpec
from proa.routing.spec import BreakerSpec, MatchSpec, ModelSpec, OverflowSpec, RouteSpec


@pytest.mark.parametrize(
    ("table", "settings"),
    [
        (tables.LimitsTable, LimitsSettings),
        (tables.BreakerTable, BreakerSpec),
        (tables.LogsTable, LogSettings),
        (tables.TlsTable, TlsSettings),
        (tables.MatchTable, MatchSpec),
        (tables.OverflowTable, OverflowSpec),
    ],
)
def test_a_table_has_the_keys_of_its_settings(
    table: type[BaseModel], settings: type[msgspec.Struct]
) -> None:
    assert set(table.model_fields) == names(settings)


def test_words_on_the_guard_have_the_keys_of_its_settings() -> None:
    assert set(tables.GuardWordsTable.model_fields) == names(GuardSpec)
    assert set(tables.GuardTable.model_fields) == names(GuardSettings)
    assert set(tables.DetectorTable.model_fields) == names(DetectorSpec)
    assert set(tables.RouteTable.model_fields) == names(RouteSpec) | {"guard"}


def test_models_and_templates_have_the_keys_of_their_settings() -> None:
    assert set(tables.ModelTable.model_fields) == names(ModelSpec) | {"chat_template"}
    assert set(tables.ChatTemplateTable.model_fields) == names(ChatTemplate) | {"name"}


def names(settings: type[msgspec.Struct]) -> set[str]:
    return {field.name for field in msgspec.structs.fields(settings)}
