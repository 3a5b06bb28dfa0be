"""The bench run that would confirm a plan."""

import math
import shlex
from fractions import Fraction

from proa.domain.contract import ContractSpec

_BELOW = (0.5, 0.75, 1.0)
_ABOVE = Fraction(5, 4)


def verify_levels(contract: ContractSpec) -> tuple[int, ...]:
    """Users at once to measure at: around the promise, up to where resources are to be added."""
    levels = {max(1, round(contract.sessions * share)) for share in _BELOW}
    levels.add(math.ceil(contract.sessions * _ABOVE))
    if contract.extend_above is not None and contract.extend_above.sessions is not None:
        levels.add(contract.extend_above.sessions)
    return tuple(sorted(levels))


def verify_slo(contract: ContractSpec) -> str:
    """The promise as `proa bench run --slo` takes it."""
    limits = [f"user_tokens_per_s>={contract.user_tokens_per_s:g}"]
    if contract.ttft_p95_s is not None:
        limits.append(f"ttft_s<={contract.ttft_p95_s:g}")
    return ",".join(limits)


def verify_command(contract: ContractSpec, url: str = "URL") -> str:
    """`proa bench run …` with levels around the promise, its input and output, and the SLO."""
    words = ["proa", "bench", "run", url]
    if contract.model:
        words += ["--model", contract.model]
    words += ["--levels", ",".join(map(str, verify_levels(contract)))]
    words += ["--input-tokens", str(contract.mean_input_tokens)]
    if contract.output_tokens is not None:
        words += ["--output-tokens", str(contract.output_tokens)]
    words += ["--slo", verify_slo(contract)]
    return " ".join(map(shlex.quote, words))
