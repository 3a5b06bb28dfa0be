"""Precedence: tenant, route, gateway; a type before a mode; what the law keeps from tokens."""

import pytest

from proa.guard.policy import GuardRule, GuardSettings, GuardSpec, effective


def test_an_empty_table_masks() -> None:
    rule = effective(GuardSettings())
    assert rule.mode_of("email") == "mask"
    assert rule.mode_of("resident_number") == "mask"
    assert rule.answers
    assert rule.media == "allow"


def test_public_numbers_are_counted_unless_named() -> None:
    assert effective(GuardSettings(mode="block")).mode_of("corporate_number") == "count"
    assert effective(GuardSettings(mode="off")).mode_of("corporate_number") == "off"
    named = GuardSettings(types={"corporate_number": "mask"})
    assert effective(named).mode_of("corporate_number") == "mask"


@pytest.mark.parametrize(
    ("route", "tenant", "expected"),
    [
        (None, None, "mask"),
        (GuardSpec(mode="token"), None, "token"),
        (GuardSpec(mode="token"), GuardSpec(mode="block"), "block"),
        (GuardSpec(mode="token", types={"email": "off"}), None, "off"),
        (GuardSpec(types={"email": "off"}), GuardSpec(mode="block"), "block"),
        (GuardSpec(types={"email": "off"}), GuardSpec(types={"phone": "block"}), "off"),
        (None, GuardSpec(mode="block", types={"email": "count"}), "count"),
    ],
)
def test_the_first_level_that_says_anything_decides(
    route: GuardSpec | None, tenant: GuardSpec | None, expected: str
) -> None:
    assert effective(GuardSettings(), route, tenant).mode_of("email") == expected


@pytest.mark.parametrize("type_", ["resident_number", "foreigner_number"])
def test_resident_numbers_are_never_tokens(type_: str) -> None:
    assert effective(GuardSettings(mode="token")).mode_of(type_) == "mask"
    assert effective(GuardSettings(types={type_: "token"})).mode_of(type_) == "mask"
    assert effective(GuardSettings(types={type_: "block"})).mode_of(type_) == "block"
    tenant = GuardSpec(types={type_: "token"})
    assert effective(GuardSettings(), None, tenant).mode_of(type_) == "mask"


def test_lists_and_limits_come_whole_from_the_first_level_that_has_them() -> None:
    settings = GuardSettings(keep_on=("a", "b"), max_output_tokens=100, blocked_patterns=("x",))
    rule = effective(settings, GuardSpec(keep_on=("c",)), GuardSpec(max_output_tokens=0))
    assert rule.keep_on == ("c",)
    assert rule.max_output_tokens == 0
    assert rule.blocked_patterns == ("x",)
    assert rule.allowed_tools == ()


def test_answers_are_masked_where_requests_would_be_blocked_or_marked() -> None:
    rule = GuardRule(mode="block", modes={"email": "token", "phone": "count"})
    assert rule.answer_mode_of("card") == "mask"
    assert rule.answer_mode_of("email") == "mask"
    assert rule.answer_mode_of("phone") == "count"


def test_a_rule_without_anything_to_do_is_idle() -> None:
    assert effective(GuardSettings(mode="off")).is_idle
    assert not effective(GuardSettings(mode="off", types={"email": "count"})).is_idle
    assert not effective(GuardSettings(answers=False)).masks_answers
