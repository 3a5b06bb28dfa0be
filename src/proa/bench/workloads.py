"""What is sent: prompts of chosen lengths and shapes, each a function of its number in the run.

The same number gives the same prompt, in whatever process; two numbers never the same,
unless repetition is what was asked (`unique` false, or a dataset that is too small).
"""

import random
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

from proa.bench.datasets import DatasetRow
from proa.bench.lengths import LengthSpec
from proa.bench.texts.english import ENGLISH
from proa.bench.texts.grammar import TextSource
from proa.bench.texts.korean import KOREAN
from proa.bench.trace import TraceRow
from proa.errors import FieldError

Message = dict[str, Any]
_ENOUGH = 4  # times the mean length, as a stock for shared beginnings


class Language(StrEnum):
    """The language of generated prompts."""

    KOREAN = "ko"
    ENGLISH = "en"


class RagSpec(msgspec.Struct, frozen=True):
    """Retrieval: a system prompt that all share, `chunks` passages, a question.

    What the system prompt and the question leave of the input goes to the passages.
    `documents` is how many passages there are to draw from; 0 makes each a new one.
    """

    chunks: int = 5
    system_tokens: int = 300
    question_tokens: int = 30
    documents: int = 0


class WorkloadSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The prompts of a run.

    `shared_share` of the input is a beginning that all prompts share. `turns` above 1 makes
    conversations: each turn sends the whole past and `turn_tokens` more. `force_output`
    asks for exactly the output length (`ignore_eos`, `min_tokens`) where the engine takes it.
    """

    input: LengthSpec = LengthSpec(1000)
    output: LengthSpec = LengthSpec(200)
    language: Language = Language.ENGLISH
    shared_share: float = 0.0
    rag: RagSpec | None = None
    turns: int = 1
    turn_tokens: int = 50
    unique: bool = True
    force_output: bool = True
    seed: int = 0
    dataset: list[DatasetRow] = []
    trace: list[TraceRow] = []

    def __post_init__(self) -> None:
        if not 0 <= self.shared_share <= 1:
            raise FieldError("shared_prefix", self.shared_share, "a share from 0 to 1")
        if self.turns < 1:
            raise FieldError("turns", self.turns, "1 or more")


class TokenScale(msgspec.Struct, frozen=True):
    """tokens = overhead + words x per_word, as a target's usage has told (`calibration.py`)."""

    per_word: float = 1.3
    overhead: float = 8.0
    is_measured: bool = False

    def words(self, tokens: float) -> int:
        """Words for so many tokens of text, at least 1."""
        return max(1, round(tokens / self.per_word))


class Prompt(msgspec.Struct, frozen=True):
    """One request's messages, and the lengths that are asked (None: not chosen)."""

    messages: list[Message]
    input_tokens: int | None
    output_tokens: int


