"""Too large, too small, and the reasons why both happen: named, with their numbers."""

from collections.abc import Iterator
from math import ceil

import msgspec

from proa.errors import FieldError
from proa.planner.text import Text, percent, written

OVERSIZED_SHARE = 0.5
"""Below this share of what the GPUs can carry, a size is called too large."""

_FEW_USERS = 2
_FAR_BEYOND = 4


class SizingSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A size to be judged.

    `max_sessions` is what `gpus` carry while everything that was asked holds; `smallest_gpus`
    the count that `sessions` need, None where no count does. `mean_sessions` is the load before
    a burst factor, `evidence_users` the most users of any run that the size rests on.
    """

    sessions: int
    gpus: int
    max_sessions: int
    smallest_gpus: int | None = None
    mean_sessions: float | None = None
    evidence_users: int | None = None


def load_share(sessions: int, max_sessions: int) -> float:
    """Share of the sessions that could be carried: `sessions / max_sessions`.

    Raises:
        FieldError: no session can be carried.
    """
    if max_sessions < 1:
        raise FieldError("max_sessions", max_sessions, "a whole number from 1")
    return sessions / max_sessions


def sizing_warnings(spec: SizingSpec) -> tuple[Text, ...]:
    """What is to be said of this size; empty if it suits."""
    return (*_oversized(spec), *_undersized(spec))


def _oversized(spec: SizingSpec) -> Iterator[Text]:
    smaller = spec.smallest_gpus is not None and spec.smallest_gpus < spec.gpus
    if not smaller or spec.max_sessions < 1:
        return
    share = load_share(spec.sessions, spec.max_sessions)
    if share < OVERSIZED_SHARE:
        sizes = {"gpus": spec.gpus, "enough": spec.smallest_gpus}
        told = {"share": percent(round(share, 2)), "sessions": written(spec.sessions)}
        yield _TOO_LARGE.fill(**sizes, **told)
        yield _TRAINING.fill(**sizes)


def _undersized(spec: SizingSpec) -> Iterator[Text]:
    if spec.sessions > spec.max_sessions:
        values = {"gpus": spec.gpus, "sessions": written(spec.sessions)}
        yield _TOO_SMALL.fill(**values, most=written(spec.max_sessions))
    users = spec.evidence_users
    if users is not None and users <= _FEW_USERS and spec.sessions >= _FAR_BEYOND * users:
        yield _FEW.fill(users=users, sessions=written(spec.sessions))
    mean = spec.mean_sessions
    if mean is not None and mean > 1 and spec.sessions <= ceil(mean):
        yield _MEAN.fill(sessions=written(spec.sessions), mean=written(mean))


_TOO_LARGE = Text(
    "과대 산정: 동시 세션 {sessions}개의 부하에서 GPU {gpus}장은 {share}로 가동됩니다. "
    "같은 요구에 {enough}장이면 충분합니다.",
    "Over-sized: at this load ({sessions} sessions) {gpus} GPUs would run at {share}; "
    "{enough} meet the same need.",
)
_TRAINING = Text(
    "나중에 학습이나 파인튜닝을 할 수도 있다는 이유로 {gpus}장을 잡았다면 "
    "추론 요구와 분리해 산정하십시오. 학습은 메모리와 링크 요구가 다르므로, "
    "필요할 때 빌리는 비용과 {enough}장에서 {gpus}장으로 늘리는 비용을 먼저 비교해야 합니다.",
    "If {gpus} GPUs were chosen because somebody may fine-tune someday, size that apart: training "
    "has other needs of memory and links, and renting it when it comes is to be compared with the "
    "price between {gpus} and {enough}.",
)
_TOO_SMALL = Text(
    "과소 산정: GPU {gpus}장은 조건을 지키면서 세션 {most}개까지만 감당합니다. "
    "요구는 {sessions}개입니다.",
    "Under-sized: {gpus} GPUs carry {most} sessions while the conditions hold; "
    "{sessions} are asked.",
)
_FEW = Text(
    "근거가 된 시험은 동시 사용자 {users}명입니다. 이때는 GPU를 거의 혼자 쓰므로, "
    "배치와 대기열이 생기는 세션 {sessions}개에서의 속도를 보여 주지 못합니다. "
    "설계 세션 수로 다시 측정하십시오.",
    "The evidence is a run with {users} users at once: each has the GPU almost to himself, so it "
    "tells nothing of {sessions} sessions, which share batches and wait. Measure at the design "
    "sessions.",
)
_MEAN = Text(
    "세션 {sessions}개는 평균 부하({mean})에 해당합니다. 평균에 맞추면 피크에 부족합니다. "
    "피크 시간 비중과 버스트 계수를 곱해 설계 세션을 정하십시오.",
    "{sessions} sessions are the mean load ({mean}): a size for the mean is short at the peak. "
    "Design for the peak hour times a burst factor.",
)
