"""Quantities: what is accepted, what is refused, and that GB and GiB stay apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa import units

SIZES = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
BINARY_SIZES = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 0),
        ("65536", 65_536),
        ("65536 B", 65_536),
        ("64 KiB", 65_536),
        ("64kib", 65_536),
        ("64 kB", 64_000),
        ("96 GB", 96_000_000_000),
        ("96 GiB", 103_079_215_104),
        (" 1.5GB ", 1_500_000_000),
        ("0.1 GB", 100_000_000),
        ("0.5 KiB", 512),
    ],
)
def test_bytes_are_read_exactly(text: str, count: int) -> None:
    assert units.parse_bytes(text) == count


@pytest.mark.parametrize(
    "text",
    [
        "",
        "GB",
        "64M",
        "64G",
        "64K",
        "-1",
        "1e9",
        "1,5 GB",
        "1_000",
        "٣",
        "0.3 B",
        "64 Mbit",
        "1  GB",
    ],
)
def test_a_size_that_is_unclear_is_refused_with_what_is_accepted(text: str) -> None:
    with pytest.raises(ValueError, match="accepted is a whole number of bytes") as caught:
        units.parse_bytes(text)
    assert repr(text) in str(caught.value)


@given(count=st.integers(0, 10**9), unit=st.sampled_from([*SIZES.items(), *BINARY_SIZES.items()]))
def test_a_whole_number_of_any_unit_is_its_product(count: int, unit: tuple[str, int]) -> None:
    name, size = unit
    assert units.parse_bytes(f"{count} {name}") == count * size


@pytest.mark.parametrize(
    ("text", "count"),
    [("8K", 8192), ("8k", 8192), ("8192", 8192), ("1.5K", 1536), ("1M", 1_048_576), ("0", 0)],
)
def test_k_is_1024_tokens(text: str, count: int) -> None:
    assert units.parse_tokens(text) == count


@pytest.mark.parametrize("text", ["", "8KB", "-8K", "8 000", "0.3K", "many"])
def test_a_token_count_that_is_unclear_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="accepted is a whole number of tokens"):
        units.parse_tokens(text)


@pytest.mark.parametrize(
    ("count", "decimal", "binary"),
    [
        (0, "0 B", "0 B"),
        (999, "999 B", "999 B"),
        (1000, "1.0 kB", "1000 B"),
        (65_536, "65.5 kB", "64.0 KiB"),
        (96_000_000_000, "96.0 GB", "89.4 GiB"),
        (-2_000_000, "-2.0 MB", "-1.9 MiB"),
        (3 * 2**40, "3.3 TB", "3.0 TiB"),
    ],
)
def test_bytes_are_written_in_both_units(count: int, decimal: str, binary: str) -> None:
    assert units.format_bytes_decimal(count) == decimal
    assert units.format_bytes_binary(count) == binary
    assert units.format_bytes(count) == f"{decimal} ({binary})"


@given(count=st.integers(0, 10**15))
def test_a_written_size_is_read_back_within_its_rounding(count: int) -> None:
    for write in (units.format_bytes_decimal, units.format_bytes_binary):
        number, unit = write(count).split()
        size = {"B": 1, **SIZES, **BINARY_SIZES}[unit]
        assert abs(float(number) * size - count) <= 0.0501 * size


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (5e-8, "0.05 µs"),
        (1e-6, "1 µs"),
        (850e-6, "850 µs"),
        (999.7e-6, "1 ms"),
        (0.0123, "12.3 ms"),
        (0.9996, "1 s"),
        (4.56, "4.56 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (125, "2 min 05 s"),
        (3599.6, "1 h 00 min"),
        (11_220, "3 h 07 min"),
        (360_000, "100 h 00 min"),
    ],
)
def test_durations_have_the_unit_that_suits(seconds: float, text: str) -> None:
    assert units.format_duration(seconds) == text


@given(seconds=st.floats(1e-7, 59.9))
def test_a_short_duration_keeps_three_digits(seconds: float) -> None:
    number, unit = units.format_duration(seconds).split()
    assert "e" not in number
    written = float(number) / {"s": 1, "ms": 1e3, "µs": 1e6}[unit]
    assert written == pytest.approx(seconds, rel=0.006)


@pytest.mark.parametrize("seconds", [-1, float("inf"), float("nan")])
def test_what_is_no_duration_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="finite and not negative"):
        units.format_duration(seconds)


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("$5,000", 5000, "USD"),
        ("450 USD", 450, "USD"),
        ("usd 3.5", 3.5, "USD"),
        ("17,280원", 17_280, "KRW"),
        ("₩120", 120, "KRW"),
        ("700만원", 7_000_000, "KRW"),
        ("1.5억 원", 150_000_000, "KRW"),
        ("€0.21", 0.21, "EUR"),
        ("CN¥ 12", 12, "CNY"),
        ("¥12", 12, "JPY"),
        ("5000", 5000, "KRW"),
    ],
)
def test_money_is_read_with_its_currency(text: str, amount: float, currency: str) -> None:
    assert units.parse_money(text, "KRW") == units.Money(amount, currency)


@pytest.mark.parametrize("text", ["", "$", "-5", "1e3", "$3 KRW", "3 WON", "1.5 $ 2", "5 000"])
def test_money_that_is_unclear_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="accepted is an amount and a currency"):
        units.parse_money(text, "KRW")


def test_a_bare_number_needs_a_currency() -> None:
    with pytest.raises(ValueError, match="accepted is an amount and a currency"):
        units.parse_money("5000")


@pytest.mark.parametrize(
    ("money", "text"),
    [
        (units.Money(17_280, "KRW"), "₩17,280"),
        (units.Money(3.1606, "USD"), "$3.16"),
        (units.Money(5000, "USD"), "$5,000"),
        (units.Money(0.592, "USD"), "$0.592"),
        (units.Money(0.00213, "USD"), "$0.00213"),
        (units.Money(13.9117, "KRW"), "₩13.91"),
        (units.Money(-72, "USD"), "-$72"),
        (units.Money(0, "EUR"), "€0"),
        (units.Money(12, "CHF"), "CHF 12"),
    ],
)
def test_money_is_written_with_its_symbol(money: units.Money, text: str) -> None:
    assert units.format_money(money) == text


@given(amount=st.integers(0, 10**9), currency=st.sampled_from(list(units.CURRENCIES)))
def test_money_that_was_written_is_read_again(amount: int, currency: str) -> None:
    money = units.Money(float(amount), currency)
    assert units.parse_money(units.format_money(money)) == money
