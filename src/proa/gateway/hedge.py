"""Short requests that wait too long are sent to a second engine.

Only a worker whose policy asks for hedging has a `Hedges`; exchanges know nothing of it but
where they end, fail and are swept. Who is late is decided in `routing/hedging.py`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from proa.domain.outcome import Outcome
from proa.gateway.attempt import Attempt
from proa.gateway.link import EngineLink
from proa.gateway.second_try import SecondTry
from proa.gateway.tickets import with_wait
from proa.routing.decision import Choice, RouteMatch
from proa.routing.hedging import Hedging, Standing, idle_engine, is_short
from proa.routing.spec import PolicyOptions
from proa.telemetry.rows import Engine

if TYPE_CHECKING:
    from proa.gateway.dispatcher import Dispatcher
    from proa.gateway.exchange import Exchange
    from proa.gateway.plane import DataPlane

_ANSWERED = (Outcome.OK, Outcome.CLIENT_FAULT)


class Hedges:
    """Those of one worker; `options` are of its current generation of settings."""

    def __init__(self, plane: "DataPlane") -> None:
        self._plane = plane
        self._is_on = False
        self._hedging = Hedging(plane.settings.routing.policy_options.hedge_share)
        self._open: dict[Exchange, SecondTry] = {}

    def configure(self, options: PolicyOptions) -> None:
        """New settings; who is on the way stays."""
        self._is_on = options.hedge
        self._hedging.allow(options.hedge_share)

    def sweep(self, exchange: "Exchange", now: float) -> None:
        """Every 250 ms: send a late request to a second engine, if one is idle."""
        second = self._open.get(exchange)
        if second is not None:
            second.sweep(now)
            return
        first = exchange.attempt
        if not self._is_on or first is None or not _may_hedge(exchange, first):
            return
        waited_s = now - exchange.started_s - exchange.queued_s
        if not self._hedging.is_late(_kind(exchange, first.link.name), waited_s):
            return
        choice = self._idle(exchange)
        if choice is not None and self._hedging.withdraw():
            self._begin(exchange, first, choice)

    def goes_on(self, failed: Attempt) -> bool:
        """Whether a request whose try failed has another one under way."""
        second = self._open.get(failed.exchange)
        return second is not None and second.goes_on(failed)

    def engine_of(self, exchange: "Exchange") -> str | None:
        """The engine that an exchange was hedged with."""
        second = self._open.get(exchange)
        return None if second is None else second.link.name

    def over(self, exchange: "Exchange", outcome: Outcome, duration_s: float) -> None:
        """The exchange has ended: nothing of it goes on, and its duration is learned."""
        second = self._open.pop(exchange, None)
        if second is not None:
            _count(second, outcome)
            second.stop()
        attempt = exchange.attempt
        if attempt is None or not _is_short(exchange):
            return
        name = attempt.link.name if second is None else second.first_name
        tries = 1 if second is None else 2
        is_plain = outcome is Outcome.OK and not exchange.retried and len(exchange.tried) == tries
        seconds = duration_s - exchange.queued_s if is_plain else None
        self._hedging.ended(_kind(exchange, name), seconds)

    def _begin(self, exchange: "Exchange", first: Attempt, choice: Choice) -> None:
        dispatcher = exchange.dispatcher
        second = SecondTry(exchange, dispatcher.links[choice.index], first)
        decision = dispatcher.decision_lines(choice)
        decision = b"%b hedged=%b\r\n" % (decision[:-2], choice.engine_header.encode())
        second.decision = with_wait(decision, exchange.queued_s) if exchange.queued_s else decision
        exchange.tried += (choice.index,)
        self._open[exchange] = second
        second.start()

    def _idle(self, exchange: "Exchange") -> Choice | None:
        """Another engine of the match that has nothing to do, if nobody waits for it."""
        match, room = exchange.match, self._plane.room
        is_free = not (room.is_waited_in or room.turns.is_full(self._plane.dispatcher))
        loadable = exchange.dispatcher.router.loadable
        if match is None or not is_free or exchange.upstream_model in loadable:
            return None
        index = idle_engine(_standings(exchange, match, self._plane.dispatcher))
        return None if index is None else match.choices[index]


def _standings(
    exchange: "Exchange", match: RouteMatch, current: "Dispatcher"
) -> Iterator[Standing]:
    """The match's other engines, as they are now, by their indexes of then."""
    in_flight, loads = current.in_flight(), current.loads
    now_at = {link: index for index, link in enumerate(current.links)}
    for index in match.pool:
        link = exchange.dispatcher.links[index]
        now = now_at.get(link)
        if now is None or index in exchange.tried or not _takes(exchange, link):
            continue
        if current.fleet.engines[now].state.takes_traffic:
            base_s, per_sequence_s = loads.speeds[now][:2]
            yield Standing(
                index, in_flight[now], loads.foreign[now], loads.shares[now],
                base_s + per_sequence_s, index in match.preferred,
            )  # fmt: skip


def _is_short(exchange: "Exchange") -> bool:
    asked = exchange.asked
    return (
        asked is not None
        and not asked.stream
        and exchange.head.method == b"POST"
        and is_short(asked.target, asked.max_tokens, len(exchange.body))
    )


def _may_hedge(exchange: "Exchange", first: Attempt) -> bool:
    """Whether a request waits for the first byte of its first try."""
    return (
        type(first) is Attempt
        and first.body_sent
        and not (first.answered or exchange.committed or exchange.retried)
        and len(exchange.tried) == 1
        and _is_short(exchange)
    )


def _takes(exchange: "Exchange", link: EngineLink) -> bool:
    """Whether an engine gets the request as it is, without a translation."""
    return not (exchange.surface.translation_bit & link.dialect_bits or link.is_unreachable)


def _kind(exchange: "Exchange", engine: str) -> tuple[str, bytes]:
    assert exchange.asked is not None
    return engine, exchange.asked.target


def _count(second: SecondTry, outcome: Outcome) -> None:
    """Won: its answer went to the client; failed: it had none; lost: it was stopped."""
    is_last = second.exchange.attempt is second
    if second.has_failed or (is_last and outcome not in (*_ANSWERED, Outcome.CANCELLED)):
        cell = Engine.HEDGES_FAILED
    elif is_last and outcome in _ANSWERED:
        cell = Engine.HEDGES_WON
    else:
        cell = Engine.HEDGES_LOST
    second.link.counts[cell] += 1
