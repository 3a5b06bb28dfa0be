"""The comparison of batching and KV layouts, in virtual time."""

import json

import pytest
from benchmarks import batching

from proa.config.profile_file import load_profile


def test_the_mix_is_the_same_in_every_run_and_within_its_bounds() -> None:
    specs = batching.mix(200)
    assert specs == batching.mix(200)
    prompts, outputs = [s.prompt_tokens for s in specs], [s.output_tokens for s in specs]
    assert min(prompts) >= 20
    assert max(prompts) <= 1000
    assert min(outputs) >= 30
    assert max(outputs) <= 1000


def test_continuous_and_paged_gain_two_to_four_times() -> None:
    runs = batching.compare(load_profile("rtx-5060-ti-8b", {}), batching.mix(200))
    assert [(run.batching, run.kv) for run in runs] == [
        ("static", "contiguous"),
        ("static", "paged"),
        ("continuous", "contiguous"),
        ("continuous", "paged"),
    ]
    ratios = [run.ratio for run in runs]
    assert ratios[0] == 1.0
    assert ratios == sorted(ratios)
    assert 2.0 <= ratios[3] <= 4.0
    assert runs[1].mean_running > runs[0].mean_running


def test_the_result_says_that_it_is_emulated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["batching", "--requests", "30", "--format", "json"])
    batching.main()
    told = json.loads(capsys.readouterr().out)
    assert told["emulated"] is True
    assert len(told["runs"]) == 4
    monkeypatch.setattr("sys.argv", ["batching", "--requests", "30"])
    batching.main()
    assert capsys.readouterr().out.startswith("emulated: rtx-5060-ti-8b")
