"""Addresses that are accepted, and those that are not."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.config.addresses import (
    engine_url,
    kv_events_address,
    listen_address,
    metrics_url,
    network,
    origin,
)


@pytest.mark.parametrize(
    "value", ["127.0.0.1:8080", "[::]:8080", "0.0.0.0:0", "gpu-1.lan:65535", "unix:/run/p.sock"]
)
def test_listen_addresses(value: str) -> None:
    assert listen_address(value) == value


@pytest.mark.parametrize(
    "value",
    [
        "8080",
        ":8080",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:65536",
        "::1:8080",
        "[::1]",
        "[x]:1",
        "1.2.3:1",
        "http://a:1",
        "a:+1",
        "a:\N{ARABIC-INDIC DIGIT ONE}",
        "unix:",
        "unix:run/p",
        "unix:/run/../p",
        "unix:/a/",
        "unix://h/x",
        "",
        "a b:1",
        "unix:/" + "x" * 107,
        "unix:/a\0b",
    ],
)
def test_other_listen_addresses_are_refused(value: str) -> None:
    with pytest.raises(ValueError, match="unix:/absolute/path"):
        listen_address(value)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("http://10.0.0.1:30000", "http://10.0.0.1:30000"),
        ("HTTP://host/", "http://host"),
        ("https://[::1]:8443", "https://[::1]:8443"),
        ("http://ray:8000/llm/small/", "http://ray:8000/llm/small"),
        ("unix:/run/vllm.sock", "unix:/run/vllm.sock"),
    ],
)
def test_engine_addresses(value: str, kept: str) -> None:
    assert engine_url(value) == kept


@pytest.mark.parametrize(
    "value",
    [
        "host:8000",
        "ftp://h",
        "http://",
        "http://:80",
        "http://h:0",
        "http://h:99999",
        "http://h:x",
        "http://u:p@h",
        "http://h/v1",
        "http://h/v1/",
        "http://h/a//b",
        "http://h/./a",
        "http://h/a%2e",
        "http://h/..",
        "http://h?x",
        "http://h#x",
        "http://h\\x",
        "http://호스트",
        "http://[::1",
        "http://[::1]x:1",
        "http://-h",
        "http://300.1.1.1",
        "http:///x",
        "unix://h/x",
        "unix:x",
        "",
        "http://h h",
        "http://h\r\nx",
    ],
)
def test_other_engine_addresses_are_refused(value: str) -> None:
    with pytest.raises(ValueError, match="unix:/absolute/path"):
        engine_url(value)


@pytest.mark.parametrize("value", ["*", "https://a.example", "http://localhost:3000"])
def test_origins(value: str) -> None:
    assert origin(value) == value


@pytest.mark.parametrize(
    "value", ["", "a.example", "https://a/", "null", "https://*.a", "https://[x"]
)
def test_other_origins_are_refused(value: str) -> None:
    with pytest.raises(ValueError, match=r"an origin such as|HOST:PORT"):
        origin(value)


@pytest.mark.parametrize("value", ["10.0.0.0/8", "10.0.0.1", "fd00::/8"])
def test_networks(value: str) -> None:
    assert network(value).startswith(value)


@pytest.mark.parametrize("value", ["", "http://h:8002/metrics", "https://h/m?format=text"])
def test_places_of_metrics(value: str) -> None:
    assert metrics_url(value) == value


@pytest.mark.parametrize(
    "value", ["h:8002", "ftp://h/m", "http://", "http://h:8002/m#x", "unix:/m"]
)
def test_other_places_of_metrics_are_refused(value: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        metrics_url(value)


@pytest.mark.parametrize(
    "value", ["", "tcp://10.0.0.10:5557", "tcp://h.example:1", "tcp://[::1]:5557", "ipc:///run/kv"]
)
def test_places_of_kv_events(value: str) -> None:
    assert kv_events_address(value) == value


@pytest.mark.parametrize(
    "value",
    ["h:5557", "http://h:5557", "tcp://h", "tcp://:1", "tcp://h:0", "tcp://h:1/x", "ipc://kv",
     "inproc://kv", "tcp://", "tcp://h:1 ", "ipc:///a/../b", "tcp://*:5557"],
)  # fmt: skip
def test_other_places_of_kv_events_are_refused(value: str) -> None:
    with pytest.raises(ValueError, match="tcp://HOST:PORT or ipc:///absolute/path"):
        kv_events_address(value)


@given(st.text(max_size=30))
def test_any_text_is_accepted_or_a_value_error(value: str) -> None:
    for check in (listen_address, engine_url, metrics_url, kv_events_address, origin, network):
        with suppress(ValueError):
            check(value)
