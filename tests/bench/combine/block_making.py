"""Blocks for tests: users that get a token at steady gaps, some of whom fail."""

from collections.abc import Sequence

from proa.bench.combine.spec import Block
from proa.bench.health import ClientHealth, Validity
from proa.bench.levels import level_stats
from proa.bench.sample import ContentEvent, Failure, RequestSample, TokenSource
from proa.bench.window import Cause, LevelWindow

WINDOW = LevelWindow(0.0, 10.0, 10.0, Cause.DURATION)


def stream(user: int, tokens_per_s: float) -> RequestSample:
    """Ten seconds of tokens."""
    count = round(10 * tokens_per_s)
    times = [(n + 0.5) / tokens_per_s for n in range(count)]
    return RequestSample(
        number=user, target="t", level=0, user=user, users=8, sent_s=0.0, status=200,
        first_content_s=times[0], last_content_s=times[-1], end_s=times[-1],
        output_tokens=count, token_source=TokenSource.USAGE,
        events=tuple(ContentEvent(at, 4, n) for n, at in enumerate(times)), reads=count,
    )  # fmt: skip


def refused(user: int) -> RequestSample:
    return RequestSample(
        number=user, target="t", level=0, user=user, users=8, sent_s=1.0, status=503, end_s=1.1,
        failure=Failure.STATUS, failure_text="503",
    )  # fmt: skip


def block(index: int, part: int, speeds: Sequence[float], *, refusals: Sequence[int] = ()) -> Block:
    """User n gets `speeds[n]` tokens a second."""
    samples = [stream(user, speed) for user, speed in enumerate(speeds)]
    samples += [refused(user) for user in refusals]
    stats = level_stats(samples, WINDOW, ClientHealth(verdict=Validity.VALID))
    return Block(round=index, part=part, stats=stats, window=WINDOW, samples=samples)
