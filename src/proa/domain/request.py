"""A request as the router sees it."""

import msgspec


class RouteRequest(msgspec.Struct, frozen=True, gc=False):
    """The few facts that rules and policies look at.

    `path` is without the query. `model` is what the client asked for, None where
    the API or the body names none. `input_tokens` is an estimate, None where no
    rule needs it or the body could not be read; `body_bytes` is always there.
    `max_tokens` is the client's limit on the answer, None where it named none.
    `headers` holds only the headers that some rule matches on, names in lower case.
    `request_class` is what the client or the classifier calls the request, `tenant` the
    tenant of its key. `pii` tells that personal data was found. `session` and `prefix` (hashes
    of the prompt's blocks, see `routing/prefix.py`) are there where the policy looks at them.
    """

    path: str
    model: str | None = None
    input_tokens: int | None = None
    body_bytes: int = 0
    max_tokens: int | None = None
    headers: dict[str, str] = {}
    request_class: str | None = None
    tenant: str = ""
    pii: bool = False
    session: str = ""
    prefix: tuple[int, ...] = ()
