"""The life of one request, from its head to the end of its answer.

    admit    key, limits, CORS; the answers that need no engine
    run      peek the body, match a route, choose an engine, take a lease
    attempt  one upstream try at a time (`attempt.py`); before the first byte went
             out a failed one may be followed by another
    answer   head and body to the client through its connection
    finish   counters, log, the key's place: in one place, whatever happened

Whatever is decided here is decided by pure parts: `wire`, `routing`, `engines`.
"""

from typing import TYPE_CHECKING

from proa.domain.outcome import Outcome
from proa.domain.request import RouteRequest
from proa.gateway import local_answers
from proa.gateway.accounting import account
from proa.gateway.attempt import Attempt
from proa.gateway.body import Asked, ask
from proa.gateway.client_side import DERIVED_MAX
from proa.gateway.facts import route_request
from proa.gateway.link import EngineLink
from proa.gateway.request_body import RequestBody
from proa.gateway.request_start import request_start
from proa.gateway.tickets import may_wait, with_wait
from proa.gateway.translated import begin
from proa.gateway.unguarded import Unguarded
from proa.routing.admission.ticket import Ticket
from proa.routing.context import narrowed
from proa.routing.decision import NO_ENGINE_LEFT, Refusal, RouteMatch
from proa.telemetry.rows import Header, observe_ttft
from proa.wire.request_head import RequestHead
from proa.wire.response_parser import ResponseParser
from proa.wire.surface import surface_of

if TYPE_CHECKING:
    from proa.gateway.connection import ClientConnection

_NO_STATUSES: frozenset[int] = frozenset()
_PROMPT_BYTES_PER_S = 1000.0
_FOREVER = float("inf")
_OK = Outcome.OK  # in 3.11 the member of an enumeration costs 0.2 µs to look up
_OPEN = Header.OPEN_EXCHANGES


