"""A load run moves the plan's speed, says so, and counts only where it is of the plan's engine."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.bench.keep.kept_runs import written
from tests.cli.plan.worked import answer, refused

ASKED = ("--model", "Qwen/Qwen3-32B", "--weights", "fp8", "--gpu", "h100-80gb", "--gpus", "1",
         "--input-tokens", "1000", "--output-tokens", "200", "--tokens-per-s", "17")  # fmt: skip


def level(users: int, speed: float, ttft_s: float) -> dict[str, Any]:
    return {
        "users": users,
        "user_tokens_per_s": {"mean": speed},
        "tpot_s": {"mean": 1 / speed},
        "ttft_s": {"mean": ttft_s, "p95": 2 * ttft_s},
        "attainment": 1.0,
        "input_length": {"asked": 1000, "actual": 1000},
        "output_length": {"asked": 200, "actual": 200},
    }


def run(
    path: Path, model: str = "Qwen/Qwen3-32B-FP8", gpu: str = "NVIDIA H100 80GB HBM3", **more: Any
) -> str:
    """24 users had 30 tokens/s, 32 had 18."""
    conditions = {
        "targets": [{"model": model}],
        "gpus": [{"name": gpu}],
        "engines": [{"kind": "vllm"}],
    }
    told = {"levels": [level(24, 30.0, 0.6), level(32, 18.0, 1.2)], "conditions": conditions}
    file = path / "run.json"
    file.write_text(json.dumps(told | more), encoding="utf-8")
    return str(file)


def plan(capsys: pytest.CaptureFixture[str], sessions: int, *more: str) -> Any:
    return answer(capsys, *ASKED, "--sessions", str(sessions), *more)


def test_the_plan_at_the_measured_loads_is_the_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = run(tmp_path)
    for sessions, speed, ttft_s in ((24, 30.0, 0.6), (32, 18.0, 1.2)):
        told = plan(capsys, sessions, "--calibrate", file)["performance"]
        assert told["user_tokens_per_s"] == pytest.approx(speed, rel=0.01)
        assert told["ttft_s"] == pytest.approx(ttft_s, rel=0.01)
        assert told["ttft_p95_s"] == pytest.approx(2 * ttft_s, rel=0.01)


def test_loads_between_follow_and_the_sessions_that_fit_do_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = run(tmp_path)
    before, after = plan(capsys, 28), plan(capsys, 28, "--calibrate", file)
    assert 18 < after["performance"]["user_tokens_per_s"] < 30
    assert before["performance"]["user_tokens_per_s"] > 30
    assert after["placement"]["speed_sessions"] < before["placement"]["speed_sessions"]


def test_the_plan_says_what_it_rests_on_in_both_languages(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = run(tmp_path)
    english = plan(capsys, 40, "--calibrate", file)
    assert any("the speed follows" in line for line in english["assumptions"])
    assert any("measured up to 32" in line for line in english["warnings"])
    assert not any("constants" in line for line in english["warnings"])
    korean = plan(capsys, 40, "--calibrate", file, "--lang", "ko")
    assert any("측정을 따릅니다" in line for line in korean["assumptions"])
    assert any("32명까지 측정했습니다" in line for line in korean["warnings"])


@pytest.mark.parametrize(
    ("seen", "named"),
    [({"model": "Qwen/Qwen3-8B"}, "Qwen/Qwen3-8B"), ({"gpu": "NVIDIA H200"}, "NVIDIA H200")],
)
def test_a_run_of_something_else_counts_for_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, seen: dict[str, str], named: str
) -> None:
    file = run(tmp_path, **seen)
    plain, told = plan(capsys, 24), plan(capsys, 24, "--calibrate", file)
    assert told["performance"] == plain["performance"]
    assert told["status"] == "provisional"
    assert any(f"measured {named}" in line for line in told["warnings"])


def test_an_alias_is_taken_for_the_plans_model(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = plan(capsys, 24, "--calibrate", run(tmp_path, model="main", conditions={}))
    assert told["status"] == "confirmed"
    assert any("does not say its model, GPU, engine" in line for line in told["assumptions"])


def test_shorter_inputs_confirm_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = run(tmp_path)
    asked = (*ASKED, "--sessions", "24", "--calibrate", file)
    assert answer(capsys, *asked)["status"] == "confirmed"
    assert answer(capsys, *asked, "--input-tokens", "4000")["status"] == "provisional"


def test_what_the_gpus_can_promise_follows_the_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = answer(capsys, *ASKED)["contract"]["sessions"]
    after = answer(capsys, *ASKED, "--calibrate", run(tmp_path))["contract"]["sessions"]
    assert after < before


def test_a_file_that_is_no_run_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "other.run"
    file.write_bytes(b"SQLite format 3\0" + bytes(100))
    assert str(file) in refused(capsys, *ASKED, "--sessions", "2", "--calibrate", str(file))


def test_a_kept_run_is_read_as_its_document_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "kept.run"
    written(file)
    told = plan(capsys, 2, "--calibrate", str(file))
    assert any(f"{file}: 1 loads of up to 1 users" in line for line in told["assumptions"])
    assert told["status"] == "provisional"
