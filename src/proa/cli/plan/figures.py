"""How a plan writes numbers for people."""

from proa.units import Money, format_duration, format_money

NONE = "-"


def gb(count: float | None) -> str:
    """Bytes in GB (10^9), one decimal."""
    return NONE if count is None else f"{count / 10**9:,.1f}"


def gib(count: float | None) -> str:
    """Bytes in GiB (2^30), one decimal."""
    return NONE if count is None else f"{count / 2**30:,.1f}"


def both_units(count: float | None) -> str:
    """`98.7 GB = 91.9 GiB`."""
    return NONE if count is None else f"{gb(count)} GB = {gib(count)} GiB"


def small_bytes(count: float) -> str:
    """A few bytes exactly, many in KiB beside."""
    told = f"{count:,.0f} B" if count == round(count) else f"{count:,.1f} B"
    return told if count < 1024 else f"{told} = {count / 1024:,.1f} KiB"


def context_name(tokens: int) -> str:
    """`32K` for 32,768, digits for what is no whole K."""
    return f"{tokens // 1024}K" if tokens >= 1024 and tokens % 1024 == 0 else f"{tokens:,}"


def rate(value: float | None) -> str:
    """Tokens per second: one decimal below 100."""
    if value is None:
        return NONE
    return f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"


def seconds(value: float | None) -> str:
    return NONE if value is None else format_duration(value)


def count(value: float | None) -> str:
    return NONE if value is None else f"{value:,.0f}"


def share(value: float | None) -> str:
    return NONE if value is None else f"{value * 100:,.0f} %"


def money(value: float | None, currency: str | None) -> str:
    return NONE if value is None else format_money(Money(value, currency or ""))


def parameters(value: float) -> str:
    """`30.5 B (30,532,122,624)`."""
    scaled = f"{value / 1e9:,.3g} B" if value >= 1e9 else f"{value / 1e6:,.3g} M"
    return f"{scaled} ({value:,.0f})"
