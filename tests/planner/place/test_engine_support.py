import msgspec
import pytest
from tests.planner.placed_models import H100, QWEN3_8B

from proa.cli.plan import fields as plan_fields
from proa.planner.fit import fit
from proa.planner.memory.kv_cache import KvDtype
from proa.planner.memory.weights import with_precision
from proa.planner.place.engine_advice import EngineNeedSpec, advise_engine
from proa.planner.place.engine_support import runs_cache, runs_on, runs_weights
from proa.planner.speed.efficiency import MEASURED_ENGINES

AMPERE = msgspec.structs.replace(H100, id="a100-80gb", flops={"bf16": 312e12, "int8": 624e12})
BLACKWELL = msgspec.structs.replace(H100, id="b200-180gb", flops={"bf16": 1.0, "fp4": 4.0})
APPLE = msgspec.structs.replace(H100, id="m3-ultra-512gb", vendor="apple")


@pytest.mark.parametrize(
    ("engine", "runs"),
    [("vllm", False), ("sglang", False), ("tensorrt-llm", False), ("llamacpp", True)],
)
def test_apple_chips_have_llama_cpp_only(engine: str, runs: bool) -> None:
    assert runs_on(engine, APPLE) is runs
    assert runs_on(engine, H100)


def test_an_engine_that_nobody_knows_runs_nowhere() -> None:
    assert not runs_on("unheard-of", H100)


@pytest.mark.parametrize(
    ("precision", "ampere", "blackwell", "llamacpp"),
    [
        ("bf16", True, True, True),
        ("fp8", True, True, False),
        ("int8", True, True, True),
        ("int4", True, True, True),
        ("nvfp4", False, True, False),
    ],
)
def test_weights_run_unpacked_but_for_four_bit_floats(
    precision: str, ampere: bool, blackwell: bool, llamacpp: bool
) -> None:
    llm = with_precision(QWEN3_8B, precision)
    assert runs_weights("vllm", AMPERE, llm) is ampere
    assert runs_weights("vllm", BLACKWELL, llm) is blackwell
    assert runs_weights("llamacpp", AMPERE, llm) is llamacpp


def test_a_small_cache_wants_the_hardware_for_it() -> None:
    assert [runs_cache("vllm", AMPERE, each) for each in (KvDtype.AUTO, KvDtype.FP8)] == [
        True,
        False,
    ]
    assert runs_cache("vllm", H100, KvDtype.FP8)
    assert runs_cache("vllm", BLACKWELL, KvDtype.NVFP4)
    assert not runs_cache("llamacpp", H100, KvDtype.FP8)


def test_engines_have_the_same_names_everywhere() -> None:
    """Flags, memory profiles, chips, measured speeds and advice mean the same five engines."""
    known = set(fit.ENGINES)
    assert set(plan_fields.ENGINES) == known
    assert {name for name in known if runs_on(name, H100)} == known
    assert set(MEASURED_ENGINES) <= known
    for gpu in (H100, APPLE, None):
        for yes in (False, True):
            need = EngineNeedSpec(
                sessions=2,
                gpu=gpu,
                shared_prefix_share=float(yes),
                structured_output=yes,
                other_frameworks=yes,
                hugging_face_api=yes,
            )
            advice = advise_engine(need)
            assert {advice.engine, *(each.engine for each in advice.alternatives)} <= known
