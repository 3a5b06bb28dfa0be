"""Passive ejection and slow start: who of a pool is considered for one request."""

from collections.abc import Sequence
from random import Random

SURPLUS_SHARE = 0.1


def admitted(pool: Sequence[int], shares: Sequence[float], rng: Random) -> Sequence[int]:
    """The engines of `pool` that take part in this choice; never none of them.

    An engine with share s is considered with probability s / (largest share of the
    pool), so that it gets at most this part of the requests under every policy, on
    an idle fleet too. Share 0 (breaker open) is left out, with two limits:
    - if all have share 0, all take part: the last engine is never ejected;
    - at most half of the pool is ejected by such passive signs. The surplus, drawn
      anew for each request, takes part with probability `SURPLUS_SHARE`: enough to
      prove itself, too little to sink the traffic should it be really broken.
    """
    live = [i for i in pool if shares[i] > 0.0]
    if not live:
        return pool
    largest = max(shares[i] for i in live)
    kept = [i for i in live if shares[i] >= largest or rng.random() * largest < shares[i]]
    surplus = len(pool) - len(live) - len(pool) // 2
    if surplus > 0:
        ejected = [i for i in pool if shares[i] <= 0.0]
        kept += [i for i in rng.sample(ejected, surplus) if rng.random() < SURPLUS_SHARE]
    return kept
