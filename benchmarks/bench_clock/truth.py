"""What the scripted server says that it did, and how far a client's samples are from it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from proa.bench.paced_server import Truth
from proa.bench.sample import RequestSample


class TimesStats(NamedTuple):
    """Seconds; TTFT from a request's last byte to the first token, TPOT between tokens."""

    requests: int
    ttft_mean_s: float
    ttft_p50_s: float
    ttft_p99_s: float
    tpot_mean_s: float
    tokens_per_s: float


class BiasStats(NamedTuple):
    """Client minus server over the same requests; `tpot` as a share of the server's.

    `stamp` is from the server's write of the first token to the client's stamp of it: the
    client's clock alone. `ttft` is the difference of both TTFTs; a server that is late in
    reading requests is in it, too.
    """

    requests: int
    stamp_p50_s: float
    stamp_p99_s: float
    ttft_p50_s: float
    ttft_p99_s: float
    tpot_mean: float
    tpot_p99: float


def truth_stats(truths: Sequence[Truth]) -> TimesStats:
    """The server's own numbers."""
    ttfts = sorted(t.first_s - t.arrived_s for t in truths)
    tpots = [(t.last_s - t.first_s) / (t.tokens - 1) for t in truths if t.tokens > 1]
    took_s = max(t.last_s for t in truths) - min(t.first_s for t in truths)
    return TimesStats(
        requests=len(truths),
        ttft_mean_s=fmean(ttfts),
        ttft_p50_s=quantile(ttfts, 0.5),
        ttft_p99_s=quantile(ttfts, 0.99),
        tpot_mean_s=fmean(tpots),
        tokens_per_s=sum(t.tokens for t in truths) / took_s,
    )


def bias(
    samples: Iterable[RequestSample], truths: Mapping[str, Truth], *, origin_s: float
) -> BiasStats:
    """By the prompt's hash, which is each request's own; `origin_s` is the samples' zero."""
    stamps, ttfts, tpots = [], [], []
    for sample in samples:
        truth = truths.get(sample.prompt)
        if truth is None or sample.ttft_s is None or sample.tpot_s is None:
            continue
        stamps.append((sample.first_content_s or 0.0) + origin_s - truth.first_s)
        ttfts.append(sample.ttft_s - (truth.first_s - truth.arrived_s))
        true_tpot_s = (truth.last_s - truth.first_s) / (truth.tokens - 1)
        tpots.append(sample.tpot_s / true_tpot_s - 1)
    sizes = sorted(map(abs, tpots))
    ttfts.sort()
    stamps.sort()
    return BiasStats(
        requests=len(ttfts),
        stamp_p50_s=quantile(stamps, 0.5),
        stamp_p99_s=quantile(stamps, 0.99),
        ttft_p50_s=quantile(ttfts, 0.5),
        ttft_p99_s=quantile(ttfts, 0.99),
        tpot_mean=fmean(tpots),
        tpot_p99=quantile(sizes, 0.99),
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """The order statistic."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
