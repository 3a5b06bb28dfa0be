"""Bytes, token counts, durations and money: parse and format.

GB is 10^9 bytes, GiB is 2^30 bytes, and no text here lets one stand for the other; nor is an
amount of one currency ever added to another's.
Parsers raise ValueError with what would be accepted; whoever knows the file and the
key (`config`, `cli`) turns that into an error of its own.
"""

import re
from fractions import Fraction

import msgspec

_BYTES = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_TOKENS = {"": 1, "k": 2**10, "m": 2**20}
_QUANTITY = re.compile(r"([0-9]{1,30}(?:\.[0-9]{1,30})?) ?([A-Za-z]*)", re.ASCII)
_DECIMAL = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_BINARY = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_SHORT = ((1, "s"), (1_000, "ms"), (1_000_000, "µs"))

CURRENCIES = {
    "KRW": ("₩", 0),
    "USD": ("$", 2),
    "EUR": ("€", 2),
    "JPY": ("¥", 0),
    "CNY": ("CN¥", 2),
    "GBP": ("£", 2),
    "TWD": ("NT$", 0),
    "SGD": ("S$", 2),
    "INR": ("₹", 2),
}
"""Symbol and usual decimal places by code (ISO 4217)."""
_SYMBOLS = {symbol: code for code, (symbol, _) in CURRENCIES.items()} | {"원": "KRW"}
_MARKS = "|".join(re.escape(mark) for mark in sorted([*_SYMBOLS, *CURRENCIES], key=len)[::-1])
_MONEY = re.compile(
    rf"(?P<before>{_MARKS})? ?(?P<amount>[0-9][0-9,]{{0,30}}(?:\.[0-9]{{1,12}})?)"
    rf" ?(?P<scale>[만억])? ?(?P<after>{_MARKS})?",
    re.IGNORECASE,
)
_SCALES = {None: 1, "만": 10**4, "억": 10**8}


class Money(msgspec.Struct, frozen=True):
    """An amount of one currency (its ISO 4217 code)."""

    amount: float
    currency: str


def parse_bytes(text: str) -> int:
    """Bytes in `"64 MiB"`, `"1.5GB"` or `"65536"`; the case of the unit does not matter.

    `"64M"` and `"64G"` are refused, since they leave open which of the two units is meant.

    Raises:
        ValueError: no number with a unit of the list, or not a whole number of bytes.
    """
    accepted = "a whole number of bytes, as 65536, 64 KiB or 1.5 GB (kB to TB, KiB to TiB)"
    return _parse(text, _BYTES, accepted)


def parse_tokens(text: str) -> int:
    """Tokens in `"8K"`, `"1M"` or `"8192"`.

    K = 1,024 and M = 1,048,576, as context lengths are named; plain numbers are exact.

    Raises:
        ValueError: no number with K, M or nothing, or not a whole number of tokens.
    """
    accepted = "a whole number of tokens, as 8192, 8K (K is 1,024) or 1M (1,048,576)"
    return _parse(text, _TOKENS, accepted)


def parse_money(text: str, currency: str = "") -> Money:
    """Money in `"$5,000"`, `"450 USD"`, `"17,280원"`, `"700만원"`; a bare number is `currency`'s.

    Raises:
        ValueError: no amount, an unknown or missing currency, or two that differ.
    """
    match = _MONEY.fullmatch(text.strip())
    marks = [match[name] for name in ("before", "after") if match[name]] if match else []
    codes = {_SYMBOLS.get(mark, mark.upper()) for mark in marks} or {currency}
    if match is None or len(codes) > 1 or not codes <= CURRENCIES.keys():
        known = ", ".join(CURRENCIES)
        accepted = f"an amount and a currency, as $5,000, 450 USD or 17,280원 ({known})"
        raise ValueError(f"{text!r}: accepted is {accepted}")
    amount = Fraction(match["amount"].replace(",", "")) * _SCALES[match["scale"]]
    return Money(float(amount), codes.pop())


def format_money(money: Money) -> str:
    """`₩17,280`, `$3.16`; amounts below one unit get three digits (`$0.00213`)."""
    symbol, places = CURRENCIES.get(money.currency, (f"{money.currency} ", 2))
    size = abs(money.amount)
    if size and size < 1:
        digits = f"{size:.3g}" if size >= 1e-4 else f"{size:.8f}"
    else:
        is_small = places == 0 and size < 100 and size != int(size)
        digits = f"{size:,.{2 if is_small else places}f}"
        digits = digits.removesuffix(".00")
    return f"{'-' if money.amount < 0 else ''}{symbol}{digits}"


def format_bytes_decimal(count: int) -> str:
    """As data sheets and disks say it: `96.0 GB` (10^9)."""
    return _format_bytes(count, _DECIMAL)


def format_bytes_binary(count: int) -> str:
    """As drivers and engines say it: `89.4 GiB` (2^30)."""
    return _format_bytes(count, _BINARY)


def format_bytes(count: int) -> str:
    """Both, for where a person compares with a data sheet: `96.0 GB (89.4 GiB)`."""
    return f"{format_bytes_decimal(count)} ({format_bytes_binary(count)})"


def format_duration(seconds: float) -> str:
    """Three digits and the unit that suits: `850 µs`, `4.56 s`, `2 min 05 s`, `3 h 07 min`.

    Raises:
        ValueError: `seconds` is negative or no finite number.
    """
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"{seconds!r} is not a duration; it must be finite and not negative")
    if seconds >= 3599.5:
        hours, minutes = divmod(round(seconds / 60), 60)
        return f"{hours} h {minutes:02d} min"
    if seconds >= 59.95:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest:02d} s"
    rounded = float(f"{seconds:.3g}")
    scale, unit = next((row for row in _SHORT if rounded * row[0] >= 1), _SHORT[-1])
    return f"{rounded * scale:.3g} {unit}" if rounded else "0 s"


def _parse(text: str, units: dict[str, int], accepted: str) -> int:
    match = _QUANTITY.fullmatch(text.strip())
    unit = units.get(match[2].lower()) if match else None
    if match is None or unit is None:
        raise ValueError(f"{text!r}: accepted is {accepted}")
    count = Fraction(match[1]) * unit
    if count.denominator != 1:
        raise ValueError(f"{text!r} is {float(count)}: accepted is {accepted}")
    return int(count)


def _format_bytes(count: int, units: tuple[tuple[int, str], ...]) -> str:
    for size, unit in units:
        if abs(count) >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
