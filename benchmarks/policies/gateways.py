"""What stands before a pair: proa, nginx, or a router from an environment of one's own."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.policies.pairs import PairSpec
from benchmarks.policies.virtual import VirtualEngineSpec
from benchmarks.processes import pinned
from benchmarks.subjects import (
    GATEWAY_CPU,
    LOAD_CPU,
    NGINX_CONF,
    StartError,
    await_port,
    free_port,
    nginx_program,
    port_in,
)

MODEL = "Qwen/Qwen3-8B"
_PROA_TOML = """
[gateway]
listen = "127.0.0.1:0"

[control]
listen = "127.0.0.1:{control}"
state_file = ""

[logs]
path = "{directory}/proa.log"
requests = false

[[engines]]
name = "main"
url = "http://127.0.0.1:{main}"

[[engines]]
name = "aux"
url = "http://127.0.0.1:{aux}"
{policy}
"""

Ports = tuple[int, int]
Start = Callable[[Path, Ports], AbstractContextManager[int]]


@dataclass(frozen=True)
class Gateway:
    """`start` brings it up before two engines; the port. `likely` users are tried first."""

    name: str
    start: Start
    likely: int


@contextmanager
def emulated(pair: PairSpec) -> Iterator[Ports]:
    """Two emulated engines, a process each, beside the load on its CPU."""
    with ExitStack() as stack:
        ports = [stack.enter_context(_emulator(engine)) for engine in pair.engines]
        yield ports[0], ports[1]


@contextmanager
def _emulator(engine: VirtualEngineSpec) -> Iterator[int]:
    step = engine.step
    command = [sys.executable, "-m", "proa", "emulate", "--profile", "rtx-pro-6000-8b"]
    command += ["--kind", "vllm", "--listen", "127.0.0.1:0", "--format", "json"]
    command += ["--step-base-ms", repr(step.base_s * 1e3)]
    command += ["--step-per-sequence-ms", repr(step.per_sequence_s * 1e3)]
    command += ["--prefill-tokens-per-s", repr(engine.prefill_tokens_per_s)]
    command += ["--max-running", str(engine.max_sequences)]
    command += ["--max-batched-tokens", str(engine.chunk_tokens)]
    with pinned(command, cpu=LOAD_CPU) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            port = int(json.loads(line)["url"].rpartition(":")[2])
        except (ValueError, KeyError) as error:
            raise StartError(f"proa emulate said {line!r}") from error
        yield port


@contextmanager
def proa_before(directory: Path, ports: Ports, policy: str = "") -> Iterator[int]:
    """proa, told nothing but two addresses; its port."""
    told = f'\n[policy]\nname = "{policy}"\n' if policy else ""
    file = directory / "proa.toml"
    main, aux = ports
    file.write_text(
        _PROA_TOML.format(directory=directory, main=main, aux=aux, policy=told, control=free_port())
    )
    command = [sys.executable, "-m", "proa", "serve", str(file)]
    with pinned(command, cpu=GATEWAY_CPU) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        line = next((line for line in lines if "gateway on" in line), "")
        port = port_in(process, line, r"gateway on http://127\.0\.0\.1:(\d+)")
        await_port(process, port)
        yield port


@contextmanager
def _nginx(directory: Path, ports: Ports, method: str, weights: Sequence[int]) -> Iterator[int]:
    program = nginx_program()
    if program is None:
        raise StartError("nginx is missing: run make setup-system")
    port = free_port()
    servers = "\n".join(
        f"        server 127.0.0.1:{engine} weight={weight} max_fails=0;"
        for engine, weight in zip(ports, weights, strict=True)
    )
    text = NGINX_CONF.format(directory=directory, port=port, servers=servers)
    conf = directory / "nginx.conf"
    conf.write_text(text.replace("least_conn;", method))
    command = [program, "-p", str(directory), "-c", str(conf), "-e", "stderr"]
    with pinned(command, cpu=GATEWAY_CPU) as process:
        await_port(process, port)
        yield port


@contextmanager
def _router(directory: Path, ports: Ports, command: Sequence[str], policy: str) -> Iterator[int]:
    """A router of the SGLang family; it is up when it has found both engines healthy."""
    port, metrics = free_port(), free_port()
    urls = [f"http://127.0.0.1:{engine}" for engine in ports]
    whole = [*command, "--host", "127.0.0.1", "--port", str(port), "--policy", policy]
    whole += ["--prometheus-port", str(metrics), "--log-dir", str(directory)]
    whole += ["--log-level", "error"]
    whole += ["--worker-urls", *urls]
    with pinned(whole, cpu=GATEWAY_CPU) as process:
        await_port(process, port)
        yield port


def gateways(peers: Path | None) -> tuple[list[Gateway], list[str]]:
    """All that can be run, and what is missing; `peers` is an environment with routers in it."""
    found = [Gateway("proa", proa_before, 108)]
    missing: list[str] = []
    if nginx_program() is None:
        missing.append("nginx (make setup-system)")
    else:
        found += [
            Gateway("nginx round robin", lambda d, p: _nginx(d, p, "", (1, 1)), 36),
            Gateway("nginx least_conn", lambda d, p: _nginx(d, p, "least_conn;", (1, 1)), 58),
            Gateway("nginx weights 85:30", lambda d, p: _nginx(d, p, "", (85, 30)), 88),
        ]
    for program, arguments, policies in (
        ("sglang-router", ("launch",), ("power_of_two", "cache_aware")),
        ("vllm-router", (), ("power_of_two", "cache_aware")),
    ):
        path = None if peers is None else peers / "bin" / program
        if path is None or not path.exists():
            missing.append(f"{program} (an environment that has it, by --peers)")
            continue
        found += [_peer(program, (str(path), *arguments), policy) for policy in policies]
    return found, missing


def _peer(program: str, command: Sequence[str], policy: str) -> Gateway:
    return Gateway(f"{program} {policy}", lambda d, p: _router(d, p, command, policy), 58)


def with_policy(policy: str, likely: int) -> Gateway:
    """proa itself under another policy."""
    return Gateway(f"proa {policy}", lambda d, p: proa_before(d, p, policy), likely)
