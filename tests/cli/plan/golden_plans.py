"""Writes the worked example anew: `python -m tests.cli.plan.golden_plans`; look what differs."""

import sys
from pathlib import Path

from tests.cli.plan.worked import MODEL, USERS

from proa.cli.plan.command import told
from proa.cli.plan.input import asked_from_keys


def write(directory: Path) -> None:
    """Text and document in both languages."""
    asked = asked_from_keys(USERS | MODEL)
    for language in ("ko", "en"):
        for form, ending in (("text", "txt"), ("json", "json")):
            file = directory / f"plan_{language}.{ending}"
            file.write_text(told(asked, form, language), encoding="utf-8")


if __name__ == "__main__":
    write(Path(__file__).with_name("data"))
    sys.exit(0)
