"""A contract's clause against a run: each part passes, fails, or is not decided, with confidence.

What was measured under a lighter load than was promised decides nothing, unless it failed; what
was measured under a heavier one decides nothing, unless it passed.
"""

from collections.abc import Iterator, Sequence

import msgspec

from proa.bench.health import Validity, worst
from proa.bench.level_search import evidence_of_visit
from proa.bench.run import LevelVisit, RunResult
from proa.bench.sample import RequestSample
from proa.bench.slo import Bound, SloSpec, contract_slo, is_ok
from proa.bench.statistics.evidence import Evidence, pooled, verdict_of
from proa.bench.statistics.margins import question_of
from proa.bench.statistics.sequential import Verdict
from proa.domain.contract import ContractRule, ContractSpec

_TTFT_SHARE = 0.95
_LIGHTER = 0.95
"""A mean length from this share of the promised one on counts as no lighter."""
_LONGEST = 64.0


class ClauseRow(msgspec.Struct, frozen=True, kw_only=True):
    """One part of the clause.

    `part` is `sessions`, `input_tokens`, `output_tokens`, `model`, `client`, a metric, or
    `together`. `share` of `requests` at `users` kept it; `more_requests` would decide it, were
    they like those so far.
    """

    part: str
    verdict: Verdict
    promised: float | str | None = None
    measured: float | str | None = None
    share: float | None = None
    needed: float | None = None
    users: int | None = None
    requests: int | None = None
    more_requests: int | None = None


class _Judged(msgspec.Struct, frozen=True):
    verdict: Verdict
    visits: Sequence[LevelVisit]
    more_requests: int | None = None


def clause_rows(contract: ContractSpec, result: RunResult) -> list[ClauseRow]:
    """The whole clause, its load first.

    Raises:
        UpstreamError: no success has a metric that the clause bounds.
    """
    usable = [
        visit
        for visit in result.visits
        if visit.level.users is not None
        and visit.stats.requests
        and visit.stats.client.verdict is not Validity.INVALID
    ]
    slo = _forced(contract_slo(contract), result)
    rows = [*_load_rows(contract, result, usable), _client_row(result)]
    speed = Bound("user_tokens_per_s", contract.user_tokens_per_s, at_least=True)
    one = SloSpec(
        bounds=(speed,),
        attainment=contract.attainment,
        rule=contract.rule,
        forced_length=slo.forced_length,
    )
    rows.append(_bound_row(speed, one, usable, contract.sessions))
    if contract.ttft_p95_s is not None:
        first = Bound("ttft_s", contract.ttft_p95_s, at_least=False)
        one = SloSpec(bounds=(first,), attainment=_TTFT_SHARE, forced_length=slo.forced_length)
        rows.append(_bound_row(first, one, usable, contract.sessions))
        rows.append(_together(slo, usable, contract.sessions))
    return rows


def verdict_of_rows(rows: Sequence[ClauseRow]) -> Verdict:
    """Fails where a part fails, passes where all pass."""
    verdicts = [row.verdict for row in rows]
    if Verdict.FAIL in verdicts:
        return Verdict.FAIL
    return Verdict.OPEN if Verdict.OPEN in verdicts else Verdict.PASS


def _forced(slo: SloSpec, result: RunResult) -> SloSpec:
    return msgspec.structs.replace(slo, forced_length=result.spec.workload.force_output)


def _load_rows(
    contract: ContractSpec, result: RunResult, visits: Sequence[LevelVisit]
) -> Iterator[ClauseRow]:
    most = max((visit.level.users or 0 for visit in visits), default=0)
    enough = most >= contract.sessions
    yield ClauseRow(
        part="sessions", verdict=Verdict.PASS if enough else Verdict.OPEN,
        promised=contract.sessions, measured=most,
    )  # fmt: skip
    for part, promised in (
        ("input_tokens", contract.mean_input_tokens),
        ("output_tokens", contract.output_tokens),
    ):
        if promised is not None:
            yield _length_row(part, promised, visits)
    if contract.model is not None:
        served = ", ".join(dict.fromkeys(load.target.model for load in result.targets))
        same = _bare_name(served) == _bare_name(contract.model)
        yield ClauseRow(
            part="model", verdict=Verdict.PASS if same else Verdict.OPEN,
            promised=contract.model, measured=served,
        )  # fmt: skip


