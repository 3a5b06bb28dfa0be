"""The promise as a table; that it is read back is in tests/config/test_contract.py."""

import tomllib

from proa.domain.contract import ContractLimits, ContractSpec
from proa.planner.promise.contract_toml import contract_toml


def test_the_table_has_the_keys_in_order_and_leaves_out_what_is_not_said() -> None:
    text = contract_toml(
        ContractSpec(
            sessions=24,
            mean_input_tokens=8000,
            user_tokens_per_s=30.0,
            ttft_p95_s=1.5,
            model='a "b"\\한글',
            extend_above=ContractLimits(sessions=40),
        )
    )
    assert text == (
        "[contract]\nsessions = 24\nmean_input_tokens = 8000\nuser_tokens_per_s = 30\n"
        'ttft_p95_s = 1.5\nrule = "per_request"\nattainment = 0.95\n'
        'model = "a \\"b\\"\\\\한글"\nextend_above = { sessions = 40 }\n'
    )
    assert tomllib.loads(text)["contract"]["model"] == 'a "b"\\한글'


def test_limits_that_limit_nothing_are_left_out() -> None:
    contract = ContractSpec(
        sessions=1, mean_input_tokens=1, user_tokens_per_s=1, extend_above=ContractLimits()
    )
    assert "extend_above" not in contract_toml(contract)
