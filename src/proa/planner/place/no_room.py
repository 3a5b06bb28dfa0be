"""A model that fits no layout on a GPU: the error, and its reason in both languages."""

from proa.errors import FieldError
from proa.planner.fit.spec import FitSpec
from proa.planner.place.need import NeedSpec
from proa.planner.place.replica import ReplicaPlan
from proa.planner.text import Text
from proa.units import format_bytes


class NoRoomError(FieldError):
    """No layout holds a single session; `reason` tells the same as the message."""

    def __init__(self, start: FitSpec, need: NeedSpec, nearest: ReplicaPlan | None) -> None:
        told = _ROOM.fill(**_numbers(need, nearest)) if nearest else _LIMITS.fill(llm=start.llm.id)
        super().__init__("gpu", start.gpu.id, told.en)
        self.reason = Text(told.ko, str(self))


def _numbers(need: NeedSpec, nearest: ReplicaPlan) -> dict[str, object]:
    memory, start = nearest.memory, nearest.start
    return {
        "llm": start.llm.id,
        "context": f"{need.context_tokens:,}",
        "gpus": start.layout.gpus,
        "weights": format_bytes(memory.weights_bytes),
        "share": format_bytes(memory.requested_bytes),
    }


_LIMITS = Text(
    "주어진 제한 안에서 {llm}을(를) 나누어 올릴 수 있는 GPU 수가 아닙니다",
    "a count of GPUs that {llm} can be laid over within the limits that were given",
)
_ROOM = Text(
    "{llm}은(는) {context}토큰 세션 하나조차 가장 큰 배치(GPU {gpus}장)에 들어가지 않습니다. "
    "GPU마다 {share} 가운데 {weights}를 가중치가 차지하므로, "
    "메모리가 더 큰 GPU나 더 많은 GPU가 필요합니다",
    "a GPU with more memory, or more of them ({llm} with one session of {context} tokens does not "
    "fit the largest layout of {gpus}: weights take {weights} of {share} on each)",
)
