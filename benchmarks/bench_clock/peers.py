"""Other load generators before the same server: what each prints, beside what the server did."""

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from benchmarks.bench_clock.clock import ClockLoad
from benchmarks.bench_clock.truth import TimesStats, truth_stats
from proa.bench.ask import get
from proa.bench.paced_server import Truth
from proa.bench.self_check import instant_server
from proa.bench.target import TargetSpec

_ENDS_WITHIN_S = 180.0
_TOKENIZER = "local/letters"
_MAKE_TOKENIZER = """
import sys
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

letters = ["<unk>", *map(chr, range(32, 127))]
made = Tokenizer(models.BPE({letter: n for n, letter in enumerate(letters)}, [], unk_token="<unk>"))
made.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
made.decoder = decoders.Fuse()
PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>").save_pretrained(sys.argv[1])
"""


class PeerStats(msgspec.Struct, frozen=True):
    """What a tool printed; None where it did not, and `error` where it failed."""

    name: str
    ttft_mean_s: float | None = None
    ttft_p50_s: float | None = None
    ttft_p99_s: float | None = None
    tpot_mean_s: float | None = None
    tokens_per_s: float | None = None
    truth: TimesStats | None = None
    error: str = ""


class Peer(msgspec.Struct, frozen=True):
    """A tool in an environment of its own; `read` finds its numbers in a directory."""

    name: str
    command: Callable[[Path, str, ClockLoad, Path], list[str]]
    read: Callable[[Path], PeerStats]


def _guidellm(environment: Path, url: str, load: ClockLoad, out: Path) -> list[str]:
    return [
        str(environment / "bin" / "guidellm"), "run",
        "--backend", f"kind=openai_http,target={url},model=paced",
        "--profile", f"kind=concurrent,streams={load.streams}",
        "--constraint", f"kind=max_duration,seconds={load.seconds + 2:g}",
        "--data", f"kind=json_file,path={_prompts(out, load)}",
        "--output", f"kind=json,path={out / 'guidellm.json'}",
        "--disable-console-interactive",
    ]  # fmt: skip


def _prompts(out: Path, load: ClockLoad) -> Path:
    """Prompts in a file: a synthetic one wants a tokenizer from the network."""
    rows = ({"prompt": f"{n}. " + "word " * 110, "output_tokens_count": load.tokens}
            for n in range(int(20 * load.streams * load.seconds)))  # fmt: skip
    path = out / "prompts.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def _read_guidellm(out: Path) -> PeerStats:
    benchmark = json.loads((out / "guidellm.json").read_text())["benchmarks"][0]
    metrics = benchmark["metrics"]

    def told(name: str, *path: str) -> float | None:
        return _number(metrics, name, "successful", *path)

    ttft = "time_to_first_token_ms"
    return PeerStats(
        name="guidellm",
        ttft_mean_s=_ms(told(ttft, "mean")),
        ttft_p50_s=_ms(told(ttft, "percentiles", "p50")),
        ttft_p99_s=_ms(told(ttft, "percentiles", "p99")),
        tpot_mean_s=_ms(told("inter_token_latency_ms", "mean")),
        tokens_per_s=told("output_tokens_per_second", "mean"),
    )


def _aiperf(environment: Path, url: str, load: ClockLoad, out: Path) -> list[str]:
    _letters_tokenizer(environment, out)
    return [
        "env", f"HF_HOME={out / 'hub'}", "HF_HUB_OFFLINE=1",
        str(environment / "bin" / "aiperf"), "profile", "--model", "paced", "--url", url,
        "--endpoint-type", "chat", "--streaming", "--tokenizer", _TOKENIZER,
        "--use-server-token-count", "--concurrency", f"{load.streams}",
        "--request-count", f"{int(load.streams * (load.seconds + 2) / _request_s(load))}",
        "--synthetic-input-tokens-mean", "150", "--output-tokens-mean", f"{load.tokens}",
        "--use-legacy-max-tokens", "--artifact-dir", str(out), "--ui-type", "none",
    ]  # fmt: skip


def _letters_tokenizer(environment: Path, out: Path) -> None:
    """A tokenizer where its hub's cache would have it: nothing is fetched from the network."""
    name = f"models--{_TOKENIZER.replace('/', '--')}"
    model = out / "hub" / "hub" / name
    snapshot = model / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("0" * 40)
    python = str(environment / "bin" / "python")
    subprocess.run([python, "-c", _MAKE_TOKENIZER, str(snapshot)], check=True, capture_output=True)
    (snapshot / "config.json").write_text('{"model_type": "gpt2"}')


def _read_aiperf(out: Path) -> PeerStats:
    (path,) = out.rglob("profile_export_aiperf.json")
    told = json.loads(path.read_text())
    return PeerStats(
        name="aiperf",
        ttft_mean_s=_ms(_number(told, "time_to_first_token", "avg")),
        ttft_p50_s=_ms(_number(told, "time_to_first_token", "p50")),
        ttft_p99_s=_ms(_number(told, "time_to_first_token", "p99")),
        tpot_mean_s=_ms(_number(told, "inter_token_latency", "avg")),
        tokens_per_s=_number(told, "output_token_throughput", "avg"),
    )


PEERS = {
    "guidellm": Peer("guidellm", _guidellm, _read_guidellm),
    "aiperf": Peer("aiperf", _aiperf, _read_aiperf),
}


async def peer_trial(peer: Peer, environment: Path, load: ClockLoad) -> PeerStats:
    """One run of a tool against a fresh server; a tool that fails is told, not raised."""
    options = ("--gap", f"{load.gap_s}", "--ttft", f"{load.ttft_s}")
    with TemporaryDirectory() as directory:
        out = Path(directory)
        async with instant_server(*options) as url:
            command = peer.command(environment, url, load, out)
            code, said = await _ran(command)
            _, page = await get(TargetSpec(name="truth", url=url), "/truth")
        truths = [t for t in msgspec.json.decode(page, type=list[Truth]) if t.tokens > 1]
        truth = truth_stats(truths) if truths else None
        try:
            told = peer.read(out)
        except (OSError, ValueError, KeyError, LookupError) as error:
            return PeerStats(peer.name, truth=truth, error=f"exit {code}, {error!r}: {said[-400:]}")
    return msgspec.structs.replace(told, truth=truth)


async def _ran(command: list[str]) -> tuple[int | None, str]:
    child = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        async with asyncio.timeout(_ENDS_WITHIN_S):
            said, _ = await child.communicate()
    except TimeoutError:
        child.kill()
        await child.wait()
        return None, "no end in time"
    return child.returncode, said.decode("utf-8", "replace")


def _request_s(load: ClockLoad) -> float:
    return load.ttft_s + load.gap_s * (load.tokens - 1)


def _number(tree: Any, *path: str) -> float | None:
    for name in path:
        if not isinstance(tree, dict) or name not in tree:
            return None
        tree = tree[name]
    return float(tree) if isinstance(tree, int | float) else None


def _ms(value: float | None) -> float | None:
    return None if value is None else value / 1e3
