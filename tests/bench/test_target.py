"""Addresses, headers and keys."""

import msgspec
import pytest

from proa.bench.body import BodySpec, body_of, prompt_hash
from proa.bench.target import Address, TargetSpec, address_of, get_head, post_head
from proa.bench.workloads import Prompt
from proa.errors import FieldError

PROMPT = Prompt([{"role": "user", "content": "Hi"}], 10, 7)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://10.0.0.1:8000", Address("10.0.0.1", 8000, False, "", "10.0.0.1:8000")),
        ("https://h/api/v1/", Address("h", 443, True, "/api", "h")),
        ("http://[::1]:81", Address("::1", 81, False, "", "[::1]:81")),
    ],
)
def test_addresses(url: str, address: Address) -> None:
    assert address_of(url) == address


@pytest.mark.parametrize("url", ["ftp://h", "h:80", "http://", "http://h:99999", "http://[::1"])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(FieldError, match="http or https"):
        address_of(url)


def test_heads_carry_key_and_headers() -> None:
    target = TargetSpec(name="t", url="http://h:1/x", api_key="k", headers={"X-A": "b"})
    head = post_head(target)
    assert head.startswith(b"POST /x/v1/chat/completions HTTP/1.1\r\nHost: h:1\r\n")
    assert b"\r\nX-A: b\r\nAuthorization: Bearer k\r\nContent-Length: " in head
    own = msgspec.structs.replace(target, headers={"authorization": "Token z"})
    assert b"Bearer" not in post_head(own)
    basic = TargetSpec(name="t", url="http://u:p@h")
    assert b"Host: h\r\nAuthorization: Basic dTpw\r\n\r\n" in get_head(basic, "/metrics")


@pytest.mark.parametrize("headers", [{"Host": "x"}, {"a": "b\r\nc: d"}, {"": "x"}, {"a:b": "x"}])
def test_headers_that_break_the_request_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(FieldError, match="header"):
        post_head(TargetSpec(name="t", url="http://h", headers=headers))


def test_b60_bodies_force_the_length_where_it_is_taken() -> None:
    """B60: both ways to force a length reach the server."""
    target = TargetSpec(
        name="t", url="http://h", model="m", extra={"temperature": msgspec.Raw(b"0")}
    )
    full = msgspec.json.decode(body_of(target, PROMPT, BodySpec()))
    assert full == {
        "model": "m",
        "messages": PROMPT.messages,
        "max_tokens": 7,
        "stream": True,
        "stream_options": {"include_usage": True},
        "ignore_eos": True,
        "min_tokens": 7,
        "temperature": 0,
    }
    text = msgspec.structs.replace(target, path="/v1/completions")
    plain = msgspec.json.decode(body_of(text, PROMPT, BodySpec(force=False, usage=False)))
    assert plain == {
        "model": "m", "prompt": "Hi", "max_tokens": 7, "stream": True, "temperature": 0
    }  # fmt: skip
    assert prompt_hash(b"a") != prompt_hash(b"b")
