"""A request under `[guard]`: its body is searched and acted on before any engine has it.

    run         a large body goes to the helper first; any is searched where a route asks for `pii`
    dispatch    the first time, after the match: the rule is acted on, then an engine is chosen
    answers     go through the editor that knows the request's tokens

Whatever fails here ends the request: no text passes that was not searched.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from proa.domain.outcome import Outcome
from proa.gateway.body import Asked, asked_of
from proa.gateway.guard_limits import kept, limited, too_long
from proa.gateway.guard_messages import Act, Failed, Found, Reply, Search
from proa.gateway.guard_work import Acted, GuardedBody, acted
from proa.gateway.guarded_answers import GuardedAnswers
from proa.gateway.guarding import INLINE_MAX_BYTES, passes, personal, refusal
from proa.guard.json_text import UnreadableBody
from proa.guard.places import PATHS
from proa.guard.policy import GuardRule
from proa.guard.tokens import TokenBook
from proa.guard.walk import Searched, search
from proa.routing.decision import Refusal, RouteMatch
from proa.telemetry.rows import Guard
from proa.wire.request_head import RequestHead

if TYPE_CHECKING:
    from proa.gateway.connection import ClientConnection


class GuardedExchange(GuardedAnswers):
    """`found` is there once the rule was acted on: findings by type."""

    __slots__ = ("_counts", "_searched", "found")

    def __init__(self, connection: "ClientConnection", head: RequestHead) -> None:
        super().__init__(connection, head)
        self.found: Mapping[str, int] | None = None
        self._counts: Mapping[str, int] = {}
        self._searched: Searched | None = None

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

    # ends

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

    def _guarded_body(self) -> GuardedBody:
        head = self.head
        kind = head.fields.get(b"content-type", b"")
        return GuardedBody(path=head.path, content_type=kind, body=self.body)
