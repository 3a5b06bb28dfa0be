"""A finished request, as it is logged and recorded: who, what, where, how long; never a text."""

import msgspec


class RequestRecord(msgspec.Struct, kw_only=True, gc=False):
    """What is told of a finished request; None is "not known" or "does not apply".

    Times are in milliseconds, sizes in bytes of de-framed bodies. `model` is what the
    client asked for, `key` the name of its API key, `outcome` an `Outcome.label` or
    the reason of a refusal, `decision` why its engine was chosen,
    `hedged` the engine of a second try beside the first one. `pii` counts findings by type.
    """

    request_id: str
    method: str
    path: str
    status: int
    outcome: str
    duration_ms: float
    key: str | None = None
    tenant: str | None = None
    model: str | None = None
    route: str | None = None
    engine: str | None = None
    decision: str | None = None
    queued_ms: float | None = None
    ttft_ms: float | None = None
    bytes_in: int = 0
    bytes_out: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    retries: int = 0
    hedged: str | None = None
    stream: bool = False
    pii: dict[str, int] | None = None


class KeptRequest(msgspec.Struct, gc=False):
    """A record as it is kept: `ended_s` is Unix time."""

    ended_s: float
    record: RequestRecord


class AdminAction(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody did over the admin API: `who` is the key's name, or where it came from."""

    at_s: float
    who: str
    method: str
    path: str
    status: int
    detail: str = ""
