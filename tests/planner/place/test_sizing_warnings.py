import pytest

from proa.errors import FieldError
from proa.planner.place.sizing_warnings import SizingSpec, load_share, sizing_warnings


def told(**values: int | float) -> str:
    spec = SizingSpec(**values)  # type: ignore[arg-type]
    return " ".join(text.en for text in sizing_warnings(spec))


def test_eight_gpus_that_would_run_at_21_percent_are_too_many() -> None:
    text = told(sessions=24, gpus=8, max_sessions=114, smallest_gpus=2)
    assert "8 GPUs would run at 21 %" in text
    assert "2 meet the same need" in text
    assert "fine-tune someday" in text


def test_a_size_that_suits_is_not_remarked_on() -> None:
    assert told(sessions=24, gpus=2, max_sessions=30, smallest_gpus=2) == ""
    assert told(sessions=24, gpus=2, max_sessions=100, smallest_gpus=2) == ""
    assert told(sessions=24, gpus=4, max_sessions=40, smallest_gpus=2) == ""


def test_too_few_gpus_are_named_with_what_they_carry() -> None:
    text = told(sessions=24, gpus=1, max_sessions=10, smallest_gpus=3)
    assert "1 GPUs carry 10 sessions" in text


@pytest.mark.parametrize(("users", "warned"), [(1, True), (2, True), (3, False), (24, False)])
def test_a_run_with_one_or_two_users_is_no_evidence(users: int, warned: bool) -> None:
    text = told(sessions=24, gpus=2, max_sessions=30, smallest_gpus=2, evidence_users=users)
    assert (f"a run with {users} users" in text) is warned


@pytest.mark.parametrize(("sessions", "warned"), [(8, True), (24, False)])
def test_the_mean_load_is_no_design_load(sessions: int, warned: bool) -> None:
    text = told(sessions=sessions, gpus=2, max_sessions=30, smallest_gpus=2, mean_sessions=8.0)
    assert ("mean load (8)" in text) is warned


def test_a_share_of_nothing_is_refused() -> None:
    with pytest.raises(FieldError, match="max_sessions"):
        load_share(1, 0)