class Prompts:
    """Makes the prompts of one target."""

    def __init__(self, spec: WorkloadSpec, scale: TokenScale) -> None:
        self._spec = spec
        self._scale = scale
        rules = KOREAN if spec.language is Language.KOREAN else ENGLISH
        self._source = TextSource(rules, seed=spec.seed)
        shared = random.Random(f"{spec.seed} shared")
        longest = max([spec.input.mean * _ENOUGH, *(row.input_tokens for row in spec.trace)])
        wanted = longest if spec.shared_share else 0
        self._shared = self._source.text(scale.words(wanted), shared).split(" ") if wanted else []
        rag = spec.rag
        self._system = self._source.text(scale.words(rag.system_tokens), shared) if rag else ""
        self._order = list(range(len(spec.dataset)))
        shared.shuffle(self._order)
        self._past: dict[int, tuple[int, list[Message]]] = {}

    def make(self, number: int, *, user: int = 0, answer: str | None = None) -> Prompt:
        """The prompt with this number; `answer` is what the user got to the one before."""
        spec = self._spec
        dice = random.Random(f"{spec.seed} {number}")
        if spec.trace:
            return self._from_trace(spec.trace[user % len(spec.trace)], number, dice)
        output = spec.output.draw(dice)
        if spec.dataset:
            row = spec.dataset[self._order[number % len(self._order)]]
            return Prompt(row.messages, None, row.output_tokens or output)
        if spec.turns > 1:
            return self._turn(number, user, answer, dice, output)
        tokens = spec.input.draw(dice)
        return Prompt(self._messages(tokens, number, dice), tokens, output)

    def _from_trace(self, row: TraceRow, number: int, dice: random.Random) -> Prompt:
        messages = row.messages or self._messages(row.input_tokens, number, dice)
        return Prompt(messages, row.input_tokens, row.output_tokens)

    def _messages(self, tokens: int, number: int, dice: random.Random) -> list[Message]:
        room = max(1.0, tokens - self._scale.overhead)
        if self._spec.rag is not None:
            return self._retrieval(self._spec.rag, room, number, dice)
        words = self._scale.words(room)
        shared = self._shared[: round(words * self._spec.shared_share)]
        own = self._own(words - len(shared), number, dice)
        return [{"role": "user", "content": " ".join((*shared, own)) if own else " ".join(shared)}]

    def _own(self, words: int, number: int, dice: random.Random) -> str:
        """Text that begins with its number, so that no two have a beginning in common."""
        if words < 1:
            return ""
        text = self._source.text(words - 1, dice)
        return f"{number}. {text}" if text else f"{number}."

    def _retrieval(
        self, rag: RagSpec, room: float, number: int, dice: random.Random
    ) -> list[Message]:
        each = max(1.0, (room - rag.system_tokens - rag.question_tokens) / rag.chunks)
        words = self._scale.words(each)
        passages = []
        for _ in range(rag.chunks):
            if rag.documents:
                document = random.Random(f"{self._spec.seed} doc {dice.randrange(rag.documents)}")
                passages.append(self._source.text(words, document))
            else:
                passages.append(self._own(words, number, dice))
        question = self._own(self._scale.words(rag.question_tokens), number, dice)
        user = "\n\n".join((*passages, question))
        return [{"role": "system", "content": self._system}, {"role": "user", "content": user}]

    def _turn(
        self, number: int, user: int, answer: str | None, dice: random.Random, output: int
    ) -> Prompt:
        tokens, past = self._past.get(user, (0, []))
        asked_before = sum(message["role"] == "user" for message in past)
        if answer is None or not past or asked_before >= self._spec.turns:
            tokens = self._spec.input.draw(dice)
            messages = self._messages(tokens, number, dice)
        else:
            tokens += self._spec.turn_tokens
            question = self._own(self._scale.words(self._spec.turn_tokens), number, dice)
            messages = [*past, {"role": "assistant", "content": answer}]
            messages.append({"role": "user", "content": question})
        self._past[user] = (tokens + output, messages)
        return Prompt(messages, tokens, output)


def repeated_share(spec: WorkloadSpec, *, template_tokens: float = 0.0) -> float:
    """Share of the prompt tokens that the workload itself sends again: asked for, no accident.

    `template_tokens` are the target's own in each prompt, as of a chat template.

    Not modelled:
        what rows of a data set or a trace have in common.
    """
    if not spec.unique:
        return 1.0
    if spec.dataset or spec.trace:
        return 0.0
    mean = spec.input.mean
    shared = (mean - template_tokens) * spec.shared_share + template_tokens
    if spec.rag is not None:
        own = spec.rag.question_tokens
        shared = mean - own if spec.rag.documents else spec.rag.system_tokens + template_tokens
    new = spec.turn_tokens + spec.output.mean
    lengths = [mean + turn * new for turn in range(spec.turns)]
    again = [shared, *(length - spec.turn_tokens for length in lengths[1:])]
    return min(max(sum(again) / sum(lengths), 0.0), 1.0)


def texts_of(messages: Sequence[Message]) -> str:
    """All text of the messages, for text completions."""
    return "\n\n".join(str(message.get("content", "")) for message in messages)
