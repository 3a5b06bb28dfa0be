import pytest

from proa.errors import FieldError
from proa.planner.place.need import NeedSpec


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sessions", 0),
        ("input_tokens", 0),
        ("output_tokens", -1),
        ("user_tokens_per_s", 0.0),
        ("ttft_p95_s", float("nan")),
    ],
)
def test_what_nobody_can_need_is_refused_by_its_name(field: str, value: float) -> None:
    values = {"sessions": 1, "input_tokens": 1, "output_tokens": 1, field: value}
    with pytest.raises(FieldError) as refused:
        NeedSpec(**values)  # type: ignore[arg-type]
    assert refused.value.field == field


def test_a_context_is_input_and_output() -> None:
    assert NeedSpec(sessions=1, input_tokens=7692, output_tokens=500).context_tokens == 8192
