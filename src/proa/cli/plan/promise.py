"""What may be promised: the contract, its wording, and the run that would confirm it."""

import math
from typing import Any

import msgspec

from proa.cli.plan.asked import PlanAsked
from proa.cli.plan.lengths import Lengths
from proa.cli.plan.place import Seat
from proa.cli.plan.subject import Subject
from proa.cli.plan.texts import both
from proa.domain.contract import ContractLimits, ContractRule, ContractSpec
from proa.planner.assumptions import Assumption
from proa.planner.promise.clause import clause, suggested_limits
from proa.planner.promise.contract_toml import contract_toml
from proa.planner.promise.verify import verify_command

Json = dict[str, Any]
_MARGIN = 1.2
_STEPS = ((1.0, 0.1), (5.0, 0.5), (math.inf, 1.0))
_ATTAINMENT = 0.95


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """The contract of a plan, and what of it nobody had said."""

    contract: ContractSpec
    assumptions: tuple[Assumption, ...] = ()


def promise_of(
    asked: PlanAsked,
    lengths: Lengths,
    load: tuple[int, float],
    subject: Subject | None,
    seat: Seat | None,
) -> Promise:
    """The promise for a `load` of (sessions, tokens/s for each).

    A time to first token that nobody asked for is the one that the placement reaches, with a
    fifth more and rounded up; without a placement none is promised.

    Raises:
        FieldError: an `extend_above` limit lies below what is promised.
    """
    sessions, tokens_per_s = load
    ttft_s = asked.ttft_p95_s
    assumed: tuple[Assumption, ...] = ()
    if ttft_s is None and seat is not None and seat.plan is not None:
        ttft_s = rounded_up(seat.plan.performance.ttft_p95_s * _MARGIN)
        text = both("assumed_ttft").fill(value=f"{ttft_s:g}")
        assumed = (Assumption(field="ttft_p95_s", value=ttft_s, text=text),)
    contract = ContractSpec(
        sessions=sessions,
        mean_input_tokens=lengths.input_tokens,
        user_tokens_per_s=tokens_per_s,
        output_tokens=lengths.output_tokens,
        ttft_p95_s=ttft_s,
        rule=ContractRule(asked.rule or ContractRule.PER_REQUEST),
        attainment=asked.attainment or _ATTAINMENT,
        model=None if subject is None else subject.llm.id,
        weights=None if subject is None else subject.weights,
        kv_dtype=None if subject is None else subject.kv,
        extend_above=_limits(asked, sessions, lengths.input_tokens),
    )
    return Promise(contract=contract, assumptions=assumed)


def promise_document(promise: Promise | None) -> Json:
    """Clause in both languages, the `[contract]` table, and the command that confirms it."""
    if promise is None:
        return {"clause": None, "contract": None, "contract_toml": None, "verify_command": None}
    wording = clause(promise.contract)
    return {
        "clause": {"ko": wording.ko, "en": wording.en},
        "contract": msgspec.to_builtins(promise.contract),
        "contract_toml": contract_toml(promise.contract),
        "verify_command": verify_command(promise.contract),
    }


def rounded_up(seconds: float) -> float:
    """A time as a contract would name it: 0.4, 1.5, 12."""
    step = next(step for below, step in _STEPS if seconds <= below)
    return round(math.ceil(seconds / step - 1e-9) * step, 1)


def _limits(asked: PlanAsked, sessions: int, input_tokens: int) -> ContractLimits:
    usual = suggested_limits(sessions, input_tokens)
    return ContractLimits(
        sessions=asked.extend_above_sessions or usual.sessions,
        mean_input_tokens=asked.extend_above_input_tokens or usual.mean_input_tokens,
    )
