"""The worked example that tests of `proa plan` share: 3,000 users and a model of 30 billion."""

import json
from typing import Any

import pytest

from proa.cli.main import main

USERS = {
    "users": 3000,
    "active_share": 0.3,
    "queries_per_user": 8,
    "peak_hour_share": 0.2,
    "seconds_per_request": 20,
    "burst_factor": 3,
    "tokens_per_s": 30,
}
MODEL = {
    "params": "30B",
    "layers": 48,
    "kv_heads": 8,
    "head_dim": 128,
    "context": "32K",
    "output_tokens": 768,
}
PLACED = {"sessions": 24, "model": "Qwen/Qwen3-8B", "gpu": "h100-80gb", "context": "8K"}


def flags(keys: dict[str, Any]) -> list[str]:
    """The same question as flags."""
    told = []
    for key, value in keys.items():
        flag = "--" + key.replace("_", "-")
        told += [flag] if value is True else [flag, str(value)]
    return told


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, form: str = "json") -> Any:
    """What `proa plan` prints; a document where it is JSON."""
    capsys.readouterr()
    assert main(["plan", *arguments, "--format", form, *_language(arguments)]) == 0
    told = capsys.readouterr().out
    return json.loads(told) if form == "json" else told


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that a wrong question is answered with; its exit code is 2."""
    capsys.readouterr()
    assert main(["plan", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


def _language(arguments: tuple[str, ...]) -> list[str]:
    return [] if "--lang" in arguments else ["--lang", "en"]
