"""A request as its client sees it: who asks, what may be asked, and what is answered."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from proa.domain.outcome import Outcome
from proa.domain.tenant import DEFAULT_TENANT
from proa.gateway.answers import error_body, error_event
from proa.gateway.client_answer import ClientAnswer, answer_start
from proa.gateway.doorkeeper import Verdict
from proa.gateway.keys import Denied, KeyEntry
from proa.gateway.settings import KeySpec, LimitsSettings
from proa.telemetry.rows import Header
from proa.wire.request_head import RequestHead
from proa.wire.response_parser import AnswerMemo, ResponseParser

if TYPE_CHECKING:
    from proa.gateway.connection import ClientConnection
    from proa.gateway.ledger import Hold

JSON = b"application/json"
DERIVED_MAX = 16
_OK = Outcome.OK  # in 3.11 the member of an enumeration costs 0.2 µs to look up
_REQUESTS, _OPEN = Header.REQUESTS, Header.OPEN_EXCHANGES


class ClientSide(ABC):
    """One request and its answer; which engine gets it is the subclass's to find out.

    It keeps the settings that it began with. `is_local` tells that the gateway may have the
    answer itself. `decision` are the header lines that tell of
    the engine. `told_id` is the request's id as answers carry it, with further lines behind it.
    `hold` is what it holds of its tenant's quotas. `begun` is the answer once there is one;
    `committed` is true once anything of it was sent: then nothing can be retried, and a
    failure becomes an in-band event.
    """

    __slots__ = (
        "_whole_bytes", "begun", "committed", "connection", "decision", "head", "hold",
        "is_local", "is_over", "key", "plane", "request_id", "settings", "started_s", "surface",
        "told_id",
    )  # fmt: skip

    key: KeyEntry | None
    hold: "Hold | None"

    def __init__(self, connection: "ClientConnection", head: RequestHead) -> None:
        plane = connection.plane
        self.connection = connection
        self.plane = plane
        self.settings = plane.settings
        self.head = head
        self.started_s = plane.clock()
        self.request_id = self.told_id = plane.request_id(head.fields.get(b"x-request-id"))
        self.surface = head.surface
        plane.counts[_REQUESTS] += 1
        plane.open_exchanges += 1
        plane.row[_OPEN] = plane.open_exchanges

        self.key = self.hold = None
        self.is_local = False
        self.decision = b""
        self.committed = False
        self.is_over = False
        self.begun: ClientAnswer | None = None
        self._whole_bytes = 0

    @abstractmethod
    def finish(self, outcome: Outcome, status: int) -> None:
        """The one end: counters, the key's place, the log."""

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
            if (denied := entry.enter(plane)) is not None:
                self._denied(denied)
                return False
            self.key = entry
        if length > self.settings.limits.max_body_bytes:
            self.too_large()
            return False
        self.is_local = verdict.local
        return True

    def _turned_away(self, verdict: Verdict) -> None:
        if verdict.status == 401:
            self.plane.counts[Header.REFUSED_AUTH] += 1
        if verdict.status == 204:
            self.answer.begin(204, self.start_lines(204, [verdict.headers], None), None, 0)
            self.answer.body(b"", last=True)
            self.finish(_OK, 204)
        else:
            self.refuse(verdict.status, verdict.message, headers=verdict.headers)

    def _denied(self, denied: Denied) -> None:
        is_cap = denied.status == 429
        self.plane.counts[Header.REFUSED_KEY_CAP if is_cap else Header.REFUSED_AUTH] += 1
        self.refuse(denied.status, denied.message, denied.code, headers=denied.headers)

    def too_large(self) -> None:
        """The body is, or grew, above the limit."""
        self.plane.counts[Header.REFUSED_LIMIT] += 1
        self.refuse(413, f"the body is above limits.max_body_bytes = {self.limits.max_body_bytes}")

    def begin_answer(self, parser: ResponseParser, length: int | None) -> None:
        """Commit to an engine's answer; `length` is None for one that is not counted."""
        if parser.derived is None:
            start = self._engine_start(parser)
        else:
            start = self._known_start(parser, parser.derived)
        self.answer.begin(parser.status, start, parser.fields.get(b"content-type"), length)
        self.committed = True

    def takes_whole(self) -> bool:
        """Whether a counted answer with a body may be written in one piece."""
        return self.head.is_plain and not (self.committed or self.plane.draining)

    def answer_whole(self, known: AnswerMemo, body: bytes) -> None:
        """Head, body and end of an answer whose head has come before."""
        start = self._known_start(known, known.derived)
        line = b"%bcontent-length: %d\r\nx-request-id: %b\r\n\r\n%b"
        self._whole_bytes = len(body)
        self.connection.write(line % (start, len(body), self.told_id, body))
        self.finish(_OK, known.status)

    def _known_start(
        self, parser: ResponseParser | AnswerMemo, derived: dict[object, bytes]
    ) -> bytes:
        """The answer's start, made once for each decision."""
        key = self.decision
        if self.settings.cors_allow_origins:
            key += self._cors_lines()
        start = derived.get(key)
        if start is None:
            if len(derived) >= DERIVED_MAX:
                derived.clear()
            start = derived[key] = self._engine_start(parser)
        return start

    def answer_translated(self, parser: ResponseParser, body: bytes) -> None:
        """An engine's whole answer in the client's terms."""
        self.answer.whole(parser.status, self.start_lines(parser.status, parser.lines, JSON), body)
        self.finish(_OK, parser.status)

    def _engine_start(self, parser: ResponseParser | AnswerMemo) -> bytes:
        fields, lines = parser.fields, parser.lines
        if b"retry-after" in fields:
            lines = [*lines, b"retry-after: " + fields[b"retry-after"] + b"\r\n"]
        return self.start_lines(parser.status, lines, fields.get(b"content-type"))

    def start_lines(self, status: int, lines: list[bytes], content_type: bytes | None) -> bytes:
        return answer_start(status, lines, content_type, self.decision + self._cors_lines())

    def _cors_lines(self) -> bytes:
        if not self.settings.cors_allow_origins:
            return b""
        return self.plane.cors.answer_lines(self.head.fields.get(b"origin"))

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
        self.answer.whole(status, self.start_lines(status, lines, JSON), body)
        self.finish(outcome, status)

    def reply(self, status: int, body: bytes) -> None:
        """Answer from what the gateway knows itself."""
        self.plane.counts[Header.ANSWERED_LOCALLY] += 1
        self.answer.whole(status, self.start_lines(status, [], JSON), body)
        self.finish(_OK, status)

    @property
    def limits(self) -> LimitsSettings:
        return self.settings.limits

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
    def key_spec(self) -> KeySpec | None:
        return self.key.spec if self.key else None

    @property
    def key_name(self) -> str:
        return self.key.spec.name if self.key else ""

    @property
    def tenant_name(self) -> str:
        return self.key.spec.tenant if self.key else DEFAULT_TENANT
