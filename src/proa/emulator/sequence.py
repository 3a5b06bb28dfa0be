"""One request inside the scheduler: what was asked, and how far it is."""

from collections.abc import Callable
from enum import Enum, auto

import msgspec


class SequenceSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of the scheduler.

    Exactly `output_tokens` come out, the first of them at the prefill's end.
    `prefix_hashes` are chained hashes of the prompt's full blocks, first block first;
    empty keeps the prompt out of the prefix cache. `adapter` is a LoRA adapter's name.
    `is_cut` tells that the client's limit ended the text, not the text itself.
    """

    prompt_tokens: int
    output_tokens: int
    prefix_hashes: tuple[bytes, ...] = ()
    adapter: str = ""
    is_cut: bool = True


class Phase(Enum):
    """Where a sequence is; `ENDED` is finished or cancelled."""

    WAITING = auto()
    RUNNING = auto()
    ENDED = auto()


class Sequence:
    """A sequence's progress, in tokens and in seconds of the driver's clock.

    `computed` tokens are in the KV cache; a preempted sequence begins again at 0 and
    keeps the `generated` ones. `cached_tokens` came from the prefix cache at its
    first admission. `on_token` is called for each token, by the driver.
    """

    __slots__ = (
        "admitted_s",
        "arrived_s",
        "cached_tokens",
        "computed",
        "finished_s",
        "first_token_s",
        "generated",
        "on_token",
        "output_tokens",
        "phase",
        "preemptions",
        "private_blocks",
        "prompt_tokens",
        "shared_blocks",
        "spec",
    )

    def __init__(
        self,
        spec: SequenceSpec,
        arrived_s: float,
        on_token: "Callable[[Sequence], None] | None" = None,
    ) -> None:
        self.spec = spec
        self.prompt_tokens = spec.prompt_tokens
        self.output_tokens = spec.output_tokens
        self.on_token = on_token
        self.phase = Phase.WAITING
        self.generated = 0
        self.computed = 0
        self.cached_tokens = 0
        self.preemptions = 0
        self.private_blocks = 0
        self.shared_blocks: list[bytes] = []
        self.arrived_s = arrived_s
        self.admitted_s: float | None = None
        self.first_token_s: float | None = None
        self.finished_s: float | None = None

    @property
    def tokens(self) -> int:
        """Prompt and what was generated so far."""
        return self.prompt_tokens + self.generated

    @property
    def is_done(self) -> bool:
        return self.generated == self.output_tokens
