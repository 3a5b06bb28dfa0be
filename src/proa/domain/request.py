"""A request as the router sees it."""

import msgspec


class RouteRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The few facts that rules and policies look at.

    `path` is without the query. `model` is what the client asked for, None where
    the API or the body names none. `input_tokens` is an estimate, None where no
    rule needs it or the body could not be read. `headers` holds only the headers
    that some rule matches on, names in lower case.
    """

    path: str
    model: str | None = None
    input_tokens: int | None = None
    headers: dict[str, str] = {}
