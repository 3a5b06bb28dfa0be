"""What a GPU (or another accelerator) is, as the planner needs to know it."""

import msgspec


class GpuPrice(msgspec.Struct, frozen=True, kw_only=True):
    """What one costs; prices move, so each has its date and where it was read.

    `date` is ISO 8601, as near as the source tells it: a day, a month (`2026-03`) or a year.
    """

    amount: float
    currency: str
    date: str
    source: str


class GpuSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One GPU.

    `memory_bytes` is what the data sheet says, `usable_bytes` what the driver reports as total
    (an 80 GB H100 reports 79.19 GiB). `flops` are dense FLOP/s by precision (`bf16`, `fp8`,
    `int8`, `fp4`), without sparsity; a precision that is missing is not supported in hardware.
    Links are bytes/s in one direction: `link_bytes_per_s` between GPUs of one server (NVLink,
    xGMI), None where they have only PCIe. `memory_is_shared` is unified memory.
    """

    id: str
    name: str
    vendor: str
    family: str
    memory_bytes: int
    usable_bytes: int
    memory_bytes_per_s: float
    flops: dict[str, float]
    pcie_bytes_per_s: float
    tdp_w: float
    idle_w: float | None = None
    link_bytes_per_s: float | None = None
    memory_is_shared: bool = False
    price: GpuPrice | None = None
    source: str
