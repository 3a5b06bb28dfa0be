"""Pairs for tests: two streams with the times that a test says."""

from proa.bench.compare.spec import PairSample
from proa.bench.sample import ContentEvent, Failure, RequestSample, TokenSource


def sample(times: list[float], **changes: object) -> RequestSample:
    """A stream of one token at each time; a read each, unless `reads` says otherwise."""
    reads = changes.pop("reads", None)
    numbers = reads if isinstance(reads, list) else list(range(len(times)))
    given: dict[str, object] = {
        "number": 1, "target": "t", "level": 0, "user": 0, "sent_s": 0.0, "status": 200,
        "first_content_s": times[0], "last_content_s": times[-1], "end_s": times[-1],
        "output_tokens": len(times), "token_source": TokenSource.USAGE,
        "events": tuple(
            ContentEvent(at, 4, read) for at, read in zip(times, numbers, strict=True)
        ),
        "reads": len(set(numbers)),
    } | changes  # fmt: skip
    return RequestSample(**given)  # type: ignore[arg-type]


def steady(first_s: float, gap_s: float, tokens: int, **changes: object) -> RequestSample:
    """A token every `gap_s`."""
    return sample([first_s + gap_s * n for n in range(tokens)], **changes)


def pair(direct: RequestSample, gateway: RequestSample, **changes: object) -> PairSample:
    """A pair of as many tokens as the direct side has."""
    given: dict[str, object] = {
        "round": 0, "tokens": direct.output_tokens, "direct_first": True,
        "direct": direct, "gateway": gateway,
    } | changes  # fmt: skip
    return PairSample(**given)  # type: ignore[arg-type]


def failed() -> RequestSample:
    """A request that got a 503."""
    return RequestSample(
        number=1, target="t", level=0, user=0, sent_s=0.0, status=503,
        failure=Failure.STATUS, failure_text="503 loading",
    )  # fmt: skip
