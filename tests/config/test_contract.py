"""The promise in proa.toml and in a file of its own: read whole, refused with its key and line."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.config import tables
from proa.config.contract import read_contract
from proa.config.faults import ConfigFaults
from proa.config.load import load
from proa.domain.contract import ContractLimits, ContractRule, ContractSpec
from proa.planner.promise.contract_toml import contract_toml

ENGINE = "[[engines]]\nname = 'main'\nurl = 'http://h:8000'\n"
# The example of the design of proa.
WHOLE = """[contract]
sessions = 24
mean_input_tokens = 8000
output_tokens = 500
user_tokens_per_s = 30
ttft_p95_s = 2.0
rule = "per_request"
attainment = 0.95
model = "qwen3-14b"
weights = "fp8"
kv_dtype = "fp8"
extend_above = { sessions = 40, mean_input_tokens = 16000 }
"""
NEEDED = "[contract]\nsessions = 24\nmean_input_tokens = 8000\nuser_tokens_per_s = 30\n"


def written(directory: Path, text: str) -> Path:
    file = directory / "proa.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_whole_table_is_read_from_proa_toml_and_alone(tmp_path: Path) -> None:
    promised = ContractSpec(
        sessions=24,
        mean_input_tokens=8000,
        output_tokens=500,
        user_tokens_per_s=30,
        ttft_p95_s=2.0,
        model="qwen3-14b",
        weights="fp8",
        kv_dtype="fp8",
        extend_above=ContractLimits(sessions=40, mean_input_tokens=16000),
    )
    assert read_contract(written(tmp_path, WHOLE)) == promised
    assert load(written(tmp_path, ENGINE + WHOLE), environ={}).contract == promised


def test_what_is_not_said_has_the_default_of_the_promise(tmp_path: Path) -> None:
    read = read_contract(written(tmp_path, NEEDED))
    assert read == ContractSpec(sessions=24, mean_input_tokens=8000, user_tokens_per_s=30)
    assert (read.rule, read.attainment) == (ContractRule.PER_REQUEST, 0.95)


def test_without_the_table_nothing_is_promised(tmp_path: Path) -> None:
    file = written(tmp_path, ENGINE)
    assert load(file, environ={}).contract is None
    with pytest.raises(ConfigFaults, match="contract is missing: it is needed"):
        read_contract(file)


def test_a_fault_elsewhere_in_the_file_is_none_of_the_promise(tmp_path: Path) -> None:
    assert read_contract(written(tmp_path, "[gateway]\nlisten = 3\n" + NEEDED)).sessions == 24


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[contract]\n", "contract.sessions is missing: [contract] needs it"),
        (NEEDED + "attainment = 1.5\n", "attainment = 1.5: accepted is a number up to 1"),
        (NEEDED + "attainment = 0\n", "attainment = 0: accepted is a number greater than 0"),
        (NEEDED + "rule = 'p99'\n", "rule = \"p99\": accepted is one of 'per_request' or 'mean'"),
        (NEEDED + "ttft_s = 2\n", 'contract.ttft_s is not a known key: did you mean "ttft_p95_s"?'),
        (NEEDED.replace("24", "0"), "contract.sessions = 0: accepted is a number from 1"),
        (NEEDED.replace("30", "'30'"), 'user_tokens_per_s = "30": accepted is a number'),
        (
            NEEDED + "extend_above = { sessions = 20 }\n",
            "contract.extend_above.sessions = 20: at least sessions, 24",
        ),
        (
            NEEDED + "[contract.extend_above]\nmean_input_tokens = 10\n",
            "contract.extend_above.mean_input_tokens = 10: at least mean_input_tokens, 8000",
        ),
        (NEEDED + "extend_above = { users = 3 }\n", "contract.extend_above.users is not a known"),
    ],
)
def test_a_wrong_table_is_refused_alike_by_both_readers(
    tmp_path: Path, text: str, told: str
) -> None:
    file = written(tmp_path, ENGINE + text)
    with pytest.raises(ConfigFaults) as alone:
        read_contract(file)
    assert told in str(alone.value)
    with pytest.raises(ConfigFaults) as whole:
        load(file, environ={})
    assert str(whole.value) == str(alone.value)


def test_the_table_has_the_keys_of_the_promise() -> None:
    for table, spec in (
        (tables.ContractTable, ContractSpec),
        (tables.ContractLimitsTable, ContractLimits),
    ):
        assert set(table.model_fields) == {field.name for field in msgspec.structs.fields(spec)}


COUNTS = st.integers(1, 1000)
PROMISES = st.builds(
    ContractSpec,
    sessions=COUNTS,
    mean_input_tokens=COUNTS,
    user_tokens_per_s=st.floats(1e-3, 1e6),
    output_tokens=st.none() | COUNTS,
    ttft_p95_s=st.none() | st.floats(1e-3, 1000),
    rule=st.sampled_from(ContractRule),
    attainment=st.floats(1e-3, 1),
    model=st.none() | st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1),
    weights=st.none() | st.sampled_from(["fp8", "q4_k_m"]),
    kv_dtype=st.none() | st.just("fp8"),
    extend_above=st.none()
    | st.builds(
        ContractLimits,
        sessions=st.none() | st.integers(1000, 2000),
        mean_input_tokens=st.integers(1000, 2000),
    ),
)


@given(
    promise=PROMISES.filter(
        lambda p: p.model is None or (p.model.strip() and p.model.isprintable())
    )
)
def test_what_the_planner_writes_is_read_back(
    promise: ContractSpec, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.getbasetemp() / "contract.toml"
    file.write_text(contract_toml(promise), encoding="utf-8")
    assert read_contract(file) == promise
