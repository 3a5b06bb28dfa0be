"""How many places are needed so that few requests wait long: the queue M/M/c (Erlang C)."""

import math

import msgspec

from proa.errors import FieldError
from proa.planner import bounds as b

_MOST_SESSIONS = 10**7


class QueueSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Requests come at `requests_per_s` and hold a place for `seconds_per_request` in the mean.

    Asked is that at most `max_wait_share` of them wait longer than `max_wait_s`.
    """

    requests_per_s: float
    seconds_per_request: float
    max_wait_share: float
    max_wait_s: float = 0.0


class QueuePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The fewest `servers` (places for sessions) that meet a `QueueSpec`.

    `wait_probability` is the share that waits at all, `late_share` that which waits longer than
    asked, `mean_wait_s` over all requests, `utilisation` the share of places that are taken.
    """

    servers: int
    offered_erlangs: float
    wait_probability: float
    late_share: float
    mean_wait_s: float
    utilisation: float


def servers_for_wait(spec: QueueSpec) -> QueuePlan:
    """The fewest places with P(wait > t) = C(c, a) exp(-(c - a) t / T) at most the share asked.

    a = requests_per_s x seconds_per_request (Erlang); C is `wait_probability`.

    Source:
        Erlang 1917; Kleinrock 1975, Queueing Systems I, section 3.5 (M/M/m).
    Not modelled:
        answers that are of more equal length than an exponential law has it (the need is then
        smaller), speed that falls as places fill (see `request_time`), clients that give up.

    Raises:
        FieldError: a number is outside its range, or the load is more than 10^7 sessions.
    """
    rate = float(b.checked("requests_per_s", spec.requests_per_s, b.POSITIVE))
    time_s = float(b.checked("seconds_per_request", spec.seconds_per_request, b.POSITIVE))
    share = float(b.checked("max_wait_share", spec.max_wait_share, b.RARE))
    limit_s = float(b.checked("max_wait_s", spec.max_wait_s, b.NOT_NEGATIVE))
    load = rate * time_s
    if load > _MOST_SESSIONS:
        raise FieldError("requests_per_s", spec.requests_per_s, "a load of up to 10^7 sessions")
    servers, blocking = 0, 1.0
    while True:
        servers += 1
        blocking = load * blocking / (servers + load * blocking)
        if servers <= load:
            continue
        waiting = _waiting(servers, load, blocking)
        late = waiting * math.exp(-(servers - load) * limit_s / time_s)
        if late <= share:
            return QueuePlan(
                servers=servers,
                offered_erlangs=load,
                wait_probability=waiting,
                late_share=late,
                mean_wait_s=waiting * time_s / (servers - load),
                utilisation=load / servers,
            )


def wait_probability(servers: int, offered_erlangs: float) -> float:
    """Erlang C: the share of requests that find all `servers` taken; 1 where they cannot keep up.

    C = c B / (c - a (1 - B)), with Erlang B by its recursion B(c) = a B(c-1) / (c + a B(c-1)),
    which neither overflows nor cancels, however many servers there are.
    """
    if offered_erlangs >= servers:
        return 1.0
    blocking = 1.0
    for count in range(1, servers + 1):
        blocking = offered_erlangs * blocking / (count + offered_erlangs * blocking)
    return _waiting(servers, offered_erlangs, blocking)


def mean_wait_s(servers: int, offered_erlangs: float, seconds_per_request: float) -> float:
    """Mean wait of all requests, C T / (c - a); infinite where the servers cannot keep up."""
    if offered_erlangs >= servers:
        return math.inf
    waiting = wait_probability(servers, offered_erlangs)
    return waiting * seconds_per_request / (servers - offered_erlangs)


def _waiting(servers: int, load: float, blocking: float) -> float:
    return servers * blocking / (servers - load * (1 - blocking))
