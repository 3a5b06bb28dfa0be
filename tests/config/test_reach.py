"""Addresses of engines in the file and at runtime, against `[control] engine_networks`."""

from typing import Any

import pytest

from proa.config.addresses import engine_network, engine_url
from proa.config.document import Document
from proa.config.reach import NO_LIST, Grounds, file_faults, runtime_faults
from proa.config.runtime_engine import RuntimeRules, read_engine
from proa.errors import ConfigError


def told(entry: dict[str, Any], grounds: Grounds = NO_LIST, *, by_api: bool = True) -> list[str]:
    return [str(f) for f in runtime_faults(Document("engine", entry, {}), grounds, by_api=by_api)]


@pytest.mark.parametrize("key", ["url", "metrics_url", "kv_events"])
def test_every_address_of_an_engine_is_looked_at(key: str) -> None:
    (fault,) = told({key: "http://169.254.169.254/latest"})
    assert fault.startswith(f'engine: {key} = "http://169.254.169.254/latest" is refused')
    assert "a link-local address" in fault
    assert "[control] engine_networks" in fault


def test_the_file_has_the_same_rule() -> None:
    document = Document("proa.toml", {"engines": [{"url": "http://[fe80::1]:80"}]}, {})
    (fault,) = file_faults(document, NO_LIST)
    assert fault.key == "engines[0].url"
    assert file_faults(document, Grounds(["fe80::/10"])) == []


def test_a_list_restricts_what_comes_at_runtime_only() -> None:
    grounds = Grounds(["10.0.0.0/8"])
    assert told({"url": "http://10.0.0.1"}, grounds) == []
    assert "in none of" in told({"url": "http://127.0.0.1"}, grounds)[0]
    document = Document("proa.toml", {"engines": [{"url": "http://127.0.0.1"}]}, {})
    assert file_faults(document, grounds) == []


@pytest.mark.parametrize("socket", ["unix:/run/engines/a.sock", "ipc:///run/engines/kv.sock"])
def test_sockets_come_at_runtime_only_from_listed_directories(socket: str) -> None:
    entry = {"kv_events" if socket.startswith("ipc") else "url": socket}
    assert "not for engines added at runtime" in told(entry)[0]
    assert told(entry, by_api=False) == []
    assert told(entry, Grounds(["unix:/run/engines"])) == []
    assert told(entry, Grounds(["unix:/run"])) != []
    assert told(entry, Grounds(["10.0.0.0/8"]), by_api=False) != []


SPELLINGS = [
    "http://2852039166/",
    "http://0xa9fea9fe",
    "http://0xA9.0xFE.0xA9.0xFE",
    "http://0251.0376.0251.0376",
    "http://169.254.43518",
    "http://169.254.169.254.",
    "http://a.0x7f",
    "http://127.1",
    "http://[::ffff:169.254.169.254]",
    "http://[::ffff:a9fe:a9fe]",
    "http://127.0.0.1:80@169.254.169.254/",
    "http://169\u3002254\u3002169\u3002254/",
    "http://\u2460\u2461.0.0.1",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_x",
    "ftp://h/x",
    "//169.254.169.254/",
    "http:169.254.169.254",
    "http://h/../x",
    "http://h\r\nx: y",
]


@pytest.mark.parametrize("url", SPELLINGS)
def test_other_spellings_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="http://HOST:PORT"):
        engine_url(url)
    with pytest.raises(ConfigError):
        read_engine({"name": "e", "url": url}, source="engine", rules=RuntimeRules())


@pytest.mark.parametrize("host", ["gpu-1", "gpu1.lan", "node0x1f", "1a", "10.0.0.1", "[fd00::1]"])
def test_plain_hosts_are_not_taken_for_numbers(host: str) -> None:
    assert engine_url(f"http://{host}:80") == f"http://{host}:80"


def test_networks() -> None:
    assert engine_network("10.0.0.0/8") == "10.0.0.0/8"
    assert engine_network("unix:/run/engines") == "unix:/run/engines"
    for wrong in ("10.0.0.1/8", "unix:run", "unix:/run/../x", "unix:/run/", "gpu-1"):
        with pytest.raises(ValueError, match="network"):
            engine_network(wrong)
