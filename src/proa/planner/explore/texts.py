"""Why a configuration stands on the front: what it is best in, or what it buys for how much."""

from collections.abc import Iterator
from typing import NamedTuple

from proa.planner.text import Text

MEASURES = ("price", "power", "speed", "headroom")
"""What configurations are judged by, in this order."""

_LITTLE = 0.01


class Figures(NamedTuple):
    """The measures of one configuration; None for a price that is not known."""

    price: float | None
    power_w: float
    user_tokens_per_s: float
    headroom: float


def point_text(own: Figures, base: Figures, best_in: tuple[str, ...]) -> Text:
    """What a point is best in, then how it differs from `base`: dearer, and for what.

    `base` is the configuration with the least price or, where no price is known, the least power.
    """
    parts = [_BEST[name] for name in MEASURES if name in best_in]
    if own != base:
        parts += _differences(own, base)
    return Text(". ".join(part.ko for part in parts), "; ".join(part.en for part in parts))


def _differences(own: Figures, base: Figures) -> Iterator[Text]:
    if own.price is None or base.price is None:
        yield from _change(own.power_w / base.power_w - 1, _POWER)
    else:
        yield from _change(own.price / base.price - 1, _PRICE)
        yield from _change(own.power_w / base.power_w - 1, _POWER)
    yield from _change(own.user_tokens_per_s / base.user_tokens_per_s - 1, _SPEED)
    yield _HEADROOM.fill(own=f"{own.headroom * 100:.0f}", base=f"{base.headroom * 100:.0f}")


def _change(share: float, texts: tuple[Text, Text]) -> Iterator[Text]:
    if abs(share) >= _LITTLE:
        yield texts[share < 0].fill(share=f"{abs(share) * 100:.0f}")


_BEST = {
    "price": Text("가격이 가장 낮음", "the lowest price"),
    "power": Text("전력이 가장 적음", "the least power"),
    "speed": Text("사용자당 속도가 가장 빠름", "the fastest for each user"),
    "headroom": Text("여유가 가장 큼", "the most headroom"),
}
_PRICE = (
    Text("기준보다 가격 {share} % 높음", "{share} % dearer than the base"),
    Text("기준보다 가격 {share} % 낮음", "{share} % cheaper than the base"),
)
_POWER = (
    Text("전력 {share} % 많음", "{share} % more power"),
    Text("전력 {share} % 적음", "{share} % less power"),
)
_SPEED = (
    Text("사용자당 속도 {share} % 빠름", "{share} % faster for each user"),
    Text("사용자당 속도 {share} % 느림", "{share} % slower for each user"),
)
_HEADROOM = Text("여유 {own} %(기준 {base} %)", "headroom {own} % (base {base} %)")
