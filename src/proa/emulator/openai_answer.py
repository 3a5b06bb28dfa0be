"""Answers of the OpenAI API as bytes: a stream of events, or one object.

What the events say is the protocol's (`AnswerShape`); here they are made quick to send.
"""

from typing import Protocol

import msgspec

from proa.emulator.exchange import DONE_EVENT, LAST_CHUNK, AtOnce, event
from proa.emulator.openai_request import Prepared
from proa.emulator.sequence import Sequence
from proa.emulator.words import WORD_BYTES

Json = dict[str, object]
_MARK, _MARK_JSON = "\x01", b"\\u0001"


class AnswerShape(Protocol):
    """One engine's forms."""

    def opening_events(self, asked: Prepared) -> list[Json]:
        """Events before the first token; they are sent together with it."""

    def piece(self, asked: Prepared, text: str) -> Json:
        """The event of one token."""

    def closing_events(self, asked: Prepared, text: str, sequence: Sequence) -> list[Json]:
        """The last token's event and those after it, `[DONE]` excluded."""

    def whole(self, asked: Prepared, sequence: Sequence) -> Json:
        """The answer in one piece."""


class StreamAnswer:
    """Server-sent events; a token's event is three byte strings that were made once."""

    is_stream = True

    def __init__(self, shape: AnswerShape, asked: Prepared) -> None:
        self._shape = shape
        self._asked = asked
        self._word = asked.words.word
        piece = b"data: " + msgspec.json.encode(shape.piece(asked, _MARK)) + b"\n\n"
        before, _, after = piece.partition(_MARK_JSON)
        self._before = b"%x\r\n%b" % (len(before) + WORD_BYTES + len(after), before)
        self._after = after + b"\r\n"

    def opening(self) -> bytes:
        return b"".join(map(event, self._shape.opening_events(self._asked)))

    def token(self, number: int) -> bytes:
        return self._before + self._word(number) + self._after

    def closing(self, sequence: Sequence) -> bytes:
        text = self._word(sequence.generated).decode()
        events = self._shape.closing_events(self._asked, text, sequence)
        return b"".join((*map(event, events), DONE_EVENT, LAST_CHUNK))


class WholeAnswer(AtOnce):
    """One JSON object at the end."""

    def __init__(self, shape: AnswerShape, asked: Prepared) -> None:
        self._shape = shape
        self._asked = asked

    def closing(self, sequence: Sequence) -> bytes:
        return msgspec.json.encode(self._shape.whole(self._asked, sequence))
