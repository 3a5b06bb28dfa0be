"""What follows from the stamps of one request: the definitions, by the smallest examples."""

import pytest

from proa.bench.sample import ContentEvent, Failure, RequestSample, TokenSource


def sample(
    *, tokens: int | None, first_tokens: int | None, times: tuple[float, ...]
) -> RequestSample:
    return RequestSample(
        number=0,
        target="t",
        level=0,
        user=0,
        sent_s=1.0,
        first_content_s=times[0] if times else None,
        last_content_s=times[-1] if times else None,
        end_s=times[-1] + 0.3 if times else None,
        output_tokens=tokens,
        token_source=TokenSource.USAGE,
        first_tokens=first_tokens,
        events=tuple(ContentEvent(at_s, 1, read) for read, at_s in enumerate(times)),
    )


def test_speed_counts_the_tokens_after_the_first_event() -> None:
    """A first event of 8 tokens, then 8 single ones every 50 ms: 20 tok/s, not 37.5 (B14)."""
    times = (2.0, *(2.0 + 0.05 * n for n in range(1, 9)))
    told = sample(tokens=16, first_tokens=8, times=times)
    assert told.ttft_s == pytest.approx(1.0)
    assert told.user_tokens_per_s == pytest.approx(20.0)
    assert told.user_tokens_per_s_e2e == pytest.approx(16 / 1.7)
    assert told.gaps_s == pytest.approx((0.05,) * 8)


def test_what_was_not_measured_is_none() -> None:
    told = RequestSample(number=0, target="t", level=0, user=0, sent_s=1.0, failure=Failure.CONNECT)
    assert (told.ttft_s, told.e2e_s, told.tpot_s, told.user_tokens_per_s) == (None,) * 4
    assert told.user_tokens_per_s_e2e is None
    assert told.gaps_s == ()


def test_one_token_has_no_time_per_token() -> None:
    told = sample(tokens=1, first_tokens=1, times=(2.0,))
    assert told.tpot_s is None
    assert told.ttft_s == pytest.approx(1.0)
