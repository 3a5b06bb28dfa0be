"""Shortened addresses: a port makes one, a bare word does not."""

import pytest

from proa.domain.address import with_scheme


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("h:8000", "s://h:8000"),
        ("10.0.0.1:8000/llm", "s://10.0.0.1:8000/llm"),
        ("[::1]:8000", "s://[::1]:8000"),
        ("foo", "foo"),
        ("[::1]", "[::1]"),
        ("foo/a:1", "foo/a:1"),
        ("http://h", "http://h"),
        ("https://h:1", "https://h:1"),
        ("unix:/run/e.sock", "unix:/run/e.sock"),
        ("", ""),
    ],
)
def test_only_a_host_with_a_port_gets_a_scheme(address: str, expected: str) -> None:
    assert with_scheme(address, "s") == expected
