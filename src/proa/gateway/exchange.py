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
from proa.gateway.answers import engine_error_body, error_body, error_event
from proa.gateway.attempt import Attempt
from proa.gateway.body import Asked, ask
from proa.gateway.client_answer import ClientAnswer, answer_start
from proa.gateway.dispatcher import Dispatcher
from proa.gateway.doorkeeper import Verdict
from proa.gateway.facts import route_request
from proa.gateway.keys import KeyEntry
from proa.gateway.link import EngineLink
from proa.gateway.request_body import RequestBody
from proa.gateway.request_start import request_start
from proa.gateway.settings import KeySpec, LimitsSettings
from proa.gateway.tickets import may_wait, with_wait
from proa.gateway.translated import begin
from proa.routing.admission.ticket import Ticket
from proa.routing.context import narrowed
from proa.routing.decision import NO_ENGINE_LEFT, Refusal, RouteMatch
from proa.telemetry.rows import Engine, Header, observe_ttft
from proa.wire.request_head import RequestHead
from proa.wire.response_parser import AnswerMemo, ResponseParser
from proa.wire.surface import Api, surface_of

if TYPE_CHECKING:
    from proa.gateway.connection import ClientConnection

_RETRY_ANYWAY = frozenset((Outcome.NOT_READY, Outcome.BUSY, Outcome.BROKEN))
_NO_STATUSES: frozenset[int] = frozenset()
_DERIVED_MAX = 16
_JSON = b"application/json"
_PROMPT_BYTES_PER_S = 1000.0
_FOREVER = float("inf")
_DIGITS_MAX = 9
_OK = Outcome.OK  # in 3.11 the member of an enumeration costs 0.2 µs to look up
_REQUESTS, _OPEN = Header.REQUESTS, Header.OPEN_EXCHANGES


