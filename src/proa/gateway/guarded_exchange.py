"""A request under `[guard]`: its body is searched and acted on before any engine has it.

    run         a large body goes to the helper first; any is searched where a route asks for `pii`
    dispatch    the first time, after the match: the rule is acted on, then an engine is chosen
    answers     go through the editor that knows the request's tokens

Whatever fails here ends the request: no text passes that was not searched.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from proa.domain.outcome import Outcome
from proa.gateway.answers import error_event
from proa.gateway.body import Asked, asked_of
from proa.gateway.exchange import Exchange
from proa.gateway.guard_limits import kept, limited, too_long
from proa.gateway.guard_messages import Act, Done, Edit, Failed, Found, Reply, Search
from proa.gateway.guard_work import Acted, GuardedBody, acted
from proa.gateway.guarded_relay import GuardedRelay
from proa.gateway.guarding import INLINE_MAX_BYTES, passes, personal, refusal
from proa.gateway.relay import EventRelay
from proa.guard.answer_editor import AnswerEditor
from proa.guard.answers import edited_answer
from proa.guard.json_text import UnreadableBody
from proa.guard.places import PATHS
from proa.guard.policy import GuardRule
from proa.guard.tokens import TokenBook
from proa.guard.walk import Searched, search
from proa.routing.decision import Refusal, RouteMatch
from proa.telemetry.rows import Guard
from proa.wire.request_head import RequestHead
from proa.wire.response_parser import ResponseParser

if TYPE_CHECKING:
    from proa.gateway.connection import ClientConnection

_JSON, _TEXT = b"application/json", b"text/plain"
_NO_TEXTS = frozenset((b"/v1/embeddings", b"/api/embed", b"/api/embeddings"))
_WITHHELD = b"what the engine said could not be searched for personal data"


class GuardedExchange(Exchange):
    """`rule` is there once the route is known, `found` once the rule was acted on."""

    __slots__ = (
        "_counts", "_editor", "_guard", "_job", "_searched", "_then", "_tokens", "found",
        "is_guarded", "rule",
    )  # fmt: skip

    def __init__(self, connection: "ClientConnection", head: RequestHead) -> None:
        super().__init__(connection, head)
        guard = self.plane.guard
        assert guard is not None
        self._guard = guard
        self.is_guarded = False

        # the request
        self.rule: GuardRule | None = None
        self.found: Mapping[str, int] | None = None
        self._job: int | None = None
        self._counts: Mapping[str, int] = {}
        self._searched: Searched | None = None

        # the answer
        self._tokens: TokenBook | None = None
        self._editor: AnswerEditor | None = None
        self._then: Callable[[bytes], None] | None = None

    # the request

    def run(self, body: bytes) -> None:
        if not body or self.is_local or self._guard.is_idle_for(self.tenant_name):
            super().run(body)
            return
        self.body = body
        self.connection.body_read = True
        if len(body) > INLINE_MAX_BYTES:
            self._search_aside()
            return
        if self.dispatcher.router.needs(self.head.path_text).pii and not self._search():
            return
        super().run(body)

    def _search(self) -> bool:
        """Search the body here and now; false if it may not pass."""
        asked = self._guarded_body()
        scanner = self._guard.scanner
        try:
            searched = search(asked.path, asked.body, scanner, asked.content_type)
        except Exception as fault:  # whatever it is: fail closed
            self._failed(fault)
            return False
        self._searched, self._counts = searched, searched.counts
        return True

    def _search_aside(self) -> None:
        guard, head, helper = self._guard, self.head, self.plane.guard_helper
        job = self._job = helper.new_job(self._replied)
        kind = head.fields.get(b"content-type", b"")
        order = Search(job=job, path=head.path, content_type=kind, detectors=guard.detectors)
        helper.tell(order, self.body)
        guard.counts[Guard.HELPED] += 1

    def dispatch(self) -> None:
        if self.found is not None:
            super().dispatch()
            return
        match = self.match
        assert match is not None
        rule = self.rule = self._guard.rule(match.route, self.tenant_name)
        if not self.body or passes(rule):
            self._leave_job()
            tokens = TokenBook(rule.language, rule.labels)
            self._acted(Acted(body=self.body, counts={}, tokens=tokens))
        elif self._job is not None:
            self.plane.guard_helper.tell(Act(job=self._job, rule=rule))
        elif len(self.body) > INLINE_MAX_BYTES:
            self._search_aside()
        else:
            try:
                done = acted(self._guarded_body(), rule, self._guard.scanner, self._searched)
            except Exception as fault:  # whatever it is: fail closed
                self._failed(fault)
            else:
                self._acted(done)

    def _acted(self, done: Acted) -> None:
        """Go on with what may be sent, if it may."""
        rule, asked, guard = self.rule, self.asked, self._guard
        assert rule is not None
        assert asked is not None
        self.found, self._searched = done.counts, None
        self._tokens = done.tokens
        guard.count(rule, done.counts, in_answer=False)
        refused = refusal(rule, done, guard.counts) or self._limits(rule, done.body)
        if refused is None and self.match is not None:
            match = self._kept(self.match)
            if isinstance(match, RouteMatch):
                self.match = match
                self._edit_answers(rule, done.tokens)
                super().dispatch()
                return
            self.match, refused = None, match
            guard.counts[Guard.REFUSED_NO_ENGINE] += 1
        if refused is not None:
            self._refused(refused)

    def _limits(self, rule: GuardRule, body: bytes) -> Refusal | None:
        """Hold the request to its limits of tokens, and take the body."""
        asked = self.asked
        assert asked is not None
        counts = self._guard.counts
        if rule.max_input_tokens and body:
            refused = too_long(rule, self.plane.tokens.estimate(asked, body))
            if refused is not None:
                counts[Guard.REFUSED_LIMIT] += 1
                return refused
        if rule.max_output_tokens and body:
            with_limit = limited(asked.path, body, rule.max_output_tokens)
            if isinstance(with_limit, Refusal):
                counts[Guard.REFUSED_LIMIT] += 1
                return with_limit
            if with_limit is not body:
                asked.max_tokens = rule.max_output_tokens
            body = with_limit
        self.body = body
        return None

    def _kept(self, match: RouteMatch) -> RouteMatch | Refusal:
        """The match without engines that may not have what was found."""
        rule, found = self.rule, self.found
        if rule is None or not rule.keep_on or not found or not personal(rule, found):
            return match
        return kept(match, rule.keep_on)

    def _new_match(self, asked: Asked) -> RouteMatch | Refusal:
        match = super()._new_match(asked)
        if self.found is None or isinstance(match, Refusal):
            return match
        if self._guard.rule(match.route, self.tenant_name) != self.rule:
            told = "another route holds since the request began to wait (guard_failed)"
            return Refusal(503, "guard_failed", told, 1)
        return self._kept(match)

    @property
    def has_pii(self) -> bool:
        return bool(personal(self._guard.rule("", self.tenant_name), self._counts))

    # the helper

    def _replied(self, reply: Reply, body: bytes) -> None:
        if self.is_over:
            return
        try:
            self._go_on_with(reply, body)
        except Exception as fault:  # whatever it is: fail closed
            self._failed(fault)

    def _go_on_with(self, reply: Reply, body: bytes) -> None:
        if isinstance(reply, Found):
            self._searched_aside(reply)
            return
        self._job = None
        if isinstance(reply, Failed):
            self._failed(UnreadableBody(reply.unreadable) if reply.unreadable else None)
        elif self._then is not None:
            self._edited_aside(reply, body)
        else:
            assert self.rule is not None
            tokens = TokenBook(self.rule.language, self.rule.labels)
            tokens.know(reply.originals)
            self._acted(
                Acted(
                    body=self.body if reply.is_same else body,
                    counts=reply.counts,
                    tokens=tokens,
                    is_media_blocked=reply.is_media_blocked,
                    broken=reply.broken,
                )
            )

    def _searched_aside(self, reply: Found) -> None:
        self._counts = reply.counts
        if self.match is not None:
            self.dispatch()
            return
        self.asked = asked_of(self.head, self.surface, self.body, reply.fields, reply.features)
        super().run(self.body)

    def _leave_job(self) -> None:
        if self._job is not None:
            self.plane.guard_helper.drop(self._job)
            self._job = None

    # the answer

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

    # ends

    def finish(self, outcome: Outcome, status: int) -> None:
        if not self.is_over:
            self._leave_job()
            self._then = None
            if self._editor is not None and self.rule is not None:
                self._guard.count(self.rule, self._editor.counts, in_answer=True)
        super().finish(outcome, status)

    def _failed(self, fault: Exception | None) -> None:
        """The body may not pass: its sender's fault where it is no JSON on a path that we know."""
        if self._then is not None:
            self._withheld(fault)
        elif isinstance(fault, UnreadableBody) and self.head.path in PATHS:
            self._guard.counts[Guard.UNREADABLE] += 1
            self.refuse(400, f"{fault} (unreadable_body)", "unreadable_body")
        else:
            self._guard.counts[Guard.FAILED] += 1
            self._tell(fault)
            told = "the request could not be searched for personal data (guard_failed)"
            self.refuse(503, told, "guard_failed", outcome=Outcome.BROKEN)

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

    def _guarded_body(self) -> GuardedBody:
        head = self.head
        kind = head.fields.get(b"content-type", b"")
        return GuardedBody(path=head.path, content_type=kind, body=self.body)
