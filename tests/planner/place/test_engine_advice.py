from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planner.placed_models import H100, RTX_4090

from proa.errors import FieldError
from proa.planner.place.engine_advice import MAKERS_OWN, EngineNeedSpec, advise_engine

APPLE = msgspec.structs.replace(H100, id="m3-ultra-512gb", vendor="Apple")
NPU = msgspec.structs.replace(H100, id="rngd-48gb", vendor="FuriosaAI")


@pytest.mark.parametrize(
    ("need", "engine"),
    [
        ({"sessions": 24, "gpu": H100}, "vllm"),
        ({"sessions": 24, "gpu": H100, "shared_prefix_share": 0.6}, "sglang"),
        ({"sessions": 24, "gpu": H100, "structured_output": True}, "sglang"),
        ({"sessions": 24, "gpu": H100, "other_frameworks": True}, "tensorrt-llm"),
        ({"sessions": 2, "gpu": RTX_4090}, "llamacpp"),
        ({"sessions": 2, "gpu": H100}, "vllm"),
        ({"sessions": 24, "gpu": None}, "llamacpp"),
        ({"sessions": 24, "gpu": APPLE}, "llamacpp"),
        ({"sessions": 24, "gpu": NPU}, MAKERS_OWN),
        ({"sessions": 24, "gpu": H100, "hugging_face_api": True}, "vllm"),
    ],
)
def test_each_rule_names_its_engine(need: dict[str, Any], engine: str) -> None:
    advice = advise_engine(EngineNeedSpec(**need))
    assert advice.engine == engine
    assert advice.reasons


def test_tgi_is_named_with_its_maintenance_and_never_first() -> None:
    need = EngineNeedSpec(sessions=24, gpu=H100, hugging_face_api=True)
    (tgi,) = advise_engine(need).alternatives
    assert tgi.engine == "tgi"
    assert "maintenance" in tgi.text.en
    assert "유지 보수" in tgi.text.ko


@given(
    sessions=st.integers(1, 10**6),
    gpu=st.sampled_from([None, H100, RTX_4090, APPLE, NPU]),
    share=st.floats(0, 1),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
@settings(max_examples=30)
def test_there_is_always_one_engine_with_filled_texts(
    sessions: int, gpu: Any, share: float, flags: tuple[bool, bool, bool]
) -> None:
    need = EngineNeedSpec(
        sessions=sessions,
        gpu=gpu,
        shared_prefix_share=share,
        structured_output=flags[0],
        other_frameworks=flags[1],
        hugging_face_api=flags[2],
    )
    advice = advise_engine(need)
    assert {reason.engine for reason in advice.reasons} == {advice.engine}
    assert advice.engine not in {reason.engine for reason in advice.alternatives}
    for reason in (*advice.reasons, *advice.alternatives):
        assert "{" not in reason.text.ko + reason.text.en


@pytest.mark.parametrize("wrong", [{"sessions": 0}, {"sessions": 1, "shared_prefix_share": 1.1}])
def test_what_no_engine_can_be_chosen_by_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(FieldError):
        advise_engine(EngineNeedSpec(gpu=H100, **wrong))
