"""Tokens that arrived within a window, by the time of their events, whoever's request it was."""

from collections.abc import Iterable, Sequence

from proa.bench.sample import RequestSample


def tokens_within(samples: Sequence[RequestSample], *, start_s: float, end_s: float) -> float:
    """Output tokens with an event in [start_s, end_s).

    A request's tokens after its first event are spread over the later events by their
    characters. Of a request that was ended before it told its usage, events count as many
    tokens as an event of the others holds on average. An answer that is no stream counts at
    its end.
    """
    per_event = _tokens_per_event(samples)
    return sum(_tokens_of(sample, per_event, start_s, end_s) for sample in samples)


def _tokens_of(sample: RequestSample, per_event: float, start_s: float, end_s: float) -> float:
    events = sample.events
    if not events:
        whole = sample.end_s is not None and start_s <= sample.end_s < end_s
        return float(sample.output_tokens or 0) if whole and sample.failure is None else 0.0
    tokens = float(sample.output_tokens or 0)
    if sample.is_stopped or sample.failure is not None or not tokens:
        tokens = max(tokens, len(events) * per_event)
    first = min(tokens, float(sample.first_tokens or 1))
    found = first if start_s <= events[0].at_s < end_s else 0.0
    later = sum(event.characters for event in events[1:])
    inside = sum(event.characters for event in events[1:] if start_s <= event.at_s < end_s)
    return found + ((tokens - first) * inside / later if later else 0.0)


def _tokens_per_event(samples: Iterable[RequestSample]) -> float:
    tokens = events = 0
    for sample in samples:
        if sample.failure is None and not sample.is_stopped and sample.output_tokens:
            tokens += sample.output_tokens
            events += len(sample.events)
    return tokens / events if events else 1.0