class Exchange(Unguarded):
    """One request on its way to an engine and back.

    `tried` are the engines that had it, `retried` tells that the body went out twice.
    `moved` counts reads from the engine since the last sweep.
    """

    __slots__ = (
        "_request", "asked", "attempt", "body", "body_source", "dispatcher", "match",
        "moved", "next_beat_s", "queued_s", "retried", "ticket", "tried", "ttft_s",
    )  # fmt: skip

    def __init__(self, connection: "ClientConnection", head: RequestHead) -> None:
        super().__init__(connection, head)
        self.dispatcher = self.plane.dispatcher

        # until the request is whole
        self.body = b""
        self.body_source: RequestBody | None = None
        self.asked: Asked | None = None

        # until an engine answers
        self.attempt: Attempt | None = None
        self.match: RouteMatch | None = None
        self._request: RouteRequest | None = None
        self.ticket: Ticket[Exchange] | None = None
        self.queued_s = 0.0
        self.retried = False
        self.tried: tuple[int, ...] = ()

        # until the end
        self.moved = 0
        self.ttft_s: float | None = None
        self.next_beat_s = 0.0

    # run

    def run(self, body: bytes) -> None:
        """The whole request is here: answer it, or give it to an engine."""
        self.body = body
        self.connection.body_read = True
        if self.is_local and local_answers.answer(self):
            return
        asked = self.asked = self.asked or ask(self.head, body, self.surface)
        match = self.head.derived.get((self.dispatcher, asked.model)) or self._new_match(asked)
        if isinstance(match, Refusal) or (self.key and self.key.meter and self._is_too_much()):
            if isinstance(match, Refusal):
                self._refused(match)
            return
        least = match.least_context_tokens
        if least is None or len(body) + (asked.max_tokens or 0) <= least:
            self.match = match
            self.dispatch()
        else:
            self._go_on(self._fitting(match, asked))

    def _new_match(self, asked: Asked) -> RouteMatch | Refusal:
        router = self.dispatcher.router
        needs = router.needs(asked.path)
        self._request = route_request(self, asked, needs)
        match = router.match(self._request)
        if self.key is not None and self.key.gate is not None:
            match = self.key.gate.of_route(asked, self.body, match, self.plane)
        if isinstance(match, RouteMatch) and not needs.body:
            self._derive((self.dispatcher, asked.model), match)
        return match

    def _is_too_much(self) -> bool:
        """Whether its tenant has used a limit up; then it has been answered."""
        assert self.key is not None
        assert self.key.meter is not None
        return not self.key.meter.admits(self)

    def _go_on(self, match: RouteMatch | Refusal) -> None:
        if isinstance(match, Refusal):
            self._refused(match)
        else:
            self.match = match
            self.dispatch()

    def _fitting(self, match: RouteMatch, asked: Asked) -> RouteMatch | Refusal:
        """The match without engines whose context is too small."""
        request = RouteRequest(
            path=asked.path,
            input_tokens=self.plane.tokens.estimate(asked, self.body),
            max_tokens=asked.max_tokens,
        )
        return narrowed(match, request)

    def _derive(self, key: object, value: object) -> None:
        """Keep something for the next request with this head."""
        derived = self.head.derived
        if len(derived) >= DERIVED_MAX:
            derived.clear()
        derived[key] = value

    def _rewrite(self, match: RouteMatch) -> bool:
        """Write the match's path and model into the request; False if that can't be."""
        asked = self.asked
        assert asked is not None
        if match.rewrite_path:
            asked.rewrite_path(match.rewrite_path)
            self.surface = surface_of(match.rewrite_path.encode())
        if match.rewrites_model and match.model is not None and self.body:
            body = asked.with_model(self.body, match.model, self.surface)
            if body is None:
                self.refuse(
                    400,
                    f"route {match.route} sets the model, but the body has no readable model field",
                )
                return False
            self.body = body
        return True

    def dispatch(self) -> None:
        """Give the request to an engine, or let it wait for one."""
        match, dispatcher = self.match, self.dispatcher
        assert match is not None
        request = self._request
        if request is None:
            request = self._request = self._asked_of_policy()
        choice = dispatcher.choose(match, request, self.tried)
        if isinstance(choice, Refusal):
            self._not_chosen(match, choice)
            return
        if match.rewrites and not self.decision and not self._rewrite(match):
            return
        self.tried += (choice.index,)
        self.decision = dispatcher.decision_lines(choice)
        if self.queued_s:
            self.decision = with_wait(self.decision, self.queued_s)
        link, model = dispatcher.links[choice.index], match.model
        adapters = dispatcher.router.loadable
        if adapters and model in adapters and self.plane.loader.holds(self, link, model):
            return
        if self.surface.translation_bit & link.dialect_bits and begin(self, link, self.decision):
            return
        self.attempt = attempt = Attempt(self, link)
        attempt.start()

    def _asked_of_policy(self) -> RouteRequest:
        """What a policy may look at, where the match did not ask for it."""
        asked, router = self.asked, self.dispatcher.router
        assert asked is not None
        if router.asks_of_policy:
            return route_request(self, asked, router.needs(asked.path))
        return RouteRequest(asked.path, asked.model, None, len(self.body), asked.max_tokens)

    def _not_chosen(self, match: RouteMatch, refusal: Refusal) -> None:
        if refusal.code == NO_ENGINE_LEFT and match.fallback is not None:
            self._fall_back(match.fallback)
        else:
            self._refused(refusal)

    def adapter_answered(self, link: EngineLink, fault: str) -> None:
        """The engine has loaded the adapter that this request waits for, or could not."""
        match = self.match
        assert match is not None
        if not fault:
            self.attempt = Attempt(self, link)
            self.attempt.start()
        elif len(self.tried) < len(match.pool):
            self.dispatch()
        else:
            self.refuse(503, fault, outcome=Outcome.NOT_READY)

    def _fall_back(self, match: RouteMatch) -> None:
        """Go on with the route's next model."""
        asked = self.asked
        assert asked is not None
        fitting = self._fitting(match, asked) if match.contexts else match
        is_written = bool(self.decision)  # for the model before
        if isinstance(fitting, Refusal) or not is_written or self._rewrite(fitting):
            self._go_on(fitting)

    @property
    def upstream_model(self) -> str | None:
        """The model that engines are asked for."""
        return self.match.model if self.match else None

    def untranslatable(self, message: str) -> None:
        """The chosen engine has no word for what is asked: another one may have."""
        match = self.match
        assert match is not None
        if len(self.tried) < len(match.pool) or match.fallback is not None:
            self.dispatch()
        else:
            self.refuse(400, message, "not_translated")

    def _refused(self, refusal: Refusal) -> None:
        if refusal.waiting is not None:
            self.attempt = None
            if self.plane.room.takes(self, refusal):
                return
        self.plane.counts[Header.REFUSED_NO_ENGINE] += 1
        self.refuse(
            refusal.status, refusal.message, refusal.code, retry_after_s=refusal.retry_after_s
        )

    # waiting

    def rematch(self) -> None:
        """Look for engines again, by the routes of now, unless an engine has had the request."""
        if self.decision or self.asked is None:
            return
        self.dispatcher = self.plane.dispatcher
        match = self._new_match(self.asked)
        if isinstance(match, RouteMatch) and match.least_context_tokens is not None:
            match = self._fitting(match, self.asked)
        self.match = match if isinstance(match, RouteMatch) else None
        if isinstance(match, Refusal) and not may_wait(self, match):
            self._refused(match)

    def upstream_head(self, link: EngineLink) -> bytes:
        """The head for an engine: the client's lines, less those that end here, and ours."""
        head, asked = self.head, self.asked
        assert asked is not None
        key = (self.dispatcher, link, asked.target)
        start: bytes | None = head.derived.get(key)
        if start is None:
            is_open = self.settings.keys is None
            start = request_start(self.connection, head, link, asked.target, is_open=is_open)
            self._derive(key, start)
        if self.body or head.chunked or b"content-length" in head.fields:
            return b"%b%b\r\ncontent-length: %d\r\n\r\n" % (start, self.request_id, len(self.body))
        return b"%b%b\r\n\r\n" % (start, self.request_id)

    # time

    def expect_within(self, seconds: float) -> None:
        """Something must happen within `seconds`."""
        self.connection.deadline = self.plane.now + seconds

    def expect_answer(self) -> None:
        """The first byte of a stream is due; other answers have their total time only."""
        asked, limits = self.asked, self.limits
        if asked is not None and asked.stream:
            self.expect_within(limits.first_byte_timeout_s + len(self.body) / _PROMPT_BYTES_PER_S)
        else:
            self.connection.deadline = _FOREVER

    # what attempts report

    def send_head(self, attempt: Attempt, parser: ResponseParser) -> None:
        """Commit to this engine's answer; a stream may still be changed by an error event."""
        length = parser.content_length
        if attempt.relay is not None:
            self.expect_within(self.limits.stall_timeout_s)
            if self.head.method != b"HEAD":
                length = None
        self.begin_answer(parser, length)

    def first_content(self, attempt: Attempt, parser: ResponseParser) -> None:
        """Generated content arrived: time to first token, and the status is committed."""
        self.ttft_s = self.plane.clock() - self.started_s
        observe_ttft(attempt.link.counts, int(self.ttft_s * 1e6))
        if attempt.lease.pace is not None:
            attempt.lease.pace.began(self.started_s + self.ttft_s, self.moved)
        if not self.committed:
            self.send_head(attempt, parser)

    def writing_paused(self, paused: bool) -> None:
        """The client reads slower than the engine writes, or caught up."""
        if self.attempt is not None:
            self.attempt.pause(paused)

    # ends

    def client_gone(self) -> None:
        """The client closed: the engine stops at once."""
        if self.is_over:
            return
        if self.attempt is not None:
            self.attempt.cancel()
        self.finish(Outcome.CANCELLED, 499)

    def finish(self, outcome: Outcome, status: int) -> None:
        """The one end of every exchange: counters, the key's place, the log."""
        if self.is_over:
            return
        self.is_over = True
        plane, attempt = self.plane, self.attempt
        if self.ticket is not None:
            plane.room.leave(self.ticket)
        plane.open_exchanges -= 1
        plane.row[_OPEN] = plane.open_exchanges
        if self.body_source is not None:
            self.body_source.release()
        duration_s = plane.clock() - self.started_s
        if attempt is not None:
            account(attempt, duration_s, outcome)
            asked = self.asked
            if asked is not None and asked.features and outcome is _OK:
                plane.tokens.learn(asked, attempt.usage.prompt_tokens)
        if self.key is not None:
            self.key.leave(self, outcome)
        if self.settings.logs.requests or self.settings.records:
            plane.log_exchange(self, outcome, status, duration_s)
        if plane.hedges is not None:
            plane.hedges.over(self, outcome, duration_s)
        if self.begun is not None:
            self.begun.detach()
        self.attempt = None
        self.connection.exchange_done(self)

    @property
    def fallback_on(self) -> frozenset[int]:
        """Statuses that the route wants answered by another engine."""
        match = self.match
        return (match and match.fallback_on) or _NO_STATUSES

    @property
    def retries(self) -> int:
        return max(0, len(self.tried) - 1)

    @property
    def route(self) -> str:
        return self.match.route if self.match else ""
