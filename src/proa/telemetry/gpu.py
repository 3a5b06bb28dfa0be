"""What a GPU says of itself at one moment, whoever read it."""

import msgspec


class GpuReading(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU; None is "not told", never 0. Shares are from 0 to 1.

    `kernel_share` is the share of time in which any kernel ran (NVML's "utilization"): 1 says
    little. `sm_share` is how many of the multiprocessors had work, which only DCGM tells.
    """

    index: str
    name: str = ""
    driver: str = ""
    memory_bytes: float | None = None
    memory_total_bytes: float | None = None
    kernel_share: float | None = None
    sm_share: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None
