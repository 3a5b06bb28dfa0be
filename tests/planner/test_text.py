"""Both languages, and numbers as a person writes them."""

from fractions import Fraction

import pytest

from proa.planner.text import Text, percent, written


def test_a_text_is_said_in_the_language_asked_for() -> None:
    text = Text("{n}명", "{n} users").fill(n=3)
    assert (text.say("ko"), text.say("en"), text.say("fr")) == ("3명", "3 users", "3 users")


@pytest.mark.parametrize(
    ("number", "wanted"),
    [
        (7200.0, "7,200"),
        (Fraction(2, 5), "0.4"),
        (17.66667, "17.67"),
        (0, "0"),
        (-8.5, "-8.5"),
        (1555.25, "1,555.2"),
        (0.0000123, "0.0000123"),
    ],
)
def test_numbers_are_grouped_and_short(number: float, wanted: str) -> None:
    assert written(number) == wanted


@pytest.mark.parametrize(("share", "wanted"), [(0.3, "30 %"), (0.07, "7 %"), (1, "100 %")])
def test_shares_are_percent(share: float, wanted: str) -> None:
    assert percent(share) == wanted
