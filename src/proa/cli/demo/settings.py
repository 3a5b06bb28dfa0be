"""What the demo runs, and for how long."""

from pathlib import Path

import msgspec


class DemoSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is run, and for how long; `users` exceed the slots of both engines together.

    Each load runs for `warm_up_s`, which fills the engines' prompt caches, and is then
    counted for `alone_s` or `together_s`, and longer until `least_tokens` came; the
    last answers through the gateway have `drain_s`, the others are cancelled. Pairs for
    the latency are taken until `latency_s` are over, `least_pairs` at least.
    """

    gguf: Path
    model: str
    directory: Path
    listen: str
    users: int = 8
    least_tokens: int = 24
    warm_up_s: float = 0.3
    alone_s: float = 1.2
    together_s: float = 2.2
    drain_s: float = 1.2
    latency_s: float = 3.0
    least_pairs: int = 1
    most_pairs: int = 9
