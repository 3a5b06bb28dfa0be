"""Several places of clients at once: is each of them served, and served alike?

A site is a client process with its own connections; user u is at site u mod sites.
"""

import math
from collections.abc import Sequence

import msgspec

from proa.bench.combine.spec import PARTS, Block
from proa.bench.percentiles import percentile
from proa.bench.token_window import tokens_within


class SiteStats(msgspec.Struct, frozen=True, kw_only=True):
    """One site under one part: tokens per second of each user, over the part's blocks.

    `deviation` is the standard deviation between blocks, `ttft_p95_s` over all requests; None
    where there are too few of them.
    """

    part: str
    site: int
    users: int
    requests: int
    errors: int
    user_tokens_per_s: float | None
    deviation: float | None
    ttft_p95_s: float | None

    @property
    def error_rate(self) -> float | None:
        return self.errors / self.requests if self.requests else None


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Between the sites of one part: the variance of their users' speed (tokens/s)², and the
    standard deviation as a share of the mean.
    """

    part: str
    variance: float | None
    share: float | None


def site_stats(blocks: Sequence[Block], users: Sequence[int], sites: int) -> list[SiteStats]:
    """For each part each site."""
    return [
        _site([b for b in blocks if b.part == part], part, site, (users[part], sites))
        for part in range(len(PARTS))
        for site in range(sites)
    ]


def _site(blocks: list[Block], part: int, site: int, shared: tuple[int, int]) -> SiteStats:
    users, sites = shared
    own_users = len(range(site, users, sites))
    speeds, ttfts, requests, errors = [], [], 0, 0
    for block in blocks:
        own = [s for s in block.samples if s.user % sites == site]
        window = block.window
        length_s = window.end_s - window.start_s
        if length_s > 0:
            tokens = tokens_within(own, start_s=window.start_s, end_s=window.end_s)
            speeds.append(tokens / length_s / own_users)
        counted = [s for s in own if not (s.is_warmup or s.is_filler or s.is_stopped)]
        requests += len(counted)
        errors += sum(s.failure is not None for s in counted)
        ttfts += [s.ttft_s for s in counted if s.failure is None and s.ttft_s is not None]
    return SiteStats(
        part=PARTS[part],
        site=site + 1,
        users=own_users,
        requests=requests,
        errors=errors,
        user_tokens_per_s=math.fsum(speeds) / len(speeds) if speeds else None,
        deviation=_deviation(speeds),
        ttft_p95_s=percentile(sorted(ttfts), 0.95),
    )


def spread(sites: Sequence[SiteStats], part: str) -> Spread:
    """None with one site only."""
    speeds = [s.user_tokens_per_s for s in sites if s.part == part]
    known = [speed for speed in speeds if speed is not None]
    deviation = _deviation(known)
    if deviation is None:
        return Spread(part=part, variance=None, share=None)
    mean = math.fsum(known) / len(known)
    return Spread(part=part, variance=deviation**2, share=deviation / mean if mean else None)


def _deviation(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
