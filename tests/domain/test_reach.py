"""Addresses at which no engine is, in every form in which they can be written."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.domain.reach import ANYWHERE, Reach

REFUSED = {
    "169.254.169.254": "a link-local address",
    "169.254.0.1": "a link-local address",
    "fe80::1": "a link-local address",
    "fe80::1%eth0": "a link-local address",
    "::ffff:169.254.169.254": "a link-local address",
    "64:ff9b::a9fe:a9fe": "a link-local address",
    "2002:a9fe:a9fe::1": "a link-local address",
    "::169.254.169.254": "a link-local address",
    "0.0.0.0": "no address of a host",
    "0.1.2.3": "no address of a host",
    "::": "no address of a host",
    "224.0.0.1": "a multicast address",
    "ff02::1": "a multicast address",
    "255.255.255.255": "a reserved address",
    "100.100.100.200": "an address of a cloud's metadata service",
    "fd00:ec2::254": "an address of a cloud's metadata service",
}


@pytest.mark.parametrize("address", REFUSED)
def test_no_engine_is_there(address: str) -> None:
    assert ANYWHERE.refusal(address) == f"{address} is {REFUSED[address]}"


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "::1", "10.1.2.3", "192.168.0.9", "8.8.8.8", "fd00::5", "2001:db8::1"]
)
def test_engines_may_be_at_other_addresses(address: str) -> None:
    assert ANYWHERE.refusal(address) == ""


def test_what_is_listed_is_allowed() -> None:
    reach = Reach(networks=("169.254.10.0/24",))
    assert reach.refusal("169.254.10.7") == ""
    assert reach.refusal("::ffff:169.254.10.7") == ""
    assert reach.refusal("169.254.169.254") != ""
    assert reach.refusal("10.0.0.1") == ""


def test_only_what_is_listed_is_allowed() -> None:
    reach = Reach(networks=("10.0.0.0/8", "fd00::/8"), only=True)
    assert reach.refusal("10.9.8.7") == reach.refusal("fd00::9") == ""
    assert reach.refusal("127.0.0.1") == "127.0.0.1 is in none of [control] engine_networks"
    assert reach.refusal("169.254.169.254").endswith("a link-local address")


def test_a_wide_ipv6_network_allows_no_address_of_the_other_family() -> None:
    reach = Reach(networks=("::/0",), only=True)
    assert reach.refusal("::ffff:169.254.169.254") != ""
    assert reach.refusal("2001:db8::1") == ""


@given(st.ip_addresses(v=4))
def test_an_address_of_the_old_family_is_judged_alike_in_the_new_one(
    address: ipaddress.IPv4Address,
) -> None:
    plain = bool(ANYWHERE.refusal(str(address)))
    assert bool(ANYWHERE.refusal(f"::ffff:{address}")) == plain
    nat64 = ipaddress.IPv6Address(int(ipaddress.IPv6Address("64:ff9b::")) + int(address))
    assert bool(ANYWHERE.refusal(str(nat64))) == plain


def test_text_that_is_no_address() -> None:
    with pytest.raises(ValueError, match="does not appear"):
        ANYWHERE.refusal("gpu-1")
