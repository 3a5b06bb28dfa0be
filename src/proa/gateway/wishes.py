"""What a client may say about its waiting, in headers of its own."""

from proa.routing.admission.priority import PRIORITIES, Priority
from proa.wire.refusal import ProtocolRefusal

PRIORITY = b"x-proa-priority"
DEADLINE_MS = b"x-proa-deadline-ms"
_DIGITS_MAX = 9


def asked_priority(fields: dict[bytes, bytes]) -> Priority | None:
    """The class that the client asks for.

    Raises:
        ProtocolRefusal: there is no such class.
    """
    text = fields.get(PRIORITY)
    if text is None:
        return None
    try:
        return Priority(text.decode("latin-1").lower())
    except ValueError:
        accepted = ", ".join(PRIORITIES)
        raise ProtocolRefusal(400, f"{PRIORITY.decode()}: accepted is one of {accepted}") from None


def asked_wait_s(fields: dict[bytes, bytes]) -> float | None:
    """How long the request may wait for its start, from its arrival.

    Raises:
        ProtocolRefusal: it is not a whole number.
    """
    text = fields.get(DEADLINE_MS)
    if text is None:
        return None
    if not text.isdigit() or len(text) > _DIGITS_MAX:
        raise ProtocolRefusal(400, f"{DEADLINE_MS.decode()}: accepted are milliseconds, from 0")
    return int(text) / 1e3
