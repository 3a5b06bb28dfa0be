"""The context guard: a prompt never goes to an engine whose context it does not fit.

The number of tokens is an estimate, so three cases are told apart, with the prompt
taken as up to 15 % larger or smaller than estimated:

- certain to fit, together with the answer that the client allows;
- may fit: such engines are used only when no engine is certain to fit;
- certain not to fit, even if the prompt is smaller than estimated: never used.

A prompt has no more tokens than its body has bytes: as long as these, and the answer,
fit the smallest context, nothing needs to be estimated.
"""

from collections.abc import Mapping

import msgspec

from proa.domain.request import RouteRequest
from proa.routing.decision import Refusal, RouteMatch

ERROR_SHARE = 0.15


def narrowed(match: RouteMatch, request: RouteRequest) -> RouteMatch | Refusal:
    """The match with the engines that the prompt fits, its fallback's if it fits none of them.

    Engines whose context is not known are kept, and so is all when the number of tokens is not.
    """
    tokens = request.input_tokens
    if tokens is None:
        return match
    contexts = match.contexts
    largest = tokens / (1.0 - ERROR_SHARE) + (request.max_tokens or 1)
    pool = [i for i in match.pool if contexts.get(i, largest) >= largest]
    if not pool:
        least = tokens / (1.0 + ERROR_SHARE)
        pool = [i for i in match.pool if contexts[i] > least]
    if not pool:
        if match.fallback is not None:
            return narrowed(match.fallback, request)
        return _too_long(match, contexts, tokens)
    if len(pool) == len(match.pool):
        return match
    preferred = tuple(i for i in match.preferred if i in pool)
    return msgspec.structs.replace(
        match,
        pool=tuple(pool),
        preferred=() if len(preferred) == len(pool) else preferred,
    )


def _too_long(match: RouteMatch, contexts: Mapping[int, int], tokens: int) -> Refusal:
    longest = max(contexts[i] for i in match.pool)
    what = f"the model `{match.model}`" if match.model is not None else f"route `{match.route}`"
    return Refusal(
        400,
        "context_length_exceeded",
        f"The prompt has about {tokens} tokens; the largest context of {what} is {longest} tokens",
    )
