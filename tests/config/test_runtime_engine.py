"""Engines and changes that come at runtime: the same words as for proa.toml."""

from typing import Any

import pytest

from proa.config.runtime_engine import RuntimeRules, read_change, read_engine
from proa.domain.fleet import EngineKind
from proa.errors import ConfigError

NONE: frozenset[str] = frozenset()
RULES = RuntimeRules(by_api=True)
ENTRY = {"name": "x", "url": "http://h:1/"}


def test_an_entry_becomes_an_engine() -> None:
    spec = read_engine(
        ENTRY | {"kind": "vllm", "models": ["a"], "weight": 2},
        source="engine",
        rules=RULES,
        environ={},
    )
    assert (spec.name, spec.url, spec.kind, spec.server) == (
        "x",
        "http://h:1",
        EngineKind.VLLM,
        "x",
    )
    assert (spec.models, spec.weight) == (("a",), 2.0)


@pytest.mark.parametrize(
    ("entry", "key", "told"),
    [
        ({"name": "x"}, "url", "engine: url is missing: it is needed"),
        (ENTRY | {"name": "a b"}, "name", 'engine: name = "a b": accepted is 1 to 64 of'),
        (ENTRY | {"wieght": 1}, "wieght", 'wieght is not a known key: did you mean "weight"?'),
        (ENTRY | {"kind": "vlm"}, "kind", "accepted is one of 'auto'"),
        (ENTRY | {"weight": "2"}, "weight", "accepted is a number"),
        (ENTRY | {"url": "http://u:p@h"}, "url", "without user and password"),
        (ENTRY | {"api_key_env": "HOME"}, "api_key_env", "one that begins with PROA_"),
        (ENTRY | {"api_key_env": "PROA_NONE"}, "api_key_env", '"PROA_NONE" is not set'),
    ],
)
def test_a_wrong_entry_is_told_as_in_the_file(entry: dict[str, Any], key: str, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_engine(entry, source="engine", rules=RULES, environ={"HOME": "secret"})
    assert told in str(refused.value)
    assert refused.value.key == key
    assert "secret" not in str(refused.value)
    assert "p@h" not in str(refused.value)


@pytest.mark.parametrize(("variable", "known"), [("PROA_K", NONE), ("TEAM", frozenset({"TEAM"}))])
def test_a_key_comes_from_variables_that_are_meant_for_it(
    variable: str, known: frozenset[str]
) -> None:
    entry = ENTRY | {"api_key_env": variable}
    rules = RuntimeRules(variables=known)
    spec = read_engine(entry, source="engine", rules=rules, environ={variable: "k"})
    assert spec.api_key == "k"


def test_a_change_has_only_what_was_given() -> None:
    assert read_change({"weight": None, "draining": True}, source="change") == {
        "weight": None,
        "draining": True,
    }


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, "change: changes nothing: known are weight, max_concurrent_requests, draining"),
        ({"weight": 0}, "accepted is a number greater than 0"),
        ({"draining": None}, "draining: accepted is true or false"),
        ({"draining": 1}, "accepted is true or false"),
        ({"max_concurrent_requests": 1.5}, "accepted is a whole number"),
        ({"url": "http://h"}, "url is not a known key: known are weight,"),
    ],
)
def test_a_wrong_change_is_told(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_change(change, source="change")
    assert told in str(refused.value)
