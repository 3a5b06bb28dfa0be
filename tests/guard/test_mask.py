"""Masks: nothing that identifies is left, the shape is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.guard.corpus import samples

from proa.guard.mask import mask
from proa.guard.types import TYPES

MADE = [sample for sample in samples(3, 300) if sample.truth]


@pytest.mark.parametrize(
    ("type_", "text", "masked"),
    [
        ("resident_number", "900101-1234567", "******-*******"),
        ("resident_number", "９００１０１ － 1234567", "****** － *******"),
        ("mobile_phone", "010-1234-5678", "010-****-****"),
        ("mobile_phone", "01012345678", "010********"),
        ("mobile_phone", "+82-10-1234-5678", "+82-**-****-****"),
        ("mobile_phone", "공일공 일이삼사 오육칠팔", "*** **** ****"),
        ("phone", "02-345-6789", "02-***-****"),
        ("foreign_phone", "+1 415-555-2671", "+* ***-***-****"),
        ("card", "4111-1111-1111-1111", "****-****-****-1111"),
        ("card", "4111111111111111", "************1111"),
        ("email", "kim@example.com", "***@example.com"),
        ("address", "서울특별시 강남구 테헤란로 123", "서울특별시 *** **** ***"),
        ("bank_account", "110-123-456789", "***-***-******"),
        ("vehicle_plate", "12가 3456", "*** ****"),
        ("password", "hunter2", "********"),
        ("api_key", "sk-Ab1", "********"),
        ("employee_number", "E-123456", "*-******"),
    ],
)
def test_by_type(type_: str, text: str, masked: str) -> None:
    assert mask(type_, text) == masked


@given(number=st.integers(0, len(MADE) - 1))
def test_less_than_five_digits_in_a_row_are_left(number: int) -> None:
    sample = MADE[number]
    for type_, start, end in sample.truth:
        masked = mask(type_, sample.text[start:end])
        assert sum(char.isdigit() for char in masked) <= 5 or type_ == "email"
        assert "*" in masked


@pytest.mark.parametrize("type_", sorted(TYPES))
def test_any_text_of_any_type_has_a_mask(type_: str) -> None:
    for text in ("1", "a@b", "+", "서울", "010", "a b"):
        assert isinstance(mask(type_, text), str)
