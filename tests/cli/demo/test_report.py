"""The demo's result as text in both languages, and as JSON with stable keys."""

import io
import json
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from proa.cli.demo.client import Answer
from proa.cli.demo.fleet import DemoFleet, gateway_spec
from proa.cli.demo.load import AddedLatency, Phase
from proa.cli.demo.report import print_report
from proa.cli.demo.result import DemoResult
from proa.cli.demo.texts import Question, load_catalogue
from proa.cli.texts import LANGUAGES
from proa.providers.local import LocalProcess


def answer(kind: str, engine: str, *, text: str = "Hi", error: str = "") -> Answer:
    question = Question(kind=kind, max_tokens=8, stream=kind != "classify", text=text)
    return Answer(question, engine=engine, text="said", first_token_s=0.1, total_s=0.5, error=error)


def phase(name: str, tokens: int, *answers: Answer) -> Phase:
    return Phase(name, answers=list(answers), tokens=tokens, began_s=1.0, ended_s=2.0)


@pytest.fixture
def result(tmp_path: Path) -> DemoResult:
    fleet = DemoFleet(
        engine_urls={"main": "http://m", "aux": "http://a"},
        gateway=LocalProcess(gateway_spec(tmp_path / "proa.toml", "http://c")),
        gateway_url="http://127.0.0.1:8080",
        control_url="http://c",
        config_path=tmp_path / "proa.toml",
        cpus={"main": 0, "aux": 1},
        model="smollm2-135m",
    )
    together = phase(
        "together",
        150,
        answer("faq", "aux", text="연차는?"),
        answer("faq", "main"),
        answer("classify", "aux"),
        answer("report", "main", error="APIError: cut"),
    )
    return DemoResult(
        fleet=fleet,
        phases=(phase("main", 100), phase("aux", 60), together),
        latency=[AddedLatency(50, 8.0, 9.5, 1.5, 3)],
        latency_errors=[],
        users=8,
        load_before=0.0,
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_report_tells_all_in_each_language(result: DemoResult, language: str) -> None:
    output = io.StringIO()
    texts = load_catalogue().texts(language)
    print_report(Console(file=output, width=120), result, texts)
    shown = output.getvalue()
    assert texts["gain"].format(gain=1.5, share=0.9375) in shown
    assert texts["why_good"] in shown
    assert "+1.50 ms" in shown
    assert texts["latency_none"].format(tokens=200) in shown
    assert "[aux] 연차는? → said" in shown
    assert "together: APIError: cut" in shown
    assert 'base_url="http://127.0.0.1:8080/v1"' in shown
    assert texts["busy"].split("(")[0] not in shown


def test_the_keys_of_the_json_are_stable(result: DemoResult) -> None:
    told = json.loads(json.dumps(result.as_json()))
    assert sorted(told) == [
        "added_latency",
        "answers",
        "cancelled",
        "cpus",
        "engines",
        "errors",
        "gain",
        "gateway_url",
        "load_average_before",
        "model",
        "share_of_sum",
        "tokens_per_s",
        "users",
    ]
    assert told["tokens_per_s"] == {"main": 100.0, "aux": 60.0, "together": 150.0}
    [faq, *_] = told["answers"]
    assert faq["by_engine"] == {"main": 1, "aux": 1}
    assert told["engines"][1] == {"name": "aux", "url": "http://a", "slots": 2, "cpu": 1}


def test_a_small_gain_is_explained_by_the_cores(
    result: DemoResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = msgspec.structs.replace(
        result, phases=(*result.phases[:2], phase("together", 100)), load_before=3.0
    )
    monkeypatch.setattr("proa.cli.demo.result.usable_cpus", lambda: 2)
    assert (slow.why, slow.machine_was_busy) == ("why_shared", True)
    monkeypatch.setattr("proa.cli.demo.result.usable_cpus", lambda: 16)
    assert (slow.why, slow.machine_was_busy) == ("why_idle", False)
