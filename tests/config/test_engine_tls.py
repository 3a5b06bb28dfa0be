"""`tls` of engines: files that serve, files that don't, and files that nobody may name."""

import os
from pathlib import Path

import pytest
from tests.certificates import Pair, authority, signed

from proa.config.load import LoadedConfig, load
from proa.config.runtime_engine import read_engine
from proa.errors import ConfigError


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return authority(tmp_path_factory.mktemp("tls"), "ca")


def read(folder: Path, tls: str, url: str = "https://h") -> LoadedConfig:
    path = folder / "proa.toml"
    path.write_text(f'[[engines]]\nname = "e"\nurl = "{url}"\ntls = {tls}\n')
    return load(path, environ={})


def test_relative_paths_start_at_the_file_and_the_files_are_watched(pair: Pair) -> None:
    folder = pair.certificate.parent
    client = signed(pair, "client")
    tls = '{ ca_file = "ca.pem", cert_file = "client.pem", key_file = "client.key" }'
    config = read(folder, tls)
    spec = config.gateway.engines[0].tls
    assert (spec.ca_file, spec.cert_file, spec.key_file) == tuple(
        map(str, (pair.certificate, client.certificate, client.key))
    )
    assert {pair.certificate, client.certificate, client.key} <= set(config.files)
    assert config.control.engines == config.gateway.engines


def test_other_content_makes_another_specification(tmp_path: Path) -> None:
    authority(tmp_path, "ca")
    before = read(tmp_path, '{ ca_file = "ca.pem" }').gateway.engines
    assert read(tmp_path, '{ ca_file = "ca.pem" }').gateway.engines == before
    authority(tmp_path, "ca")
    assert read(tmp_path, '{ ca_file = "ca.pem" }').gateway.engines != before


@pytest.mark.parametrize(
    ("tls", "url", "told"),
    [
        ('{ ca_file = "none.pem" }', "https://h", 'engines[0].tls.ca_file = "none.pem" cannot'),
        ('{ ca_file = "ca.key" }', "https://h", "a PEM file of certificate authorities"),
        ('{ cert_file = "ca.pem" }', "https://h", "key_file is missing: cert_file needs it"),
        ('{ key_file = "ca.key" }', "https://h", "cert_file is missing: key_file needs it"),
        ('{ cert_file = "ca.key", key_file = "ca.pem" }', "https://h", "without a pass phrase"),
        ('{ ca_file = "ca.pem" }', "http://h", "tls needs https://HOST:PORT"),
        ('{ ca = "ca.pem" }', "https://h", "is not a known key"),
        ('{ ca_file = "" }', "https://h", "the path of a file"),
        ('"ca.pem"', "https://h", "accepted is a table"),
    ],
)
def test_what_cannot_be_used_is_told(pair: Pair, tls: str, url: str, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(pair.certificate.parent, tls, url)
    assert told in str(refused.value)
    assert "proa.toml:" in str(refused.value)


def test_engines_of_the_runtime_name_no_other_files(pair: Pair) -> None:
    config = read(pair.certificate.parent, '{ ca_file = "ca.pem" }')
    rules = config.runtime_rules(by_api=True)
    entry = {"name": "x", "url": "https://x", "tls": {"ca_file": "ca.pem"}}
    spec = read_engine(entry, source="engine", rules=rules)
    assert spec.tls == config.gateway.engines[0].tls
    for other in ("ca.key", "../ca.pem", "/etc/passwd", os.devnull):
        with pytest.raises(ConfigError, match="not for engines added at runtime"):
            read_engine(entry | {"tls": {"ca_file": other}}, source="engine", rules=rules)


def test_discovered_engines_get_what_the_file_says(pair: Pair) -> None:
    path = pair.certificate.parent / "proa.toml"
    path.write_text(
        '[[discovery]]\nname = "d"\nkind = "dns"\naddress = "h:1"\nscheme = "https"\n'
        'engine = { tls = { ca_file = "ca.pem" } }\n'
    )
    config = load(path, environ={})
    assert pair.certificate in config.files
    entry = {"name": "d-h", "url": "https://h:1", **config.control.discovery[0].engine}
    spec = read_engine(entry, source="discovery d", rules=config.runtime_rules(by_api=False))
    assert spec.tls.ca_file == str(pair.certificate)
