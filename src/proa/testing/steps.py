"""What a scripted reply is made of: steps that are done one after the other."""

import asyncio
import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Send:
    """Write `data` so many `times`; each write waits until the kernel took all of it."""

    data: bytes
    times: int = 1


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Go on when the test sets `event`."""

    event: asyncio.Event


@dataclass(frozen=True, slots=True)
class Signal:
    """Set `event`: tells a test that this point was reached."""

    event: asyncio.Event


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait on the clock: for fakes that a person watches; tests use `WaitFor`."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Close:
    """End the connection with FIN, after all that was sent."""


@dataclass(frozen=True, slots=True)
class Reset:
    """End the connection with RST (SO_LINGER 0)."""


@dataclass(frozen=True, slots=True)
class Stall:
    """Do nothing for ever; only the client or the end of the engine ends it."""


@dataclass(frozen=True, slots=True)
class PauseReading:
    """Stop reading from the client, so that its upload meets back-pressure."""


@dataclass(frozen=True, slots=True)
class ResumeReading:
    """Read from the client again."""


Step = Send | WaitFor | Signal | Wait | Close | Reset | Stall | PauseReading | ResumeReading


@dataclass(frozen=True, slots=True)
class Reply:
    """Steps in order; `close` ends the connection with FIN after the last one.

    `close` sends no `connection: close` header: engines that close without a word
    exist. Put the header in where it is wanted.
    """

    steps: tuple[Step, ...]
    close: bool = False

    def preceded_by(self, *steps: Step) -> "Reply":
        return dataclasses.replace(self, steps=(*steps, *self.steps))

    def followed_by(self, *steps: Step) -> "Reply":
        return dataclasses.replace(self, steps=(*self.steps, *steps))

    def closing(self) -> "Reply":
        return dataclasses.replace(self, close=True)

    def first_bytes(self, count: int, *then: Step) -> "Reply":
        """The reply up to its `count`-th byte, and `then` in place of the rest."""
        kept: list[Step] = []
        for step in self.steps:
            if isinstance(step, Send):
                data = (step.data * step.times)[:count]
                count -= len(data)
                kept.append(Send(data))
                if count == 0:
                    break
            else:
                kept.append(step)
        return Reply((*kept, *then))


def as_steps(parts: Iterable[bytes | Step]) -> tuple[Step, ...]:
    """Bytes become `Send`, steps stay."""
    return tuple(Send(part) if isinstance(part, bytes) else part for part in parts)
