"""Measured step times of models on GPUs, and the first guess that they give for an engine."""

import msgspec

from proa.catalog.gpus import known_gpu
from proa.catalog.models import known_model
from proa.domain.timing import EngineTiming, StepTime, TimingSource

LIKE_SIZE = 0.1
"""A measurement holds for models whose size differs by less than this share."""


class StepTimeRow(msgspec.Struct, frozen=True, kw_only=True):
    """The line through measurements of one GPU with a model of a size.

    It holds for streams that decode together, up to `users`; prompts are not in it.
    """

    gpu: str
    parameters: float
    step: StepTime
    users: int
    source: str


def _row(gpu: str, billions: float, base_ms: float, per_ms: float, told: str) -> StepTimeRow:
    step = StepTime(base_s=base_ms / 1e3, per_sequence_s=per_ms / 1e3)
    source = f"line through the published measurement of {told}"
    return StepTimeRow(gpu=gpu, parameters=billions * 1e9, step=step, users=20, source=source)


STEP_TIMES = (
    _row("rtx-pro-6000-96gb", 8.0, 6.35, 0.314, "1,582 tok/s of 20 users together"),
    _row("rtx-5060-ti-16gb", 8.0, 12.5, 0.69, "76 tok/s of 1 user, 760 tok/s of 20 together"),
    _row("rtx-pro-6000-96gb", 14.0, 10.4, 0.433, "1,049 tok/s of 20 users together"),
    _row("rtx-5060-ti-16gb", 14.0, 24.0, 1.87, "326 tok/s of 20 users together"),
)


def catalogue_timing(gpu: str, model: str) -> EngineTiming | None:
    """A first guess of an engine's speed; None where nothing was measured.

    `gpu` and `model` are names that `find_gpu` and `find_model` know. The prefill speed
    stays open: no measurement tells it.
    """
    card, llm = known_gpu(gpu), known_model(model)
    if card is None or llm is None or llm.parameters is None:
        return None
    for measured in STEP_TIMES:
        alike = abs(llm.parameters / measured.parameters - 1) < LIKE_SIZE
        if alike and measured.gpu == card.id:
            return EngineTiming(step=measured.step, source=TimingSource.CATALOGUE)
    return None
