"""The search for the boundary, put to a run: which level next, and when a visit is enough."""

import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from proa.bench.health import Validity
from proa.bench.run_spec import LevelSpec, Order, RunSpec
from proa.bench.sample import RequestSample
from proa.bench.slo import SloSpec
from proa.bench.statistics.boundary import Boundary
from proa.bench.statistics.conclusion import conclude
from proa.bench.statistics.drift import Drift, drift_between
from proa.bench.statistics.effective import standard_error
from proa.bench.statistics.evidence import Evidence, pooled, verdict_of
from proa.bench.statistics.hinge import GapSample, Hinge, hinge_fit
from proa.bench.statistics.margins import evidence_of, in_flight, question_of
from proa.bench.statistics.search import (
    Ask,
    SearchSpec,
    is_time_to_look,
    next_level,
    rates_search,
    users_search,
)
from proa.bench.statistics.sequential import Verdict
from proa.bench.visit import Enough

if TYPE_CHECKING:
    from proa.bench.run import LevelVisit


def search_of(spec: RunSpec) -> SearchSpec | None:
    """What to search; None where a run has no SLO, one level, or a trace."""
    levels = set(spec.rates or spec.users)
    if spec.slo is None or spec.workload.trace or len(levels) < 2:
        return None
    fields: dict[str, Any] = {
        "question": question_of(spec.slo),
        "ascending": spec.order is Order.ASCENDING,
        "repeat_first": spec.repeat_first,
    }
    if spec.window.requests is not None:
        fields["visit_requests"] = fields["first_requests"] = spec.window.requests
    elif spec.rates and spec.window.duration_s is not None:
        mean = math.fsum(spec.rates) / len(spec.rates)
        fields["visit_requests"] = max(1, round(mean * spec.window.duration_s))
        fields["first_requests"] = fields["visit_requests"]
    return rates_search(spec.rates, **fields) if spec.rates else users_search(spec.users, **fields)


def level_search(spec: RunSpec) -> "LevelSearch | None":
    """The search that a run asks for; None where it asks for none."""
    made = search_of(spec) if spec.search else None
    return (
        None
        if made is None or spec.slo is None
        else LevelSearch(made, spec.slo, seed=spec.seed, is_open=bool(spec.rates))
    )


class LevelSearch:
    """Give `next_level` and `enough` to a `BenchRun`; `slo` is what `search` asks about."""

    def __init__(
        self, search: SearchSpec, slo: SloSpec, *, seed: int, is_open: bool = False
    ) -> None:
        """`is_open`: loads are rates of an open loop."""
        self._search = search
        self._is_open = is_open
        self._slo = slo
        self._rng = random.Random(seed)
        self._history: list[Evidence] = []
        self._ask: Ask | None = None

    def next_level(self, visits: Sequence["LevelVisit"]) -> LevelSpec | None:
        """Raises UpstreamError: no success had a metric that the SLO bounds."""
        new = visits[len(self._history) :]
        self._history += [evidence_of_visit(visit, self._slo) for visit in new]
        self._ask = next_level(self._history, self._search, self._rng)
        if self._ask is None:
            return None
        if self._is_open:
            return LevelSpec(rate=self._ask.load)
        return LevelSpec(users=round(self._ask.load))

    def enough(self, level: LevelSpec) -> Enough:
        """Whether the visit's requests settle the level, with those of its earlier visits.

        In an open loop only that it fails: a queue that grows is seen late, so that a pass
        needs the whole window.
        """
        load = load_of(level)
        earlier = [one for one in self._history if one.load == load]
        effect = pooled(self._history)[1]
        most: float = self._search.visit_requests if self._ask is None else self._ask.requests
        if self._is_open:
            most = math.inf  # the window ends it

        def enough(samples: Sequence[RequestSample]) -> bool:
            count = len(samples)
            if count >= most:
                return True
            if not is_time_to_look(count, in_flight(samples, load)):
                return False
            now = evidence_of(samples, self._slo, load=load)
            verdict = verdict_of([*earlier, now], self._search.question, effect)
            return verdict is Verdict.FAIL if self._is_open else verdict is not Verdict.OPEN

        return enough


def load_of(level: LevelSpec) -> float:
    """Users or requests per second; 0 for a trace."""
    return float(level.users or level.rate or 0.0)


def evidence_of_visit(visit: "LevelVisit", slo: SloSpec) -> Evidence:
    """A visit with an invalid client says nothing of the engine: it has no requests.

    Raises:
        UpstreamError: no success had a metric that the SLO bounds.
    """
    if visit.result.client.verdict is Validity.INVALID:
        return Evidence(load=load_of(visit.level), requests=0, mean=0.0)
    samples = visit.result.samples
    begin_s = min((sample.sent_s for sample in samples), default=visit.result.window.start_s)
    return evidence_of(
        samples, slo,
        load=load_of(visit.level), seconds=visit.result.window.end_s - begin_s,
    )  # fmt: skip


def boundary_of_run(spec: RunSpec, visits: Sequence["LevelVisit"]) -> Boundary | None:
    """What a run says of the boundary; None where it searched none or measured nothing.

    Raises:
        UpstreamError: no success had a metric that the SLO bounds.
    """
    search = search_of(spec)
    if search is None or spec.slo is None:
        return None
    return conclude([evidence_of_visit(visit, spec.slo) for visit in visits], search)


def hinge_of_run(visits: Sequence["LevelVisit"]) -> Hinge | None:
    """From each visit's mean gap by request; None below three levels of users."""
    return hinge_fit([gap for visit in visits if (gap := _gap(visit)) is not None])


def drift_of_run(visits: Sequence["LevelVisit"]) -> Drift | None:
    """Of the TPOT, from the first visit to the last where both are of one level."""
    if len(visits) < 2 or visits[-1].level != visits[0].level:
        return None
    return drift_between(_tpots_s(visits[0]), _tpots_s(visits[-1]))


def _gap(visit: "LevelVisit") -> GapSample | None:
    values = _tpots_s(visit)
    error_s = standard_error(values)
    if error_s is None or visit.level.users is None:
        return None
    return GapSample(visit.level.users, math.fsum(values) / len(values), error_s)


def _tpots_s(visit: "LevelVisit") -> list[float]:
    good = (s for s in visit.result.samples if s.failure is None)
    counted = [s for s in good if not (s.is_warmup or s.is_filler or s.is_stopped)]
    ordered = sorted(counted, key=lambda sample: sample.sent_s)
    return [tpot_s for s in ordered if (tpot_s := s.tpot_s) is not None]
