"""What is measured: two engines, and before them nginx, proa, or nothing."""

import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import children, pinned
from proa.config.keys_edit import NewKey, add_key

GATEWAY_CPU = 0
LOAD_CPU = 1
KEY_CONCURRENCY = 512
_UP_WITHIN_S = 20.0

NGINX_CONF = """
worker_processes 1;
daemon off;
error_log stderr crit;
pid {directory}/nginx.pid;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    keepalive_timeout 75s;
    keepalive_requests 1000000000;
    upstream engines {{
        least_conn;
{servers}
        keepalive 512;
        keepalive_timeout 75s;
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://engines;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
            proxy_buffering off;
        }}
    }}
}}
"""

PROA_TOML = """
[gateway]
listen = "127.0.0.1:0"
api_keys_file = "keys.toml"

[control]
listen = "127.0.0.1:0"

[logs]
path = "{directory}/proa.log"
requests = {log}

{engines}

[[routes]]
name = "faq"
match = {{ path = "/api/faq" }}
rewrite_path = "/v1/chat/completions"
prefer = ["aux"]
overflow = ["main"]
overflow_when = {{ in_flight = 8 }}

{extra_route}

[[routes]]
name = "coder"
match = {{ model = "coder-*" }}
prefer = ["main"]

[[routes]]
name = "embeddings"
match = {{ path = "/v1/embeddings" }}
prefer = ["aux"]

[[routes]]
name = "chat"
match = {{ path = "/v1/chat/completions" }}
prefer = ["main", "aux"]
fallback_on = [429, 503]
"""

HEADER_ROUTE = """
[[routes]]
name = "team"
match = { headers = { x-team = "sales" } }
prefer = ["main"]
"""

LENGTH_ROUTE = """
[[routes]]
name = "short"
match = { max_input_tokens = 20 }
prefer = ["aux"]
overflow = ["main"]
"""


@dataclass(frozen=True)
class Subject:
    """Where requests go; `worker_pid` is the process whose CPU counts, `apart` its helpers."""

    name: str
    port: int
    key: str = "none"
    worker_pid: int = 0
    apart: tuple[int, ...] = ()


@dataclass(frozen=True)
class ProaSpec:
    """What differs between the settings of proa: a request log, a further route."""

    log: bool = False
    extra_route: str = ""


class StartError(Exception):
    """A program did not come up; the message says which and what it said."""


@contextmanager
def engines(*, rate: float, events: int) -> Iterator[tuple[int, int]]:
    """The ports of two fast scripted engines, one process each."""
    command = [sys.executable, "-m", "proa.testing.fast_engine"]
    command += ["--rate", str(rate), "--events", str(events)]
    with ExitStack() as stack:
        found = []
        for _ in range(2):
            process = stack.enter_context(pinned(command, cpu=LOAD_CPU))
            assert process.stdout is not None
            found.append(port_in(process, process.stdout.readline(), r":(\d+)$"))
        yield found[0], found[1]


def direct(port: int) -> Subject:
    return Subject("direct", port)


@contextmanager
def nginx(directory: Path, engine_ports: Sequence[int]) -> Iterator[Subject]:
    """nginx as one would set it up for streams: one worker, no log, kept connections."""
    program = nginx_program()
    if program is None:
        raise StartError("nginx is missing: run make setup-system")
    port = free_port()
    directory.mkdir()
    servers = "\n".join(f"        server 127.0.0.1:{engine};" for engine in engine_ports)
    conf = directory / "nginx.conf"
    conf.write_text(NGINX_CONF.format(directory=directory, port=port, servers=servers))
    command = [program, "-p", str(directory), "-c", str(conf), "-e", "stderr"]
    with pinned(command, cpu=GATEWAY_CPU) as process:
        await_port(process, port)
        (worker,) = children(process.pid)
        yield Subject("nginx", port, worker_pid=worker, apart=(process.pid,))


@contextmanager
def proa(
    directory: Path, engine_ports: Sequence[int], spec: ProaSpec | None = None
) -> Iterator[Subject]:
    """`proa serve` with keys, several routes and metrics."""
    spec = spec or ProaSpec()
    directory.mkdir()
    key = add_key(directory / "keys.toml", "bench", NewKey(max_concurrent_requests=KEY_CONCURRENCY))
    tables = "\n".join(
        f'[[engines]]\nname = "{engine}"\nurl = "http://127.0.0.1:{port}"\nkind = "openai"'
        for engine, port in zip(("main", "aux"), engine_ports, strict=True)
    )
    file = directory / "proa.toml"
    text = PROA_TOML.format(
        directory=directory,
        engines=tables,
        log=str(spec.log).lower(),
        extra_route=spec.extra_route,
    )
    file.write_text(text)
    command = [sys.executable, "-m", "proa", "serve", str(file)]
    with pinned(command, cpu=GATEWAY_CPU) as process:
        assert process.stderr is not None
        port = port_in(process, process.stderr.readline(), r"gateway on http://127\.0\.0\.1:(\d+)")
        await_port(process, port)
        (worker,) = children(process.pid)
        yield Subject("proa", port, key=key, worker_pid=worker, apart=(process.pid,))


def nginx_program() -> str | None:
    """Where nginx is; Debian keeps it outside of a user's PATH."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


def port_in(process: subprocess.Popen[str], line: str, pattern: str) -> int:
    found = re.search(pattern, line.rstrip())
    if found is None:
        raise StartError(f"{process.args!r} said {line.rstrip()!r}, which names no port")
    return int(found[1])


def free_port() -> int:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return int(holder.getsockname()[1])


def await_port(process: subprocess.Popen[str], port: int) -> None:
    until = time.monotonic() + _UP_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    process.kill()
    said = process.stderr.read() if process.stderr is not None else ""
    raise StartError(f"{process.args!r} does not listen on port {port}: {said.strip()}")
