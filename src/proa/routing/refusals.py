"""An engine that refuses requests without being broken gets fewer of them for a while.

Refusing is quick: an engine that does it has little to do, and would look free.
"""

LEAST_SHARE = 0.05
REGAINED_PER_S = 0.2


class Refusals:
    """The share halves with each refusal, to a twentieth at least, and grows back with time."""

    __slots__ = ("_at_s", "_share")

    def __init__(self) -> None:
        self._share = 1.0
        self._at_s = 0.0

    def share(self, now_s: float) -> float:
        """The part of its traffic that the engine may get."""
        if self._share >= 1.0:
            return 1.0
        return min(1.0, self._share + REGAINED_PER_S * max(0.0, now_s - self._at_s))

    def record(self, now_s: float) -> None:
        """The engine said that it is busy or not ready."""
        self._share = max(LEAST_SHARE, self.share(now_s) / 2.0)
        self._at_s = now_s
