"""The numbers of a level, by examples small enough to reckon by hand."""

import msgspec
import pytest

from proa.bench.health import ClientHealth, Validity
from proa.bench.levels import CacheStats, LevelStats, level_stats
from proa.bench.remark import Remark
from proa.bench.sample import ContentEvent, Failure, RequestSample, TokenSource
from proa.bench.slo import parse_slo
from proa.bench.window import Cause, LevelWindow

HEALTHY = ClientHealth(verdict=Validity.VALID)


def stream(
    tokens: int, gap_s: float, *, sent_s: float = 0.0, ttft_s: float = 1.0, asked: int | None = None
) -> RequestSample:
    """One token each event."""
    times = [sent_s + ttft_s + n * gap_s for n in range(tokens)]
    return RequestSample(
        number=0,
        target="t",
        level=0,
        user=0,
        users=2,
        sent_s=sent_s,
        first_content_s=times[0],
        last_content_s=times[-1],
        end_s=times[-1],
        output_tokens=tokens,
        output_tokens_asked=asked or tokens,
        token_source=TokenSource.USAGE,
        first_tokens=1,
        reads=tokens,
        events=tuple(ContentEvent(at_s, 5, read) for read, at_s in enumerate(times)),
    )


def failed(kind: Failure = Failure.STATUS) -> RequestSample:
    return RequestSample(number=0, target="t", level=0, user=0, sent_s=0.0, failure=kind)


def stats(
    *samples: RequestSample, end_s: float = 10.0, cache: CacheStats | None = None
) -> LevelStats:
    window = LevelWindow(0.0, end_s, end_s, Cause.DURATION)
    return level_stats(samples, window, HEALTHY, cache=cache)


def test_b13_both_weightings_of_the_gaps_are_named() -> None:
    """B13: vllm #6531: 2 tokens at 100 ms and 200 at 20 ms: 60 ms per request, 20.4 per token."""
    told = stats(stream(2, 0.1), stream(200, 0.02))
    assert told.itl_per_request_s.mean == pytest.approx(0.060)
    assert told.itl_s.mean == pytest.approx(0.0204, abs=1e-5)


def test_b49_failures_stay_in_the_denominator() -> None:
    """B49: fw-ai/benchmark #136: 10 of 100 requests are 10 %, however many tokens there are."""
    told = stats(*[stream(19, 0.01)] * 90, *[failed()] * 10)
    assert told.error_rate == pytest.approx(0.10)
    assert (told.requests, told.errors, told.failures) == (100, 10, {"status": 10})
    assert told.ttft_s.p95 == pytest.approx(1.0)
    assert told.ttft_s.with_failures["p95"] is None


def test_a_level_of_failures_has_no_numbers_and_fails() -> None:
    window = LevelWindow(0.0, 10.0, 10.0, Cause.DURATION)
    told = level_stats([failed()] * 3, window, HEALTHY, slo=parse_slo("ttft_s<=2"))
    assert (told.ttft_s.mean, told.attainment, told.verdict) == (None, 0.0, "fail")


def test_tokens_count_by_the_time_of_their_events_whoever_sent_them() -> None:
    warmup = msgspec.structs.replace(stream(11, 1.0, sent_s=-6.0), is_warmup=True)
    filler = msgspec.structs.replace(
        stream(3, 1.0, sent_s=7.0), is_filler=True, is_stopped=True, output_tokens=None
    )
    told = stats(warmup, filler, stream(4, 0.5))
    assert told.requests == 1
    assert told.aggregate_tokens_per_s == pytest.approx((6 + 2 + 4) / 10)


def test_b60_lengths_that_are_off_make_the_level_suspect() -> None:
    """B60: aiperf #339: 300 tokens on average where 1,024 were asked."""
    told = stats(stream(300, 0.01, asked=1024))
    assert told.client.verdict is Validity.SUSPECT
    assert told.client.reasons == [
        Remark("output_length", {"actual_tokens": 300.0, "asked_tokens": 1024.0})
    ]
    assert stats(stream(100, 0.01, asked=104)).client.verdict is Validity.VALID


def test_b43_b44_prompts_in_the_engines_cache_are_told() -> None:
    """B43, B44: vllm #52884 and #54227: later levels of a ladder hit the prefix cache."""
    told = stats(stream(3, 0.1), cache=CacheStats(queries=1000.0, hits=590.0))
    assert told.warnings == [Remark("cache_hits", {"hit_share": 0.59, "asked_share": 0.0})]
    assert stats(stream(3, 0.1), cache=CacheStats(1000.0, 2.0)).warnings == []
    assert CacheStats().hit_share is None


@pytest.mark.parametrize(("hits", "told"), [(390.0, []), (430.0, []), (590.0, ["cache_hits"])])
def test_a_beginning_that_was_asked_to_be_shared_is_no_warning(
    hits: float, told: list[str]
) -> None:
    window = LevelWindow(0.0, 10.0, 10.0, Cause.DURATION)
    found = level_stats(
        [stream(3, 0.1)], window, HEALTHY, cache=CacheStats(1000.0, hits, asked_share=0.4)
    )
    assert [each.code for each in found.warnings] == told


def test_b17_usage_that_differs_from_the_events_is_told() -> None:
    """B17: usage wins, and the difference is reported."""
    merged = msgspec.structs.replace(stream(50, 0.01), output_tokens=100)
    assert stats(merged, stream(50, 0.01)).disagreements == 1


def test_bundled_events_are_told() -> None:
    bundled = msgspec.structs.replace(stream(40, 0.01), reads=10)
    told = stats(bundled)
    assert told.reads_per_event == pytest.approx(0.25)
    assert told.warnings == [Remark("bundled", {"events_per_read": 4.0})]


def test_b32_scheduled_latency_is_null_in_a_closed_loop() -> None:
    """B32: guidellm #1048: the column exists where there is a schedule, and only there."""
    assert stats(stream(3, 0.1)).scheduled_ttft_s is None
    late = msgspec.structs.replace(stream(3, 0.1, sent_s=5.0), users=None, scheduled_s=2.0)
    told = stats(late)
    assert told.scheduled_ttft_s is not None
    assert told.scheduled_ttft_s.mean == pytest.approx(4.0)
    assert told.ttft_s.mean == pytest.approx(1.0)


def test_hidden_tokens_and_refused_speeds_are_counted() -> None:
    held = msgspec.structs.replace(stream(100, 1e-7), hidden_reasoning=True)
    told = stats(held)
    assert (told.hidden_reasoning, told.refused_speeds) == (1, 1)
    assert (told.user_tokens_per_s.mean, told.user_tokens_per_s.missing) == (None, 1)
