"""How one worker wakes another: event descriptors that all workers inherit."""

import os
from collections.abc import Sequence
from contextlib import suppress

COUNT = 32


class Bells:
    """One bell for each row, the same again every `COUNT` rows.

    A bell that two workers share wakes both; a ring that gets lost costs the worker the
    few milliseconds until it looks by itself.
    """

    def __init__(self, descriptors: Sequence[int]) -> None:
        self.descriptors = tuple(descriptors)

    @classmethod
    def create(cls) -> "Bells":
        """New ones, closed on exec unless they are passed on."""
        flags = os.EFD_NONBLOCK | os.EFD_CLOEXEC
        return cls([os.eventfd(0, flags) for _ in range(COUNT)])

    def descriptor(self, row_index: int) -> int:
        """What becomes readable when the row's bell rings."""
        return self.descriptors[row_index % len(self.descriptors)]

    def ring(self, row_index: int) -> None:
        with suppress(BlockingIOError):  # rung so often that it cannot count on
            os.eventfd_write(self.descriptor(row_index), 1)

    def silence(self, row_index: int) -> None:
        with suppress(BlockingIOError):  # the other worker of the same bell was faster
            os.eventfd_read(self.descriptor(row_index))

    def close(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)
