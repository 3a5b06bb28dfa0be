"""The arithmetic of a pass through a model: for floats and for numpy arrays alike.

One source of truth for `performance` (one answer) and the search (a million). `roofline` makes
a `Work`, `efficiency` a `Pace`; every field may be an array, and arrays broadcast. No branch, no
min, no max: those take one number.
"""

from typing import Any, NamedTuple, TypeAlias

Number: TypeAlias = Any
"""A float, or a numpy array of floats."""


class Work(NamedTuple):
    """Seconds of one GPU at its data sheet's rates, for a whole stack of layers.

    Reads: `dense_read_s` all weights but experts, `expert_read_s` all experts that lie on the
    GPU, of which a token reaches `expert_share`. Per token: `token_math_s` matrix products with
    all weights but experts, `expert_math_s` with its experts, `move_s` reads and writes of what
    stands between the products, `token_link_s` bytes sent. Per sequence and step: `kv_read_s`
    for each token of context, `window_read_s` for each of the last `window_tokens`,
    `state_read_s` whatever the context.
    Per prompt token: `attention_math_s` and `window_math_s` for each token that it sees.
    `kernels` are launched in a pass; `hops` times a message takes `hop_s` before its first byte.
    """

    dense_read_s: Number
    expert_read_s: Number
    expert_share: Number
    token_math_s: Number
    expert_math_s: Number
    move_s: Number
    kv_read_s: Number
    window_read_s: Number
    window_tokens: Number
    state_read_s: Number
    attention_math_s: Number
    window_math_s: Number
    kernels: Number
    hops: Number
    hop_s: Number
    token_link_s: Number


class Pace(NamedTuple):
    """Shares of the roof that an engine reaches, and seconds that no roof shows.

    `read` weights, `expert_read` experts' weights, `cache_read` KV cache: of the memory's rate.
    `math` matrix products, `expert_math` those of experts, `attention_math` attention of prompts:
    of the peak. `kernel_s` one
    kernel's launch and drain, `step_s` scheduling of a step, `sequence_s` sampling and
    bookkeeping of one sequence in a step.
    """

    read: Number
    expert_read: Number
    cache_read: Number
    math: Number
    expert_math: Number
    attention_math: Number
    kernel_s: Number
    step_s: Number
    sequence_s: Number


def smaller(left: Number, right: Number) -> Number:
    """The lesser of two."""
    return (left + right - abs(left - right)) / 2


def larger(left: Number, right: Number) -> Number:
    """The greater of two."""
    return (left + right + abs(left - right)) / 2


def roof(left: Number, right: Number) -> Number:
    """Time of work that two limits hold back together: (left^3 + right^3)^(1/3).

    Written as products: a power of an array takes ten times as long.
    """
    return (left * left * left + right * right * right) ** (1 / 3)


def touched_share(share: Number, tokens: Number) -> Number:
    """Share of a layer's experts that `tokens` reach: 1 - (1 - k/E)^tokens.

    Not modelled:
        correlated routing: tokens of one text reach fewer experts than chance says.
    """
    return 1 - (1 - share) ** tokens


def matrices_s(work: Work, pace: Pace, tokens: Number) -> Number:
    """Matrix products of a pass, and the tokens' way between them.

    roof(weights read, products) + roof(experts read, their products) + tokens x moves
    """
    dense = roof(work.dense_read_s / pace.read, tokens * work.token_math_s / pace.math)
    reads = work.expert_read_s * touched_share(work.expert_share, tokens)
    experts = roof(reads / pace.expert_read, tokens * work.expert_math_s / pace.expert_math)
    return dense + experts + tokens * work.move_s / pace.read


def cache_s(work: Work, pace: Pace, context: Number) -> Number:
    """Attention of one decoded token over `context` tokens: reads of cache and state."""
    seen = smaller(context, work.window_tokens)
    reads = work.kv_read_s * context + work.window_read_s * seen + work.state_read_s
    return reads / pace.cache_read


def prompt_attention_s(work: Work, pace: Pace, before: Number, tokens: Number) -> Number:
    """Attention of `tokens` prompt tokens after `before` others: products, causal.

    A token in the middle sees before + tokens / 2.
    """
    middle = before + tokens / 2
    seen = smaller(middle, work.window_tokens)
    per_token = work.attention_math_s * middle + work.window_math_s * seen
    return tokens * per_token / pace.attention_math


def link_s(work: Work, tokens: Number) -> Number:
    """Talk between GPUs in one pass: hops x latency + bytes over the link."""
    return work.hops * work.hop_s + tokens * work.token_link_s


def decode_s(work: Work, pace: Pace, sequences: Number, context: Number) -> Number:
    """One decode step of `sequences` that hold `context` tokens each.

    step = kernels x launch + roof(weights read, products) + sequences x cache read
           + link + scheduling + sequences x sampling
    """
    fixed = work.kernels * pace.kernel_s + pace.step_s
    own = sequences * (cache_s(work, pace, context) + pace.sequence_s)
    return fixed + matrices_s(work, pace, sequences) + own + link_s(work, sequences)


def prompt_s(work: Work, pace: Pace, before: Number, tokens: Number) -> Number:
    """One pass over `tokens` of a prompt, after `before` of it, with nothing else in it."""
    fixed = work.kernels * pace.kernel_s + pace.step_s
    attention = prompt_attention_s(work, pace, before, tokens)
    return fixed + matrices_s(work, pace, tokens) + attention + link_s(work, tokens)


def added_prompt_s(
    work: Work, pace: Pace, sequences: Number, prompt: tuple[Number, Number]
) -> Number:
    """What a prompt adds to the steps of `sequences` that run meanwhile.

    `prompt` is (tokens before it, its tokens). Weights are read once for both, so this is its
    products, its attention and its bytes on the link.
    """
    before, tokens = prompt
    both = matrices_s(work, pace, sequences + tokens) - matrices_s(work, pace, sequences)
    attention = prompt_attention_s(work, pace, before, tokens)
    return both + attention + tokens * work.token_link_s
