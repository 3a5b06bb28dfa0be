"""Nothing here is collected unless the engines are named: `make test-engines` does it.

What the tests measured is told at the end of the run.
"""

from pathlib import Path

import pytest

SEEN = pytest.StashKey[dict[str, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--engines", type=Path, help="directory of vllm, sglang and models")


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return True if config.getoption("--engines", default=None) is None else None


@pytest.fixture(scope="session")
def engines(pytestconfig: pytest.Config) -> Path:
    """The directory that `make test-engines` filled."""
    directory: Path = pytestconfig.getoption("--engines")
    return directory.resolve()


@pytest.fixture(scope="session")
def seen(pytestconfig: pytest.Config) -> dict[str, str]:
    """What was seen, by name, for the end of the run."""
    return pytestconfig.stash.setdefault(SEEN, {})


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if SEEN in config.stash:
        terminalreporter.section("what was seen")
        for name, value in config.stash[SEEN].items():
            terminalreporter.write_line(f"{name}: {value}")
