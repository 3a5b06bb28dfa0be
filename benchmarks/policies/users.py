"""Users in a closed loop: each sends a chat, reads its stream, and sends the next at once."""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import cast

from benchmarks.policies.pairs import LONGEST, SHORTEST, USER_TOKENS_PER_S

_HEAD = (
    b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    b"content-type: application/json\r\naccept: */*\r\ncontent-length: %d\r\n\r\n%b"
)
_CONTENT = re.compile(rb'"content": ?"[^"]')
_AGAIN_S = 0.25
_RANDOM = Random(1)
_END = b"0\r\n\r\n"


@dataclass(eq=False)
class Answer:
    """One request and what came of it; a failed one has no `last_s`."""

    sent_s: float
    output_tokens: int
    first_s: float = 0.0
    last_s: float = 0.0
    events: int = 0
    has_failed: bool = False

    @property
    def is_open(self) -> bool:
        return not (self.last_s or self.has_failed)

    @property
    def tokens_per_s(self) -> float:
        """1 / TPOT; 0 for a failure."""
        if not self.last_s:
            return 0.0
        return (self.output_tokens - 1) / max(self.last_s - self.first_s, 1e-9)

    @property
    def is_good(self) -> bool:
        return self.tokens_per_s >= USER_TOKENS_PER_S


def chat(model: str, prompt_words: int, output_tokens: int) -> bytes:
    """A whole request."""
    asked = {
        "model": model,
        "messages": [{"role": "user", "content": _prompt(prompt_words)}],
        "max_tokens": output_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "ignore_eos": True,
    }
    body = json.dumps(asked).encode()
    return _HEAD % (len(body), body)


def _prompt(words: int) -> str:
    """No two begin alike: what a router does for prefixes is not the matter here."""
    return " ".join(f"{_RANDOM.getrandbits(20):x}" for _ in range(words))


@dataclass
class Crowd:
    """What all users share. `next_tokens` gives the length of the next answer."""

    port: int
    model: str
    next_tokens: Callable[[], int]
    prompt_words: Callable[[], int] = lambda: 12
    answers: list[Answer] = field(default_factory=list)
    failures: int = 0
    users: "set[User]" = field(default_factory=set)
    is_over: bool = False

    def close(self) -> None:
        """Everybody leaves at once, in the middle of whatever it is."""
        self.is_over = True
        for user in list(self.users):
            user.leave()


class User(asyncio.Protocol):
    """One user on one connection."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._loop = asyncio.get_running_loop()
        self._answer: Answer | None = None
        self._tail = b""
        self._is_reused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._crowd.users.add(self)
        self._ask()

    def leave(self) -> None:
        """Close without asking again."""
        self._transport.abort()

    def _ask(self) -> None:
        crowd = self._crowd
        tokens = crowd.next_tokens()
        self._tail = b""
        self._answer = Answer(self._loop.time(), tokens)
        crowd.answers.append(self._answer)
        self._transport.write(chat(crowd.model, crowd.prompt_words(), tokens))

    def data_received(self, data: bytes) -> None:
        answer, now = self._answer, self._loop.time()
        if answer is None:
            return
        if not answer.first_s and not _CONTENT.search(data):
            if not self._tail and not data.startswith(b"HTTP/1.1 200"):
                self._fail()
                return
            self._tail = data[-64:]
            return
        if not answer.first_s:
            answer.first_s = now
        answer.events += data.count(b"\n\n")
        tail = self._tail = data[-64:] if len(data) >= 64 else (self._tail + data)[-64:]
        if tail.endswith(_END):
            answer.last_s = now
            self._is_reused = True
            self._ask()

    def _fail(self) -> None:
        if self._answer is not None:
            self._answer.has_failed = True
            self._crowd.failures += 1
            self._answer = None
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        crowd = self._crowd
        crowd.users.discard(self)
        if crowd.is_over:
            return
        if self._is_reused and self._answer is not None and not self._tail:
            crowd.answers.remove(self._answer)  # the server closed between two requests
            self._loop.create_task(join(crowd))
            return
        self._fail()
        self._loop.call_later(_AGAIN_S, lambda: self._loop.create_task(join(crowd)))


async def join(crowd: Crowd) -> None:
    """One more user, unless all is over; a refused connection is tried again."""
    loop = asyncio.get_running_loop()
    while not crowd.is_over:
        try:
            await loop.create_connection(lambda: User(crowd), "127.0.0.1", crowd.port)
        except OSError:
            crowd.failures += 1
            await asyncio.sleep(_AGAIN_S)
        else:
            return


def drawn(seed: int) -> Callable[[], int]:
    """Output tokens, drawn evenly."""
    rng = Random(seed)
    return lambda: rng.randint(SHORTEST, LONGEST)
