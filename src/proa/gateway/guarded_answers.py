"""The answer's half of a request under `[guard]`: it goes through the editor of its request.

Streams are relayed through `guarded_relay.py`, other answers are held in `guarded_answer.py`; what
cannot be searched is withheld, and the client told so.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from proa.domain.outcome import Outcome
from proa.gateway.answers import error_event
from proa.gateway.exchange import Exchange
from proa.gateway.guard_messages import Done, Edit, Reply
from proa.gateway.guarded_relay import GuardedRelay
from proa.gateway.guarding import INLINE_MAX_BYTES
from proa.gateway.relay import EventRelay
from proa.guard.answer_editor import AnswerEditor
from proa.guard.answers import edited_answer
from proa.guard.json_text import UnreadableBody
from proa.guard.policy import GuardRule
from proa.guard.tokens import TokenBook
from proa.telemetry.rows import Guard
from proa.wire.request_head import RequestHead
from proa.wire.response_parser import ResponseParser

if TYPE_CHECKING:
    from proa.gateway.connection import ClientConnection

_JSON, _TEXT = b"application/json", b"text/plain"
_NO_TEXTS = frozenset((b"/v1/embeddings", b"/api/embed", b"/api/embeddings"))
_WITHHELD = b"what the engine said could not be searched for personal data"


class GuardedAnswers(Exchange):
    """`rule` is there once the route is known. One job of the helper at a time is ours."""

    __slots__ = ("_editor", "_guard", "_job", "_then", "_tokens", "is_guarded", "rule")

    def __init__(self, connection: "ClientConnection", head: RequestHead) -> None:
        super().__init__(connection, head)
        guard = self.plane.guard
        assert guard is not None
        self._guard = guard
        self.is_guarded = False
        self.rule: GuardRule | None = None
        self._job: int | None = None
        self._tokens: TokenBook | None = None
        self._editor: AnswerEditor | None = None
        self._then: Callable[[bytes], None] | None = None

    @abstractmethod
    def _failed(self, fault: Exception | None) -> None:
        """What was to be searched may not pass."""

    @abstractmethod
    def _go_on_with(self, reply: Reply, body: bytes) -> None:
        """The helper has answered."""

    def _edit_answers(self, rule: GuardRule, tokens: TokenBook) -> None:
        editor = AnswerEditor(self._guard.scanner, rule, tokens)
        if not editor.is_idle and self.head.path not in _NO_TEXTS:
            self._editor = editor
            self.is_guarded = True

    def takes_whole(self) -> bool:
        return not self.is_guarded and super().takes_whole()

    def guarded_relay(self, relay: EventRelay) -> EventRelay:
        assert self._editor is not None
        return GuardedRelay(self.surface, relay, self._editor)

    def answer_held(self, parser: ResponseParser, body: bytes, outcome: Outcome) -> None:
        kind = parser.fields.get(b"content-type", b"")
        answer_held = super().answer_held
        self._edit(body, kind, lambda edited: answer_held(parser, edited, outcome))

    def answer_translated(self, parser: ResponseParser, body: bytes) -> None:
        answer_translated = super().answer_translated
        if self._editor is None:
            answer_translated(parser, body)
        else:
            self._edit(body, _JSON, lambda edited: answer_translated(parser, edited))

    def _edit(self, body: bytes, content_type: bytes, then: Callable[[bytes], None]) -> None:
        """Mask and restore in a whole answer, aside if it is large."""
        rule, tokens, editor = self.rule, self._tokens, self._editor
        assert rule is not None
        assert tokens is not None
        assert editor is not None
        if len(body) <= INLINE_MAX_BYTES:
            try:
                edited = edited_answer(body, editor, content_type)
            except Exception as fault:  # whatever it is: fail closed
                self._withheld(fault)
            else:
                then(edited)
            return
        self._then = lambda edited: then(edited or body)
        helper, guard = self.plane.guard_helper, self._guard
        job = self._job = helper.new_job(self._replied)
        order = Edit(
            job=job,
            rule=rule,
            content_type=content_type,
            originals=tokens.originals,
            detectors=guard.detectors,
        )
        helper.tell(order, body)
        guard.counts[Guard.HELPED] += 1

    def _edited_aside(self, reply: Done, body: bytes) -> None:
        assert self._editor is not None
        assert self._then is not None
        self._editor.counts.update(reply.counts)
        self._then(b"" if reply.is_same else body)

    def shown(self, text: bytes) -> bytes:
        editor = self._editor
        if editor is None:
            return text
        for kind in (_JSON, _TEXT):
            try:
                return edited_answer(text.decode("utf-8", "replace").encode(), editor, kind)
            except UnreadableBody:
                continue
            except Exception as fault:  # whatever it is: fail closed
                self._tell(fault)
                break
        return _WITHHELD

    def withhold(self, *, ndjson: bool) -> None:
        self._withheld(None, ndjson=ndjson)

    # the helper

    def _replied(self, reply: Reply, body: bytes) -> None:
        if self.is_over:
            return
        try:
            self._go_on_with(reply, body)
        except Exception as fault:  # whatever it is: fail closed
            self._failed(fault)

    def _leave_job(self) -> None:
        if self._job is not None:
            self.plane.guard_helper.drop(self._job)
            self._job = None

    # ends

    def finish(self, outcome: Outcome, status: int) -> None:
        if not self.is_over:
            self._leave_job()
            self._then = None
            if self._editor is not None and self.rule is not None:
                self._guard.count(self.rule, self._editor.counts, in_answer=True)
        super().finish(outcome, status)

    def _withheld(self, fault: Exception | None, *, ndjson: bool = False) -> None:
        self._guard.counts[Guard.FAILED] += 1
        self._tell(fault)
        told = "the answer could not be searched for personal data (guard_failed)"
        answer = self.begun
        if self.committed and answer is not None:
            if answer.is_events:
                event = error_event(self.surface.api, 503, told, ndjson=ndjson)
                answer.body(event, last=False)
            answer.cut()
            self.finish(Outcome.BROKEN, answer.status)
        else:
            self.refuse(503, told, "guard_failed", outcome=Outcome.BROKEN)

    def _tell(self, fault: Exception | None) -> None:
        """A line in the log: the kind of the fault, never its text, which may hold the client's."""
        if self.plane.log is not None:
            self.plane.log.event("error", "guard failed", fault=type(fault).__name__)
