"""Links between GPUs and between servers, and what tensor and expert parallelism send over them."""

import msgspec

from proa.domain.gpu import GpuSpec
from proa.errors import InputError


class LinkSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A link: bytes/s in one direction, and seconds that the smallest message takes."""

    name: str
    bytes_per_s: float
    latency_s: float


_NETWORK = {
    link.name: link
    for link in (
        LinkSpec(name="1gbe", bytes_per_s=0.117e9, latency_s=60e-6),
        LinkSpec(name="10gbe", bytes_per_s=1.17e9, latency_s=40e-6),
        LinkSpec(name="25gbe", bytes_per_s=2.9e9, latency_s=30e-6),
        LinkSpec(name="100gbe", bytes_per_s=11.6e9, latency_s=25e-6),
        LinkSpec(name="infiniband", bytes_per_s=48e9, latency_s=12e-6),
    )
}
"""Between servers. Bytes are 94 % of the line rate (TCP over 1500-byte frames), InfiniBand is
NDR 400 Gb/s per GPU at 96 %. Latencies are those of a small NCCL operation: sockets for
Ethernet, RDMA for InfiniBand."""

LINK_NAMES = ("nvlink", "pcie", *_NETWORK)
"""Names that `--link` accepts."""

_NVLINK_LATENCY_S = 5.2e-6
_PCIE_LATENCY_S = 15e-6
_LINK_SHARE = 0.75
"""Of a link's data-sheet rate that large messages reach in a ring."""


def find_link(name: str | None, gpu: GpuSpec) -> LinkSpec:
    """The link of this name; without a name the fastest that the GPU has in its server.

    Raises:
        InputError: no such link, or one that this GPU has not.
    """
    wanted = (name or ("nvlink" if gpu.link_bytes_per_s else "pcie")).casefold()
    if wanted in _NETWORK:
        return _NETWORK[wanted]
    if wanted == "nvlink" and gpu.link_bytes_per_s:
        rate = gpu.link_bytes_per_s * _LINK_SHARE
        return LinkSpec(name="nvlink", bytes_per_s=rate, latency_s=_NVLINK_LATENCY_S)
    if wanted == "pcie":
        rate = gpu.pcie_bytes_per_s * _LINK_SHARE
        return LinkSpec(name="pcie", bytes_per_s=rate, latency_s=_PCIE_LATENCY_S)
    accepted = ", ".join(name for name in LINK_NAMES if name != "nvlink" or gpu.link_bytes_per_s)
    raise InputError(f"link = {name!r}: accepted for {gpu.id} is {accepted}")


def all_reduce_hop_s(link: LinkSpec, ranks: int) -> float:
    """Latency of one all-reduce of a small message: one-shot over a switch, else a tree.

    latency x (1 + log2(ranks) / 4)
    """
    return link.latency_s * (1 + (ranks - 1).bit_length() / 4) if ranks > 1 else 0.0


def all_reduce_s_per_byte(link: LinkSpec, ranks: int) -> float:
    """Seconds per byte of a message in a ring: 2 (ranks - 1) / ranks / rate."""
    return 2 * (ranks - 1) / ranks / link.bytes_per_s


def all_to_all_s_per_byte(link: LinkSpec, ranks: int) -> float:
    """Seconds per byte that a rank sends: (ranks - 1) / ranks of it leaves the rank."""
    return (ranks - 1) / ranks / link.bytes_per_s
