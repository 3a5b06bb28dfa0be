"""A GPU of the user's own: one `[[gpus]]` table."""

import re
from collections.abc import Mapping

from proa.catalog.gpus import GpuRow, known_gpu
from proa.catalog.user_fields import UserTable
from proa.domain.gpu import GpuPrice, GpuSpec

KEYS = (
    "id",
    "like",
    "name",
    "vendor",
    "family",
    "memory",
    "usable_memory",
    "memory_gb_per_s",
    "tflops",
    "pcie_gb_per_s",
    "link_gb_per_s",
    "tdp_w",
    "idle_w",
    "memory_is_shared",
    "price",
    "aliases",
    "source",
)
"""All keys of a `[[gpus]]` table."""

PRECISIONS = ("bf16", "fp8", "int8", "fp4")
_ID = re.compile(r"[a-z0-9][a-z0-9.-]{0,60}-[0-9]+gb")
_GB = 1e9
_USABLE = 0.98
"""Share of the memory that a driver is taken to report where the row does not say it."""


def gpu_row(raw: Mapping[str, object], at: str, file: str) -> GpuRow:
    """The row; what it leaves out comes from the GPU that it is `like`, or that has its id.

    Raises:
        ConfigError: a key is unknown, missing or cannot be used.
    """
    table = UserTable(raw, at, file)
    table.only(KEYS)
    gpu_id = table.text("id")
    if not _ID.fullmatch(gpu_id):
        raise table.wrong("id", "family-memory in lower case, as h100-80gb")
    base = _base(table, gpu_id)
    memory = table.size("memory", base.memory_bytes if base else None)
    usable = table.size("usable_memory", _usable(table, base, memory))
    if usable > memory:
        raise table.wrong("usable_memory", f"no more than the memory of {memory} bytes")
    return GpuRow(
        id=gpu_id,
        name=table.text("name", base.name if base else gpu_id),
        vendor=table.text("vendor", base.vendor if base else None),
        family=table.text("family", base.family if base else gpu_id.rpartition("-")[0]),
        memory_bytes=memory,
        usable_bytes=usable,
        memory_bytes_per_s=_per_s(
            table, "memory_gb_per_s", base.memory_bytes_per_s if base else None
        ),
        flops=_flops(table, base),
        pcie_bytes_per_s=_per_s(table, "pcie_gb_per_s", base.pcie_bytes_per_s if base else None),
        tdp_w=table.number("tdp_w", base.tdp_w if base else None),
        idle_w=table.number_or_none("idle_w", base.idle_w if base else None),
        link_bytes_per_s=_link(table, base),
        memory_is_shared=_shared(table, base),
        price=_price(table) or (base.price if base else None),
        source=table.text("source", file),
        aliases=table.texts("aliases"),
    )


def _base(table: UserTable, gpu_id: str) -> GpuSpec | None:
    if not table.has("like"):
        return known_gpu(gpu_id)
    base = known_gpu(table.text("like"))
    if base is None:
        raise table.wrong("like", "a GPU of the catalogue")
    return base


def _usable(table: UserTable, base: GpuSpec | None, memory: int) -> int:
    if base is None or table.has("memory"):
        return int(memory * _USABLE)
    return base.usable_bytes


def _per_s(table: UserTable, key: str, base: float | None) -> float:
    return table.number(key, base / _GB if base else None) * _GB


def _link(table: UserTable, base: GpuSpec | None) -> float | None:
    told = table.number_or_none("link_gb_per_s", None)
    if told is not None:
        return told * _GB
    return base.link_bytes_per_s if base else None


def _flops(table: UserTable, base: GpuSpec | None) -> dict[str, float]:
    told = table.table("tflops")
    if told is None and base is not None:
        return base.flops
    if told is None or not told.keys():
        raise table.wrong("tflops", "dense TFLOPS, as { bf16 = 989, fp8 = 1979 }")
    told.only(PRECISIONS)
    return {key: told.number(key) * 1e12 for key in told.keys()}  # noqa: SIM118


def _shared(table: UserTable, base: GpuSpec | None) -> bool:
    told = table.raw().get("memory_is_shared", base.memory_is_shared if base else False)
    if not isinstance(told, bool):
        raise table.wrong("memory_is_shared", "true or false")
    return told


def _price(table: UserTable) -> GpuPrice | None:
    told = table.table("price")
    if told is None:
        return None
    told.only(("amount", "currency", "date", "source"))
    date = told.text("date")
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", date):
        raise told.wrong("date", 'a day, as "2026-01-31"')
    currency = told.text("currency")
    if not re.fullmatch(r"[A-Z]{3}", currency):
        raise told.wrong("currency", "three capital letters, as USD or KRW")
    return GpuPrice(
        amount=told.number("amount"), currency=currency, date=date, source=told.text("source")
    )
