"""The pages on the catalogue: tables as the data have them, samples that are accepted."""

import re
import tomllib
from pathlib import Path

import pytest
from tests.catalog import doc_tables

from proa.catalog.gpus import find_gpu
from proa.catalog.user_gpus import KEYS as GPU_KEYS
from proa.catalog.user_models import KEYS as MODEL_KEYS
from proa.catalog.user_rows import catalogue_from_toml

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = pytest.mark.parametrize("page", ["catalogue.md", "catalogue.ko.md"])


def test_the_rows_are_those_of_the_data() -> None:
    written = doc_tables.PAGE.read_text(encoding="utf-8")
    assert written == doc_tables.page(), "write them anew: python tests/catalog/doc_tables.py"


@PAGES
def test_the_sample_is_accepted(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    sample = text.split("```toml\n", 1)[1].split("```", 1)[0]
    own = catalogue_from_toml(tomllib.loads(sample), file=page)
    assert own.find_gpu("ours").tdp_w == 300
    assert own.find_model("support-14b-awq").quantization is not None
    assert own.find_model("team/small").layer_count == 16


@PAGES
def test_every_key_is_told(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    told = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.+?) \|", text, re.MULTILINE))))
    assert {*GPU_KEYS, *MODEL_KEYS} - told == set()


@PAGES
def test_names_are_found_as_told(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+`) \| `([a-z0-9-]+gb)` \|$", text, re.MULTILINE)
    assert len(rows) == 4
    for written, found in rows:
        for name in re.findall(r"`(.+?)`", written):
            assert find_gpu(name).id == found
