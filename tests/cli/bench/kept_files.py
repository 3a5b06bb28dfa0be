"""What holds for every kept file: its report in all forms, and that each number is found again."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from proa.cli.main import main


def checked(
    file: Path, told: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> list[dict[str, str]]:
    """Verify what `--format json` told and pages in both languages; returns the raw rows."""
    document = file.with_suffix(".json")
    document.write_text(json.dumps(told), encoding="utf-8")
    assert main(["bench", "verify", str(document), str(file)]) == 0
    told["verdict"] = "forged"
    document.write_text(json.dumps(told), encoding="utf-8")
    assert main(["bench", "verify", str(document), str(file)]) == 4
    for language in ("ko", "en"):
        page = file.with_name(f"{language}.html")
        assert main(["bench", "report", str(file), "--lang", language, "--out", str(page)]) == 0
        assert main(["bench", "verify", str(page), str(file)]) == 0
    capsys.readouterr()
    assert main(["bench", "report", str(file), "--format", "csv", "--table", "requests"]) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
