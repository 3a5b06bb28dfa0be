"""The search of `proa bench` on a synthetic server."""

import random

import numpy as np
from numpy.typing import NDArray

from benchmarks.boundary.outcome import Outcome
from benchmarks.boundary.servers import Server, sample
from proa.bench.statistics.conclusion import conclude
from proa.bench.statistics.effective import batch_variance
from proa.bench.statistics.evidence import Evidence, pooled, verdict_of
from proa.bench.statistics.search import SearchSpec, is_time_to_look, next_level, users_search
from proa.bench.statistics.sequential import Verdict

SPEC = users_search((8, 16, 24, 32, 40, 48))


def search(server: Server, seed: int, spec: SearchSpec) -> Outcome:
    """A whole search; requests of the warm-up, one of each user a visit, are counted."""
    rng, chance = random.Random(seed), np.random.default_rng(seed)
    history: list[Evidence] = []
    used = 0
    while (ask := next_level(history, spec, rng)) is not None:
        users = round(ask.load)
        used += users
        margins = sample(server, users, ask.requests, at_requests=used, rng=chance)
        history.append(_visit(margins, ask.load, history, spec))
        used += round(history[-1].requests)
    found = conclude(history, spec)
    assert found is not None
    high = spec.grid[-1] if found.high is None else found.high
    estimate = high if found.estimate is None else found.estimate
    return Outcome(round(estimate), round(found.low), round(high), used, len(history))


def _visit(
    margins: NDArray[np.float64], load: float, history: list[Evidence], spec: SearchSpec
) -> Evidence:
    """As many of the requests as it takes to settle the level, together with earlier visits."""
    effect = pooled(history)[1]
    earlier = [one for one in history if one.load == load]
    kept = (margins >= 0).tolist()
    count = len(kept)
    for end in filter(lambda end: is_time_to_look(end, load), range(len(kept))):
        sofar = Evidence(load=load, requests=end, mean=sum(kept[:end]) / end)
        if verdict_of([*earlier, sofar], spec.question, effect) is not Verdict.OPEN:
            count = end
            break
    values = [float(one) for one in kept[:count]]
    return Evidence(
        load=load,
        requests=count,
        mean=sum(values) / count,
        batches=batch_variance(values, round(load)),
    )
