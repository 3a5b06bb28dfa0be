"""Rules of the house that a machine can check: imports, signs, locks, what tracked files name."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import proa

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "proa"
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
SIGNS = sorted(SOURCE.rglob("__init__.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HEAVY = {
    "asyncio",
    "httptools",
    "httpx",
    "msgspec",
    "openai",
    "prometheus_client",
    "pydantic",
    "rich",
    "starlette",
    "uvicorn",
    "uvloop",
    "xllamacpp",
    "zmq",
}
# Spelled in pieces, so that this file does not name what it forbids.
REGISTRY_HOSTS = tuple(
    "".join(parts).encode()
    for parts in (
        ("py", "pi", ".org"),
        ("python", "hosted", ".org"),
        ("deb.", "debian", ".org"),
        ("registry.", "npm", "js.org"),
    )
)
HOME_DIRECTORY = re.compile(rb"/(?:home|root|Users)/[A-Za-z0-9_.-]")


def tracked_files() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    paths = [ROOT / name for name in listing.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def test_imports_run_one_way() -> None:
    lint_imports = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run(
        [lint_imports, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys; sys.argv = ['proa', '--help']\n"
        "from proa.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT / "src",
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "serve" in ran.stdout
    assert HEAVY & set(ran.stderr.split()) == set()


@pytest.mark.parametrize("sign", SIGNS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_each_room_opens_with_a_sign_and_nothing_else(sign: Path) -> None:
    tree = ast.parse(sign.read_text(encoding="utf-8"))
    text = ast.get_docstring(tree)
    assert text is not None
    assert 2 <= len(text.splitlines()) <= 6
    assert len(tree.body) == (2 if sign.parent == SOURCE else 1)


def test_each_room_has_a_sign() -> None:
    rooms = {path.parent for path in SOURCE.rglob("*.py")}
    assert {room for room in rooms if not (room / "__init__.py").exists()} == set()


def test_no_tracked_file_names_a_registry_or_a_path_of_one_machine() -> None:
    checkout = str(ROOT).encode() if len(ROOT.parts) > 2 else None
    for path in tracked_files():
        content = path.read_bytes()
        assert not [host for host in REGISTRY_HOSTS if host in content], path
        assert checkout is None or checkout not in content, path
        assert not HOME_DIRECTORY.search(content), path


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_locked_package_has_one_version_and_hashes(lock: Path) -> None:
    entries = lock.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    assert entries
    for entry in entries:
        assert re.match(r"[a-z0-9._-]+==[^ ]+ ", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry
        assert "://" not in entry


def test_locks_hold_every_package_that_the_project_asks_for() -> None:
    extras = PROJECT["optional-dependencies"]
    asked = {
        "base": PROJECT["dependencies"],
        "demo": PROJECT["dependencies"] + extras["demo"],
        "test": PROJECT["dependencies"] + extras["demo"] + extras["test"],
    }
    pins: dict[str, set[str]] = {
        name: set(re.findall(r"^([a-z0-9._-]+==[^ ]+)", lock_text(name), re.MULTILINE))
        for name in asked
    }
    for name, requirements in asked.items():
        names = {re.split(r"[<>=!~\[; ]", requirement)[0] for requirement in requirements}
        assert names - {pin.split("==")[0] for pin in pins[name]} == set()
    assert pins["base"] <= pins["demo"] <= pins["test"]


def lock_text(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["README.md", "README.ko.md"])
def test_the_readme_opens_with_the_two_commands(name: str) -> None:
    opening = (ROOT / name).read_text(encoding="utf-8")[:1500]
    assert "make demo" in opening
    assert "make test" in opening


def test_the_changelog_knows_this_version_or_has_unreleased_changes() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in changelog or f"## [{proa.__version__}]" in changelog
