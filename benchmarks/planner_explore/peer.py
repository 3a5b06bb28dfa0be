"""AIConfigurator's search for the same question, in an environment of its own."""

import re
import subprocess
from pathlib import Path

from benchmarks.planner_explore.question import (
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    SESSIONS,
    TTFT_S,
    USER_TOKENS_PER_S,
    SearchStats,
    timed,
)

_MODEL, _SYSTEM = "Qwen/Qwen3-32B-FP8", "h200_sxm"
_RESULTS = re.compile(r"Experiment (\w+) completed with (\d+) results")
_SECONDS = re.compile(r"All experiments completed in ([0-9.]+) seconds")
_GPUS = re.compile(r"^\|\s+1\s+\|\s+vllm\s+\|(.*)\|$", re.MULTILINE)
_GPUS_COLUMN = 6


class PeerError(Exception):
    """The other tool is not there, or did not answer."""


def recommended(environment: Path) -> SearchStats:
    """`aiconfigurator cli recommend`: the fewest GPUs for the sessions within the same limits.

    `configurations` are the results that it says it has evaluated within its limits, of both of
    its experiments (servers that do both phases, and servers apart for each).

    Raises:
        PeerError: the program is not in the environment, fails, or says something else.
    """
    program = environment / "bin" / "aiconfigurator"
    if not program.exists():
        raise PeerError(f"{program} is missing: pip install aiconfigurator into that environment")
    try:
        said, process_s, cpu_s = timed(_command(program))
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise PeerError(f"aiconfigurator failed: {str(error.output)[-500:]}") from error
    results, seconds = _RESULTS.findall(said), _SECONDS.search(said)
    if not results or seconds is None:
        raise PeerError(f"aiconfigurator said something else: {said[-500:]}")
    configurations = sum(int(count) for _, count in results)
    return SearchStats(configurations, float(seconds[1]), _answer(said), process_s, cpu_s)


def _command(program: Path) -> list[str]:
    values = {
        "--model-path": _MODEL,
        "--system": _SYSTEM,
        "--backend": "vllm",
        "--target-concurrency": str(SESSIONS),
        "--isl": str(INPUT_TOKENS),
        "--osl": str(OUTPUT_TOKENS),
        "--ttft": f"{TTFT_S * 1000:.0f}",
        "--tpot": f"{1000 / USER_TOKENS_PER_S:.1f}",
    }
    flags = [each for pair in values.items() for each in pair]
    return [str(program), "cli", "recommend", *flags, "--strict-sla", "--no-color"]


def _answer(said: str) -> str:
    row = _GPUS.search(said)
    cells = [cell.strip() for cell in row[1].split("|")] if row else []
    return f"{cells[_GPUS_COLUMN].split()[0]} GPUs" if len(cells) > _GPUS_COLUMN else ""
