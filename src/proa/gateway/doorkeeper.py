"""Who may come in: keys, preflights, loops. Judged once for a head that comes back."""

from dataclasses import dataclass

from proa.engines.management import is_management
from proa.gateway.cors import Cors
from proa.gateway.keys import DEMAND, KeyEntry, KeyRing
from proa.gateway.local_answers import HEALTH, is_local
from proa.gateway.wishes import asked_priority, asked_wait_s
from proa.routing.admission.priority import Priority
from proa.wire.refusal import ProtocolRefusal
from proa.wire.request_head import RequestHead

_MANAGEMENT = (
    'this path manages an engine: it takes a key with role = "admin", or the engine itself'
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`status` 0 lets the request in, with its `key` where keys are asked for.

    204 answers a preflight. `local` tells that the gateway may have the answer itself.
    `priority` and `max_wait_s` are what the head asks for, should the request have to wait.
    """

    status: int = 0
    message: str = ""
    headers: bytes = b""
    key: KeyEntry | None = None
    local: bool = False
    priority: Priority | None = None
    max_wait_s: float | None = None


class Doorkeeper:
    """The rules of one generation of settings; heads keep its verdicts under its identity."""

    def __init__(self, keys: KeyRing | None, cors: Cors, via: bytes) -> None:
        self._keys = keys
        self._cors = cors
        self._via = via

    def judge(self, head: RequestHead) -> Verdict:
        """The verdict on a head; what depends on the body or on counters is not in it."""
        fields = head.fields
        if head.method == b"OPTIONS":
            return self._options(fields)
        if head.path in HEALTH:
            return Verdict(local=True)
        key: KeyEntry | None = None
        if self._keys is not None:
            key = self._keys.find(fields)
            if key is None:
                return self._unknown(self._keys, fields)
            if not key.spec.admin and is_management(head.path):
                return Verdict(403, _MANAGEMENT)
        if self._via in fields.get(b"via", b""):
            return Verdict(
                508, "the request has already passed this gateway: an engine's url leads back to it"
            )
        try:
            priority, max_wait_s = asked_priority(fields), asked_wait_s(fields)
        except ProtocolRefusal as refusal:
            return Verdict(refusal.status, str(refusal))
        local = is_local(head, key)
        return Verdict(key=key, local=local, priority=priority, max_wait_s=max_wait_s)

    def _options(self, fields: dict[bytes, bytes]) -> Verdict:
        if b"access-control-request-method" in fields and self._cors.allows(fields.get(b"origin")):
            return Verdict(204, headers=self._cors.preflight_lines())
        allow = b"allow: GET, HEAD, POST, PUT, PATCH, DELETE\r\n"
        return Verdict(
            405, "OPTIONS answers only preflights from origins in cors.allow_origins", allow
        )

    @staticmethod
    def _unknown(keys: KeyRing, fields: dict[bytes, bytes]) -> Verdict:
        what = "missing API key" if keys.credential(fields) is None else "wrong API key"
        message = f"{what}: send Authorization: Bearer KEY or x-api-key: KEY"
        return Verdict(401, message, DEMAND)