def _length_row(part: str, promised: int, visits: Sequence[LevelVisit]) -> ClauseRow:
    name = part.replace("_tokens", "_length")
    told = [
        (getattr(visit.stats, name).actual, visit.stats.requests)
        for visit in visits
        if getattr(visit.stats, name).actual is not None
    ]
    count = sum(requests for _, requests in told)
    mean = sum(length * requests for length, requests in told) / count if count else None
    enough = mean is not None and mean >= _LIGHTER * promised
    return ClauseRow(
        part=part, verdict=Verdict.PASS if enough else Verdict.OPEN,
        promised=promised, measured=mean, requests=count,
    )  # fmt: skip


def _client_row(result: RunResult) -> ClauseRow:
    verdict = worst(visit.stats.client.verdict for visit in result.visits)
    valid = bool(result.visits) and verdict is Validity.VALID
    return ClauseRow(
        part="client",
        verdict=Verdict.PASS if valid else Verdict.OPEN,
        promised=str(Validity.VALID),
        measured=str(verdict),
    )


def _bound_row(
    bound: Bound, slo: SloSpec, visits: Sequence[LevelVisit], sessions: int
) -> ClauseRow:
    judged = judge(slo, visits, sessions)
    measured = None
    if slo.rule is ContractRule.MEAN:
        values = [
            value
            for visit in judged.visits
            for sample in _counting(visit)
            if (value := getattr(sample, bound.metric)) is not None
        ]
        measured = sum(values) / len(values) if values else None
    return _row(bound.metric, judged, slo, promised=bound.value, measured=measured)


def _together(slo: SloSpec, visits: Sequence[LevelVisit], sessions: int) -> ClauseRow:
    return _row("together", judge(slo, visits, sessions), slo)


def _row(
    part: str,
    judged: _Judged,
    slo: SloSpec,
    *,
    promised: float | None = None,
    measured: float | None = None,
) -> ClauseRow:
    samples = [sample for visit in judged.visits for sample in _counting(visit)]
    kept = sum(is_ok(sample, slo) for sample in samples)
    return ClauseRow(
        part=part,
        verdict=judged.verdict,
        promised=promised,
        measured=measured,
        share=kept / len(samples) if samples else None,
        needed=slo.attainment if slo.rule is ContractRule.PER_REQUEST else None,
        users=judged.visits[0].level.users if judged.visits else None,
        requests=len(samples),
        more_requests=judged.more_requests,
    )


def _counting(visit: LevelVisit) -> list[RequestSample]:
    return [s for s in visit.result.samples if not (s.is_warmup or s.is_filler or s.is_stopped)]


def judge(slo: SloSpec, visits: Sequence[LevelVisit], sessions: int) -> _Judged:
    """By the promised load; else by a heavier one that passed, or a lighter one that failed."""
    by_users: dict[int, list[LevelVisit]] = {}
    for visit in visits:
        by_users.setdefault(visit.level.users or 0, []).append(visit)
    evidence = {
        users: [evidence_of_visit(visit, slo) for visit in own] for users, own in by_users.items()
    }
    effect = pooled([one for own in evidence.values() for one in own])[1] if evidence else 1.0
    question = question_of(slo)
    verdicts = {users: verdict_of(own, question, effect) for users, own in evidence.items()}
    for users in sorted(verdicts):
        if users >= sessions and verdicts[users] is Verdict.PASS:
            return _Judged(Verdict.PASS, by_users[users])
    for users in sorted(verdicts, reverse=True):
        if users <= sessions and verdicts[users] is Verdict.FAIL:
            return _Judged(Verdict.FAIL, by_users[users])
    if not verdicts:
        return _Judged(Verdict.OPEN, [])
    near = min(verdicts, key=lambda users: (abs(users - sessions), users))
    more = None
    if near == sessions:
        more = _more(evidence[near], slo, effect)
    return _Judged(Verdict.OPEN, by_users[near], more)


def _more(own: Sequence[Evidence], slo: SloSpec, effect: float) -> int | None:
    """How many requests more would decide, were they like those so far; None: too many."""
    count = sum(one.requests for one in own)
    factor = 1.1
    while factor <= _LONGEST:
        grown = [msgspec.structs.replace(one, requests=one.requests * factor) for one in own]
        if verdict_of(grown, question_of(slo), effect) is not Verdict.OPEN:
            return round(count * (factor - 1))
        factor *= 1.1
    return None


def _bare_name(model: str) -> str:
    """A model's name without its owner: engines are often started under a short name."""
    return model.casefold().rpartition("/")[2]
