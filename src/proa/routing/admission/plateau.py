"""How many requests an engine works on at most, seen from outside."""

from collections import deque
from math import ceil

HEADROOM = 0.1
MOST_HEADROOM = 1.0
CONFIRMED = 3
_KEPT = 20


class PlateauCap:
    """The plateau of *running* while *waiting* > 0, plus a tenth; probed upwards.

    An engine that keeps requests waiting runs as many as it can. `cap` is known after
    three such answers in a row, since a burst waits for a moment in every engine. The
    tenth keeps the engine's own queue from running dry, and shows when it could run
    more: an engine that runs more than was thought and has nobody waiting gets more, each
    time twice as much more, until somebody waits again.

    Not modelled:
        that the plateau depends on the length of the requests, other than by following it.
    """

    def __init__(self) -> None:
        self._full: deque[int] = deque(maxlen=_KEPT)  # running, while others waited
        self._in_a_row = 0
        self._headroom = HEADROOM
        self._plateau: int | None = None

    @property
    def cap(self) -> int | None:
        """How many requests to give it at one time; None while that is not known."""
        if self._plateau is None:
            return None
        return max(self._plateau + 1, ceil(self._plateau * (1.0 + self._headroom)))

    def observe(self, running: int | None, waiting: int | None) -> None:
        """What the engine said at a poll; an engine that does not say has no cap."""
        if running is None or waiting is None:
            self.forget()
        elif waiting > 0 and running > 0:
            self._full.append(running)
            self._in_a_row += 1
            if self._in_a_row >= CONFIRMED or self._plateau is not None:
                self._plateau = max(self._full)
                self._headroom = HEADROOM
        else:
            self._in_a_row = 0
            if self._plateau is None:
                self._full.clear()
            elif running > self._plateau:
                self._plateau = running
                self._full.append(running)
                self._headroom = min(2.0 * self._headroom, MOST_HEADROOM)

    def forget(self) -> None:
        """The engine is another one, or silent."""
        self._full.clear()
        self._in_a_row = 0
        self._headroom = HEADROOM
        self._plateau = None
