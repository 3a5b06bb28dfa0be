"""Links between GPUs and servers."""

import pytest

from proa.catalog.gpus import find_gpu
from proa.errors import InputError
from proa.planner.speed.links import (
    LINK_NAMES,
    all_reduce_hop_s,
    all_reduce_s_per_byte,
    all_to_all_s_per_byte,
    find_link,
)

H100, PRO = find_gpu("h100-80gb"), find_gpu("rtx-pro-6000-96gb")


def test_without_a_name_the_fastest_of_the_server() -> None:
    assert find_link(None, H100).name == "nvlink"
    assert find_link(None, PRO).name == "pcie"


def test_networks_are_slower_in_the_order_of_their_names() -> None:
    rates = [find_link(name, H100).bytes_per_s for name in ("1gbe", "10gbe", "25gbe", "100gbe")]
    waits = [find_link(name, H100).latency_s for name in ("1gbe", "10gbe", "25gbe", "100gbe")]
    assert rates == sorted(rates)
    assert waits == sorted(waits, reverse=True)
    assert find_link("1GbE", H100).bytes_per_s == pytest.approx(0.94 * 1e9 / 8, rel=0.01)


def test_every_name_is_found() -> None:
    assert all(find_link(name, H100).name == name for name in LINK_NAMES)


def test_a_link_that_the_gpu_has_not_is_refused_with_those_that_it_has() -> None:
    with pytest.raises(InputError, match="accepted for rtx-pro-6000-96gb is pcie, 1gbe"):
        find_link("nvlink", PRO)


def test_a_ring_sends_almost_twice_the_message() -> None:
    link = find_link("nvlink", H100)
    assert all_reduce_s_per_byte(link, 8) == pytest.approx(1.75 / link.bytes_per_s)
    assert all_to_all_s_per_byte(link, 8) == pytest.approx(0.875 / link.bytes_per_s)
    assert all_reduce_hop_s(link, 1) == 0
    assert all_reduce_hop_s(link, 2) < all_reduce_hop_s(link, 8)
