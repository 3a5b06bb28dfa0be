"""GPUs by their id, which is `family-memory`."""

import msgspec


class GpuRow(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU as its maker sells it; GB are 10^9 bytes, as on data sheets."""

    id: str
    name: str
    memory_bytes: int
    memory_bytes_per_s: float
    source: str


GPUS = {
    row.id: row
    for row in (
        GpuRow(
            id="rtx-pro-6000-96gb",
            name="NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
            memory_bytes=96 * 10**9,
            memory_bytes_per_s=1792e9,
            source="NVIDIA data sheet of the RTX PRO 6000 Blackwell Workstation Edition, 2025",
        ),
        GpuRow(
            id="rtx-5060-ti-16gb",
            name="NVIDIA GeForce RTX 5060 Ti 16 GB",
            memory_bytes=16 * 10**9,
            memory_bytes_per_s=448e9,
            source="NVIDIA product page of the GeForce RTX 5060 family, 2025",
        ),
    )
}
"""All GPUs, by id."""
