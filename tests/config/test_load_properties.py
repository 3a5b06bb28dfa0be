"""Whatever a file says: settings that say the same, or a ConfigError."""

import math
import string
import tomllib
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.config.test_load import FULL, written

from proa.config.load import load
from proa.errors import ConfigError


def toml(value: object) -> str:
    """Any generated value in TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case float() if math.isinf(value) or math.isnan(value):
            return str(value)
        case str():
            return '"' + "".join(f"\\U{ord(c):08x}" for c in value) + '"'
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{toml(k)} = {toml(v)}" for k, v in value.items()) + "}"
        case _:
            return repr(value)


texts = st.text(st.characters(codec="utf-8"), max_size=12)
scalars = st.one_of(st.booleans(), st.integers(), st.floats(), texts)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)
KEYS = (*tomllib.loads(FULL), "tls", "guard")
FIELDS = (
    "name",
    "url",
    "listen",
    "match",
    "prefer",
    "overflow",
    "overflow_when",
    "models",
    "headers",
    "in_flight",
    "min_quality",
    "max_body_bytes",
    "cert_file",
    "api_key_env",
    "path",
    "api_keys_file",
)
inner_tables = st.dictionaries(st.sampled_from(FIELDS) | texts, values, max_size=4)
documents = st.dictionaries(
    st.sampled_from(KEYS) | texts,
    values | inner_tables | st.lists(inner_tables, max_size=3),
    max_size=5,
)


@settings(max_examples=300, deadline=None)
@given(documents)
def test_random_values_raise_nothing_but_config_errors(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, object]
) -> None:
    text = "\n".join(f"{toml(key)} = {toml(value)}" for key, value in document.items())
    path = written(tmp_path_factory.getbasetemp(), text)
    with suppress(ConfigError):
        load(path, environ={})


@settings(max_examples=200, deadline=None)
@given(st.text(string.printable + "가é\0", max_size=80) | st.binary(max_size=40))
def test_random_files_raise_nothing_but_config_errors(
    tmp_path_factory: pytest.TempPathFactory, content: str | bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "random.toml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ConfigError):
        load(path, environ={})


names = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,20}\Z")
ports = st.integers(1, 65535)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(names, ports, min_size=1, max_size=5), st.floats(0.01, 1e5), ports)
def test_what_a_valid_file_says_is_what_the_settings_say(
    tmp_path_factory: pytest.TempPathFactory, engines: dict[str, int], weight: float, port: int
) -> None:
    listed = [
        {"name": name, "url": f"http://h:{port}", "weight": weight}
        for name, port in engines.items()
    ]
    text = f"engines = {toml(listed)}\n[gateway]\nlisten = '127.0.0.1:{port}'\n"
    text += "[control]\nlisten = '[::1]:0'\n"
    config = load(written(tmp_path_factory.getbasetemp(), text), environ={})
    assert [(e.name, e.url, e.weight) for e in config.gateway.engines] == [
        tuple(entry.values()) for entry in listed
    ]
    assert config.gateway.listen == f"127.0.0.1:{port}"
