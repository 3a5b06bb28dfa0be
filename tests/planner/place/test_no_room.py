"""A model that fits nowhere is refused with its numbers, in both languages."""

import pytest

from proa.catalog.gpus import find_gpu
from proa.catalog.models import find_model
from proa.planner.fit.spec import FitSpec
from proa.planner.place.layouts import LayoutLimits
from proa.planner.place.need import NeedSpec
from proa.planner.place.no_room import NoRoomError
from proa.planner.place.placement import PlacementSpec, place

START = FitSpec(llm=find_model("Llama-3.1-405B-Instruct"), gpu=find_gpu("rtx-4090-24gb"))
NEED = NeedSpec(sessions=1, input_tokens=1000, output_tokens=100)


def refused(limits: LayoutLimits) -> NoRoomError:
    with pytest.raises(NoRoomError) as told:
        place(PlacementSpec(start=START, need=NEED, gpus=2, layouts=limits))
    return told.value


def test_the_largest_layout_is_told_with_its_weights() -> None:
    error = refused(LayoutLimits())
    assert (error.field, error.value) == ("gpu", "rtx-4090-24gb")
    assert str(error) == error.reason.en
    for text in (error.reason.ko, error.reason.en):
        assert "1,100" in text
        assert "405.9 GB" in text


def test_limits_that_leave_no_layout_are_told() -> None:
    error = refused(LayoutLimits(tensor_parallel=4))
    assert "within the limits that were given" in error.reason.en
    assert "주어진 제한" in error.reason.ko
