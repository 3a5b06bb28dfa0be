"""The contract's clause: pass, fail or not decided, and never by a lighter load than promised."""

import pytest
from tests.bench.test_limits import SLO, visit

from proa.bench.clause import clause_rows, verdict_of_rows
from proa.bench.conditions import RunConditions
from proa.bench.process_messages import TargetLoad
from proa.bench.run import LevelVisit, RunResult, RunStart
from proa.bench.run_spec import RunSpec
from proa.bench.statistics.sequential import Verdict
from proa.bench.target import TargetSpec
from proa.domain.contract import ContractRule, ContractSpec

TARGET = TargetSpec(name="t", url="http://10.0.0.1:8000", model="Qwen/Qwen3-14B")
PROMISE = {"sessions": 24, "mean_input_tokens": 8000, "user_tokens_per_s": 30.0, "ttft_p95_s": 2.0}


def result(*visits: LevelVisit) -> RunResult:
    spec = RunSpec(targets=(TARGET,), slo=SLO)
    start = RunStart(
        spec=spec, targets=[TargetLoad(TARGET)], check=None,
        conditions=RunConditions(started_unix_s=0.0, started_monotonic_s=0.0),
    )  # fmt: skip
    return RunResult(start=start, visits=list(visits))


def verdicts(*visits: LevelVisit, **changes: object) -> dict[str, Verdict]:
    contract = ContractSpec(**(PROMISE | changes))  # type: ignore[arg-type]
    return {row.part: row.verdict for row in clause_rows(contract, result(*visits))}


def test_the_promised_load_decides() -> None:
    fast = verdicts(visit(24, 0.02))
    assert fast["sessions"] is Verdict.PASS
    assert (fast["user_tokens_per_s"], fast["ttft_s"]) == (Verdict.PASS, Verdict.PASS)
    assert fast["together"] is Verdict.PASS
    slow = verdicts(visit(24, 0.05))
    assert (slow["user_tokens_per_s"], slow["ttft_s"]) == (Verdict.FAIL, Verdict.PASS)
    assert slow["together"] is Verdict.FAIL


def test_a_lighter_load_passes_nothing_and_may_fail_all() -> None:
    assert verdicts(visit(8, 0.02))["user_tokens_per_s"] is Verdict.OPEN
    assert verdicts(visit(8, 0.02))["sessions"] is Verdict.OPEN
    assert verdicts(visit(8, 0.05))["user_tokens_per_s"] is Verdict.FAIL


def test_a_heavier_load_fails_nothing_and_may_pass_all() -> None:
    assert verdicts(visit(48, 0.05))["user_tokens_per_s"] is Verdict.OPEN
    assert verdicts(visit(48, 0.02))["user_tokens_per_s"] is Verdict.PASS


def test_lighter_prompts_than_promised_decide_nothing() -> None:
    rows = verdicts(visit(24, 0.02))
    assert rows["input_tokens"] is Verdict.OPEN  # the samples do not tell their length


def test_a_bad_client_decides_nothing() -> None:
    rows = verdicts(visit(24, 0.02, delay_s=0.5))
    assert rows["client"] is Verdict.OPEN
    assert rows["user_tokens_per_s"] is Verdict.OPEN


def test_a_mean_rule_compares_means() -> None:
    assert verdicts(visit(24, 0.02), rule=ContractRule.MEAN)["user_tokens_per_s"] is Verdict.PASS
    assert verdicts(visit(24, 0.05), rule=ContractRule.MEAN)["user_tokens_per_s"] is Verdict.FAIL


@pytest.mark.parametrize(
    ("model", "verdict"), [("qwen3-14b", Verdict.PASS), ("qwen3-8b", Verdict.OPEN)]
)
def test_another_model_decides_nothing(model: str, verdict: Verdict) -> None:
    assert verdicts(visit(24, 0.02), model=model)["model"] is verdict


def test_one_part_fails_all_and_one_open_part_leaves_it_open() -> None:
    contract = ContractSpec(**PROMISE)  # type: ignore[arg-type]
    assert verdict_of_rows(clause_rows(contract, result(visit(24, 0.05)))) is Verdict.FAIL
    assert verdict_of_rows(clause_rows(contract, result(visit(24, 0.02)))) is Verdict.OPEN
    assert verdict_of_rows(clause_rows(contract, result())) is Verdict.OPEN