class Exchange:
    """One request. `moved` counts reads from the engine since the last sweep.

    `committed` is true once anything of the answer was sent; then nothing can be
    retried, and a failure becomes an in-band event. An exchange keeps the settings
    that it began with. `begun` is the answer once there is one.
    """

    __slots__ = (
        "_decision", "_dispatcher", "_is_local", "_key", "_match", "_next_beat_s", "_request",
        "_retries", "_tried", "_whole_bytes", "asked", "attempt", "begun", "body", "body_source",
        "committed", "connection", "head", "is_over", "moved", "plane", "queued_s", "request_id",
        "settings", "started_s", "surface", "ticket", "ttft_s",
    )  # fmt: skip

    def __init__(self, connection: "ClientConnection", head: RequestHead) -> None:
        plane = connection.plane
        self.connection = connection
        self.plane = plane
        self.settings = plane.settings
        self.head = head
        self.started_s = plane.clock()
        self.request_id = plane.request_id(head.fields.get(b"x-request-id"))
        self.surface = head.surface
        self._dispatcher = plane.dispatcher
        plane.counts[_REQUESTS] += 1
        plane.open_exchanges += 1
        plane.row[_OPEN] = plane.open_exchanges

        # until the request is whole
        self.body = b""
        self.body_source: RequestBody | None = None
        self.asked: Asked | None = None
        self._key: KeyEntry | None = None
        self._is_local = False

        # until an engine answers
        self.attempt: Attempt | None = None
        self._match: RouteMatch | None = None
        self._request: RouteRequest | None = None
        self._decision = b""
        self.ticket: Ticket[Exchange] | None = None
        self.queued_s = 0.0
        self._retries = 0
        self._tried: tuple[int, ...] = ()

        # until the end
        self.committed = False
        self.is_over = False
        self.moved = 0
        self.ttft_s: float | None = None
        self.begun: ClientAnswer | None = None
        self._next_beat_s = 0.0
        self._whole_bytes = 0

    def admit(self, length: int) -> bool:
        """Whether the body, of `length` bytes where it is counted, should be read or used.

        Else the answer has been given.
        """
        head, plane = self.head, self.plane
        verdict: Verdict | None = head.derived.get(plane.doorkeeper)
        if verdict is None:
            verdict = head.derived[plane.doorkeeper] = plane.doorkeeper.judge(head)
        if verdict.status:
            self._turned_away(verdict)
            return False
        entry = verdict.key
        if entry is not None:
            if entry.enter(plane):
                self._key = entry
            else:
                plane.counts[Header.REFUSED_KEY_CAP] += 1
                cap = entry.max_concurrent_requests
                self.refuse(
                    429, f"this key may have {cap} requests open at one time", retry_after_s=1
                )
                return False
        if length > self.limits.max_body_bytes:
            self.too_large()
            return False
        self._is_local = verdict.local
        return True

    def _turned_away(self, verdict: Verdict) -> None:
        if verdict.status == 401:
            self.plane.counts[Header.REFUSED_AUTH] += 1
        if verdict.status == 204:
            self.answer.begin(204, self._start(204, [verdict.headers], None), None, 0)
            self.answer.body(b"", last=True)
            self.finish(_OK, 204)
        else:
            self.refuse(verdict.status, verdict.message, headers=verdict.headers)

    def too_large(self) -> None:
        """The body is, or grew, above the limit."""
        self.plane.counts[Header.REFUSED_LIMIT] += 1
        self.refuse(413, f"the body is above limits.max_body_bytes = {self.limits.max_body_bytes}")

    # run

    def run(self, body: bytes) -> None:
        """The whole request is here: answer it, or give it to an engine."""
        self.body = body
        self.connection.body_read = True
        if self._is_local and local_answers.answer(self):
            return
        asked = self.asked = ask(self.head, body, self.surface)
        match = self.head.derived.get((self._dispatcher, asked.model)) or self._new_match(asked)
        if isinstance(match, Refusal):
            self._refused(match)
            return
        least = match.least_context_tokens
        if least is None or len(body) + (asked.max_tokens or 0) <= least:
            self._match = match
            self._dispatch()
        else:
            self._go_on(self._fitting(match, asked))

    def _new_match(self, asked: Asked) -> RouteMatch | Refusal:
        router = self._dispatcher.router
        needs = router.needs(asked.path)
        self._request = route_request(self, asked, needs)
        match = router.match(self._request)
        if isinstance(match, RouteMatch) and not needs.body:
            self._derive((self._dispatcher, asked.model), match)
        return match

    def _go_on(self, match: RouteMatch | Refusal) -> None:
        if isinstance(match, Refusal):
            self._refused(match)
        else:
            self._match = match
            self._dispatch()

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
        if len(derived) >= _DERIVED_MAX:
            derived.clear()
        derived[key] = value

    def _rewrite(self, match: RouteMatch, asked: Asked) -> bool:
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

    def _dispatch(self) -> None:
        match, asked = self._match, self.asked
        assert match is not None
        assert asked is not None
        request = self._request
        if request is None:
            router = self._dispatcher.router
            if router.asks_of_policy:
                request = route_request(self, asked, router.needs(asked.path))
            else:
                request = RouteRequest(
                    path=asked.path,
                    model=asked.model,
                    body_bytes=len(self.body),
                    max_tokens=asked.max_tokens,
                )
            self._request = request
        choice = self._dispatcher.choose(match, request, self._tried)
        if isinstance(choice, Refusal):
            if choice.code == NO_ENGINE_LEFT and match.fallback is not None:
                self._fall_back(match.fallback, asked)
                return
            self._refused(choice)
            return
        rewrites = match.rewrites_model or match.rewrite_path is not None
        if rewrites and not self._decision and not self._rewrite(match, asked):
            return
        self._tried += (choice.index,)
        self._decision = self._dispatcher.decision_lines(choice)
        if self.queued_s:
            self._decision = with_wait(self._decision, self.queued_s)
        link = self._dispatcher.links[choice.index]
        adapters = self._dispatcher.router.loadable
        if (
            adapters
            and match.model in adapters
            and self.plane.loader.holds(self, link, match.model)
        ):
            return
        if self.surface.translation_bit & link.dialect_bits and begin(self, link, self._decision):
            return
        self.attempt = Attempt(self, link)
        self.attempt.start()

    def adapter_answered(self, link: EngineLink, fault: str) -> None:
        """The engine has loaded the adapter that this request waits for, or could not."""
        match = self._match
        assert match is not None
        if not fault:
            self.attempt = Attempt(self, link)
            self.attempt.start()
        elif len(self._tried) < len(match.pool):
            self._dispatch()
        else:
            self.refuse(503, fault, outcome=Outcome.NOT_READY)

    def _fall_back(self, match: RouteMatch, asked: Asked) -> None:
        """Go on with the route's next model."""
        fitting = self._fitting(match, asked) if match.contexts else match
        is_written = bool(self._decision)  # for the model before
        if isinstance(fitting, Refusal) or not is_written or self._rewrite(fitting, asked):
            self._go_on(fitting)

    @property
    def upstream_model(self) -> str | None:
        """The model that engines are asked for."""
        return self._match.model if self._match else None

    def decide(self, lines: bytes) -> None:
        """The header lines that tell of the choice."""
        self._decision = lines

    def untranslatable(self, message: str) -> None:
        """The chosen engine has no word for what is asked: another one may have."""
        match = self._match
        assert match is not None
        if len(self._tried) < len(match.pool) or match.fallback is not None:
            self._dispatch()
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

    def resume(self) -> None:
        """There may be a place: go on where the queue was entered."""
        self._dispatch()

    def rematch(self) -> None:
        """Look for engines again, by the routes of now, unless an engine has had the request."""
        if self._decision or self.asked is None:
            return
        self._dispatcher = self.plane.dispatcher
        match = self._new_match(self.asked)
        if isinstance(match, RouteMatch) and match.least_context_tokens is not None:
            match = self._fitting(match, self.asked)
        self._match = match if isinstance(match, RouteMatch) else None
        if isinstance(match, Refusal) and not may_wait(self, match):
            self._refused(match)

    def _pauses(self, outcome: Outcome, retry_after: bytes | None) -> bool:
        """Whether the engine's own Retry-After is waited for, once, as no other may take over."""
        match = self._match
        if outcome is not Outcome.BUSY or self._retries or match is None:
            return False
        if retry_after is None or not retry_after.isdigit() or len(retry_after) > _DIGITS_MAX:
            return False
        if not self.plane.room.pauses(self, match, int(retry_after)):
            return False
        self._retries, self._tried, self.attempt = 1, (), None
        return True

    def upstream_head(self, link: EngineLink) -> bytes:
        """The head for an engine: the client's lines, less those that end here, and ours."""
        head, asked = self.head, self.asked
        assert asked is not None
        key = (self._dispatcher, link, asked.target)
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

    def sweep(self, now: float) -> None:
        """Every 250 ms: extend the deadline of what moved, end what did not."""
        attempt = self.attempt
        if attempt is not None and attempt.lease.pace is not None:
            attempt.lease.pace.window(self.moved, now, is_paused=attempt.paused)
        if self.moved and attempt is not None:
            self.moved = 0
            attempt.link.moved_at = now
            attempt.link.counts[Engine.RECEIVED] += 1
            if self.committed:
                self.expect_within(
                    self.limits.stall_timeout_s
                )  # whatever the answer is, it is under way
        elif attempt is not None and attempt.paused:
            self.expect_within(self.limits.stall_timeout_s)  # the client is slow, not the engine
        late = (
            now >= self.connection.deadline or now - self.started_s >= self.limits.total_timeout_s
        )
        if late and attempt is not None:
            attempt.timed_out()
        elif attempt is not None and attempt.link.is_unreachable and self._can_move(attempt):
            attempt.given_up()
        elif self.settings.heartbeat_s and self.ttft_s is None:
            self._beat(now)

    def _can_move(self, attempt: Attempt) -> bool:
        """Whether another engine may still take what waits for this one's first byte."""
        match = self._match
        untried = match is not None and len(self._tried) < len(match.pool)
        return untried and not (attempt.answered or self.committed or self._retries)

    def _beat(self, now: float) -> None:
        """A comment every `heartbeat_s` while a stream is silent; it commits the status."""
        if (
            self.asked is None
            or not self.asked.stream
            or self.surface.api is Api.OLLAMA
            or (self.attempt is None and self.ticket is None)
        ):
            return
        if self.committed and not self.answer.is_events:
            return
        every_s = self.settings.heartbeat_s
        if now - self.started_s >= (self._next_beat_s or every_s):
            self._next_beat_s = (self._next_beat_s or every_s) + every_s
            if not self.committed:
                kind = b"text/event-stream"
                self.answer.begin(200, self._start(200, [], kind), kind, None)
                self.committed = True
            self.answer.body(b": waiting for the engine\n\n", last=False)

    # what attempts report

    def send_head(self, attempt: Attempt, parser: ResponseParser) -> None:
        """Commit to this engine's answer; a stream may still be changed by an error event."""
        status, content_type = parser.status, parser.fields.get(b"content-type")
        length = parser.content_length
        if attempt.relay is not None:
            self.expect_within(self.limits.stall_timeout_s)
            if self.head.method != b"HEAD":
                length = None
        if parser.derived is None:
            start = self._engine_start(parser)
        else:
            start = self._known_start(parser, parser.derived)
        self.answer.begin(status, start, content_type, length)
        self.committed = True

    def takes_whole(self) -> bool:
        """Whether a counted answer with a body may be written in one piece."""
        return self.head.is_plain and not (self.committed or self.plane.draining)

    def answer_whole(self, known: AnswerMemo, body: bytes) -> None:
        """Head, body and end of an answer whose head has come before."""
        start = self._known_start(known, known.derived)
        line = b"%bcontent-length: %d\r\nx-request-id: %b\r\n\r\n%b"
        self._whole_bytes = len(body)
        self.connection.write(line % (start, len(body), self.request_id, body))
        self.finish(_OK, known.status)

    def _known_start(
        self, parser: ResponseParser | AnswerMemo, derived: dict[object, bytes]
    ) -> bytes:
        """The answer's start, made once for each decision."""
        key = self._decision
        if self.settings.cors_allow_origins:
            key += self._cors_lines()
        start = derived.get(key)
        if start is None:
            if len(derived) >= _DERIVED_MAX:
                derived.clear()
            start = derived[key] = self._engine_start(parser)
        return start

    def answer_translated(self, parser: ResponseParser, body: bytes) -> None:
        """An engine's whole answer in the client's terms."""
        self.answer.whole(parser.status, self._start(parser.status, parser.lines, _JSON), body)
        self.finish(_OK, parser.status)

    def _engine_start(self, parser: ResponseParser | AnswerMemo) -> bytes:
        fields, lines = parser.fields, parser.lines
        if b"retry-after" in fields:
            lines = [*lines, b"retry-after: " + fields[b"retry-after"] + b"\r\n"]
        return self._start(parser.status, lines, fields.get(b"content-type"))

    def _start(self, status: int, lines: list[bytes], content_type: bytes | None) -> bytes:
        return answer_start(status, lines, content_type, self._decision + self._cors_lines())

    def _cors_lines(self) -> bytes:
        if not self.settings.cors_allow_origins:
            return b""
        return self.plane.cors.answer_lines(self.head.fields.get(b"origin"))

    def first_content(self, attempt: Attempt, parser: ResponseParser) -> None:
        """Generated content arrived: time to first token, and the status is committed."""
        self.ttft_s = self.plane.clock() - self.started_s
        observe_ttft(attempt.link.counts, int(self.ttft_s * 1e6))
        if attempt.lease.pace is not None:
            attempt.lease.pace.began(self.started_s + self.ttft_s)
            self.moved = 0
        if not self.committed:
            self.send_head(attempt, parser)

    def writing_paused(self, paused: bool) -> None:
        """The client reads slower than the engine writes, or caught up."""
        if self.attempt is not None:
            self.attempt.pause(paused)

    def attempt_failed(self, attempt: Attempt, outcome: Outcome, status: int, message: str) -> None:
        """A try ended without an answer, before anything went to the client."""
        if self._may_retry(attempt, outcome, None):
            self._dispatch()
            return
        if self._retries and attempt.body_sent:
            message = f"two engines failed on this request; the last: {message}"
            status = 502
        self.refuse(status, message, outcome=outcome)

    def engine_error(
        self, attempt: Attempt, outcome: Outcome, status: int, body: bytes,
        parser: ResponseParser | None,
    ) -> None:  # fmt: skip
        """An engine answered with an error, of which nothing has gone to the client yet.

        `parser` has read its head; None where the error was the first event of a stream.
        """
        if self.committed:
            text = body.decode("utf-8", "replace")
            self.stream_broke(attempt, outcome, status if status >= 400 else 502, text)
            return
        if self._may_retry(attempt, outcome, status):
            self._dispatch()
            return
        retry_after = parser.fields.get(b"retry-after") if parser is not None else None
        if self._pauses(outcome, retry_after):
            return
        if self._retries and outcome is Outcome.BROKEN:
            status = 502  # two engines broke on this body
        lines = list(parser.lines) if parser is not None else []
        if retry_after or status in (429, 503):
            lines.append(b"retry-after: " + (retry_after or b"1") + b"\r\n")
        body = engine_error_body(self.surface.api, status, body)
        self.answer.whole(status, self._start(status, lines, _JSON), body)
        self.finish(outcome, status)

    def _may_retry(self, attempt: Attempt, outcome: Outcome, status: int | None) -> bool:
        """At most one further engine after the body was sent, as the retry budget allows.

        `status` is None where the engine gave none: `fallback_on` rules its answers only.
        """
        match = self._match
        assert match is not None
        if len(self._tried) >= len(match.pool) and match.fallback is None:
            return False
        if match.fallback_on is not None and status is not None:
            wanted = status in match.fallback_on
        else:
            wanted = outcome in _RETRY_ANYWAY
        if wanted and attempt.body_sent:
            wanted = not self._retries and self.plane.retry_budget.withdraw()
            self._retries += wanted
        attempt.link.counts[Engine.RETRIES] += wanted
        return wanted

    def stream_failed(self, attempt: Attempt, outcome: Outcome) -> None:
        """The engine itself said in band that the stream broke; its event has gone out."""
        attempt.link.counts[Engine.BROKEN_STREAMS] += 1
        self.answer.cut()
        self.finish(outcome, self.answer.status)

    def stream_broke(self, attempt: Attempt, outcome: Outcome, status: int, message: str) -> None:
        """The answer broke after its status was sent: an error event where one has room."""
        attempt.link.counts[Engine.BROKEN_STREAMS] += 1
        relay = attempt.relay
        if relay is not None or self.answer.is_events:
            ndjson = relay is not None and relay.ndjson
            self.answer.body(
                error_event(self.surface.api, status, message, ndjson=ndjson), last=False
            )
        self.answer.cut()
        self.finish(outcome, self.answer.status)

    # ends

    def refuse(
        self, status: int, message: str, code: str | None = None, *, headers: bytes = b"",
        retry_after_s: int | None = None, outcome: Outcome = Outcome.CLIENT_FAULT,
    ) -> None:  # fmt: skip
        """Answer with an error of our own in the API's form."""
        if self.committed:  # by a heartbeat, while it waited
            event = error_event(self.surface.api, status, message, ndjson=False)
            self.answer.body(event, last=False)
            self.answer.cut()
            self.finish(outcome, self.answer.status)
            return
        lines = [headers] if headers else []
        if retry_after_s is None and status in (429, 503):
            retry_after_s = 1
        if retry_after_s is not None:
            lines.append(b"retry-after: %d\r\n" % retry_after_s)
        body = error_body(self.surface.api, status, message, code)
        self.answer.whole(status, self._start(status, lines, _JSON), body)
        self.finish(outcome, status)

    def reply(self, status: int, body: bytes) -> None:
        """Answer from what the gateway knows itself."""
        self.plane.counts[Header.ANSWERED_LOCALLY] += 1
        self.answer.whole(status, self._start(status, [], _JSON), body)
        self.finish(_OK, status)

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
        if self._key is not None:
            self._key.leave(plane)
        if self.body_source is not None:
            self.body_source.release()
        duration_s = plane.clock() - self.started_s
        if attempt is not None:
            account(attempt, duration_s, outcome)
            tokens = attempt.usage.prompt_tokens
            asked = self.asked
            if tokens and asked is not None and asked.features and outcome is _OK:
                plane.tokens.learn(asked, tokens)
        if self.settings.logs.requests:
            plane.log_exchange(self, outcome, status, duration_s)
        if self.begun is not None:
            self.begun.detach()
        self.attempt = None
        self.connection.exchange_done(self)

    @property
    def limits(self) -> LimitsSettings:
        return self.settings.limits

    @property
    def fallback_on(self) -> frozenset[int]:
        """Statuses that the route wants answered by another engine."""
        match = self._match
        return (match and match.fallback_on) or _NO_STATUSES

    @property
    def answer(self) -> ClientAnswer:
        """The answer, begun or not; one that goes out in one piece needs none."""
        if self.begun is None:
            self.begun = ClientAnswer(self)
        return self.begun

    @property
    def sent_bytes(self) -> int:
        """Bytes of the answer's body so far."""
        return self._whole_bytes if self.begun is None else self.begun.sent_bytes

    @property
    def retries(self) -> int:
        return max(0, len(self._tried) - 1)

    @property
    def route(self) -> str:
        return self._match.route if self._match else ""

    @property
    def match(self) -> RouteMatch | None:
        """The route and its engines; None while none of them is ready."""
        return self._match

    @property
    def dispatcher(self) -> Dispatcher:
        """Where the indexes of engines mean something."""
        return self._dispatcher

    @property
    def tried(self) -> tuple[int, ...]:
        return self._tried

    @property
    def key_spec(self) -> KeySpec | None:
        return self._key.spec if self._key else None

    @property
    def key_name(self) -> str:
        return self._key.spec.name if self._key else ""
