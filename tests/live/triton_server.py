"""A real Triton: the server in the package nvidia-pytriton, with the models beside this file."""

import os
import sys
import sysconfig
from pathlib import Path

from proa.providers.local import LocalProcess, LocalProcessSpec

MODELS = Path(__file__).with_name("triton_models")
ENVIRONMENT = Path(sys.prefix, "triton")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SITE = ENVIRONMENT / "lib" / f"python{PYTHON}" / "site-packages"
TRITON = SITE / "pytriton" / "tritonserver"
STUB = TRITON / "python_backend_stubs" / PYTHON / "triton_python_backend_stub"


def missing() -> str:
    """What keeps Triton from running its models under this Python; empty when nothing does."""
    if sys.version_info >= (3, 13):
        return "Triton's Python backend needs numpy 1, which Python 3.13 lacks"
    if not STUB.is_file() or not (SITE / "numpy").is_dir():
        return f"needs requirements/triton.txt in {ENVIRONMENT.name}/ of the environment"
    return "" if _libpython() else "Triton's Python backend needs a shared libpython"


def make_backends(directory: Path) -> None:
    """A backend directory with the stub for this Python, which the package keeps elsewhere."""
    backend = directory / "python"
    backend.mkdir(parents=True)
    for file in (*(TRITON / "backends" / "python").iterdir(), STUB):
        if file.is_file():
            (backend / file.name).symlink_to(file)


def triton(name: str, *, port: int, metrics_port: int, directory: Path) -> LocalProcess:
    """A server; its models' log lines are in `directory/name.log`.

    The stub that runs a model takes its packages from the first `python3` of the PATH.
    """
    libpython = _libpython()
    assert libpython is not None
    variables = (
        f"PATH={ENVIRONMENT / 'bin'}:{os.environ['PATH']}",
        f"LD_LIBRARY_PATH={libpython}",
    )
    options = (
        f"--model-repository={MODELS}",
        f"--backend-directory={directory / 'backends'}",
        f"--backend-config=python,shm-region-prefix-name={shared_memory(name)}",
        "--http-address=127.0.0.1",
        f"--http-port={port}",
        "--allow-grpc=false",
        "--metrics-address=127.0.0.1",
        f"--metrics-port={metrics_port}",
        "--metrics-interval-ms=100",
        "--metrics-config=summary_latencies=true",
        "--allow-gpu-metrics=false",
        "--exit-timeout-secs=1",
    )
    return LocalProcess(
        LocalProcessSpec(
            name=name,
            command=("env", *variables, str(TRITON / "bin" / "tritonserver"), *options),
            log_path=directory / f"{name}.log",
            ready_url=f"http://127.0.0.1:{port}/v2/health/ready",
        )
    )


def remove_shared_memory(name: str) -> None:
    """What a killed server leaves behind."""
    for file in Path("/dev/shm").glob(f"{shared_memory(name)}*"):
        file.unlink(missing_ok=True)


def shared_memory(name: str) -> str:
    return f"proa_test_{os.getpid()}_{name}_"


def _libpython() -> str | None:
    """The directory of the shared library of this Python."""
    library = sysconfig.get_config_var("INSTSONAME") or ""
    where = sysconfig.get_config_var("LIBDIR") or ""
    directories = (where, str(Path(where, sysconfig.get_config_var("MULTIARCH") or "")))
    found = (d for d in directories if ".so" in library and Path(d, library).is_file())
    return next(found, None)
