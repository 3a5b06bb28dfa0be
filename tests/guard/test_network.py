"""E-mail and IP addresses of the ranges that are reserved for examples."""

import pytest
from tests.guard.examples import SCANNER, found

from proa.guard.scan import Scanner


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("kim@example.com으로", "kim@example.com"),
        ('"김" <kim@example.co.kr>', "kim@example.co.kr"),
        ("kim+tag@sub.example.io.", "kim+tag@sub.example.io"),
        ("mailto:a.b-c_d@example.com?x", "a.b-c_d@example.com"),
        ("kim＠example.com", "kim＠example.com"),
        ("ｋｉｍ＠ｅｘａｍｐｌｅ．ｃｏｍ로", "ｋｉｍ＠ｅｘａｍｐｌｅ．ｃｏｍ"),
        ("'kim@example.com'", "kim@example.com"),
        ("메일kim@example.com", "kim@example.com"),
    ],
)
def test_e_mail(text: str, written: str) -> None:
    assert found(text) == [("email", written)]


@pytest.mark.parametrize("text", ["user@localhost", "@app.route", "a @ b.com", "x@y", "@@a.com"])
def test_no_e_mail(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("192.0.2.1로", "192.0.2.1"),
        ("192.0.2.1:8080", "192.0.2.1"),
        ("http://192.0.2.1/a", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::1"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("2001:0db8:0000:0000:0000:0000:0000:0001", "2001:0db8:0000:0000:0000:0000:0000:0001"),
        ("주소: 2001:db8::1", "2001:db8::1"),
    ],
)
def test_ip(text: str, written: str) -> None:
    assert found(text) == [("ip_address", written)]


@pytest.mark.parametrize(
    "text",
    ["256.1.1.1", "1.2.3", "1.2.3.4.5", "version 1.2.3.4", "버전 1.2.3.4", "12:34:56", "a::b",
     "std::cafe::f00d", "00:1a:2b:3c:4d:5e", "01.02.03.04"],
)  # fmt: skip
def test_no_ip(text: str) -> None:
    assert found(text) == []


def test_private_networks_count_unless_told_otherwise() -> None:
    assert len(SCANNER.scan("10.1.2.3")) == 1
    assert Scanner(private_addresses=False).scan("10.1.2.3, 127.0.0.1, fe80::1, fc00::1") == []


@pytest.mark.parametrize("text", ["홍길동@예시.한국", "::ffff:192.0.2.1"])
def test_what_a_stream_sees_too_late_is_found_in_the_whole(text: str) -> None:
    """Korean letters and colons are let go at once; the rest is found from there on."""
    [one] = SCANNER.scan(text)
    assert (one.start, one.end) == (0, len(text))
