"""Stages of a pipeline, and layouts that cannot be."""

import pytest
from tests.planner import models

from proa.errors import InputError
from proa.planner.layout import LayoutSpec, pipeline_stages


def test_the_last_stage_has_the_head_and_gets_no_more_layers() -> None:
    stages = pipeline_stages(models.DEEPSEEK_R1, LayoutSpec(pipeline_parallel=4))
    assert [sum(stage.counts) for stage in stages] == [15, 15, 16, 15]
    assert [stage.counts[0] for stage in stages] == [3, 0, 0, 0]
    assert [(stage.first, stage.last) for stage in stages] == [
        (True, False),
        (False, False),
        (False, False),
        (False, True),
    ]


def test_gpus_of_a_replica() -> None:
    assert LayoutSpec(tensor_parallel=4, pipeline_parallel=2, data_parallel=2).gpus == 16


def test_layouts_that_cannot_be() -> None:
    with pytest.raises(InputError, match="tensor_parallel = 0: accepted is 1 or more"):
        LayoutSpec(tensor_parallel=0)
    with pytest.raises(InputError, match="accepted is a divisor of"):
        LayoutSpec(tensor_parallel=8, context_parallel=3)


def test_more_stages_than_layers() -> None:
    with pytest.raises(InputError, match="accepted is up to 36"):
        pipeline_stages(models.QWEN3_8B, LayoutSpec(pipeline_parallel=37))
