"""What was promised to users of a service: the `[contract]` table of proa.toml."""

from enum import StrEnum

import msgspec


class ContractRule(StrEnum):
    """What `attainment` is a share of, or that a mean is compared.

    `per_request`: so many of the requests keep every limit, failed ones counted as not keeping.
    `mean`: the mean over all requests keeps them.
    """

    PER_REQUEST = "per_request"
    MEAN = "mean"


class ContractLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Beyond which load the promise does not hold and resources are agreed anew; None: no limit."""

    sessions: int | None = None
    mean_input_tokens: int | None = None


class ContractSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A promise: under which load, how fast, and how that is judged.

    While at most `sessions` run at once, with `mean_input_tokens` of input in the mean, each
    user gets `user_tokens_per_s` = (output tokens - 1) / (last content - first content) and
    95 % of requests their first content within `ttft_p95_s`. None is not promised or not said.
    """

    sessions: int
    mean_input_tokens: int
    user_tokens_per_s: float
    output_tokens: int | None = None
    ttft_p95_s: float | None = None
    rule: ContractRule = ContractRule.PER_REQUEST
    attainment: float = 0.95
    model: str | None = None
    weights: str | None = None
    kv_dtype: str | None = None
    extend_above: ContractLimits | None = None
