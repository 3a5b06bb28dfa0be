"""What continuous batching and a paged KV cache bring, in virtual time. All figures are emulated.

    python -m benchmarks.batching [--profile NAME] [--requests N] [--format json]

One mix of requests that are all there at the beginning goes through one emulated
engine four times: static or continuous batching, contiguous or paged KV cache.
"""

import argparse
import json
import math
import random

import msgspec

from proa.config.profile_file import load_profile
from proa.emulator.profile import Batching, EngineProfile, KvLayout
from proa.emulator.sequence import SequenceSpec
from proa.emulator.virtual import replay

CONTEXT = 2048
"""What a contiguous cache reserves for each sequence."""
PROMPT_TOKENS = (20, 1000)
OUTPUT_TOKENS = (30, 1000)
SEED = 20


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """One run; `ratio` compares with static and contiguous."""

    batching: str
    kv: str
    makespan_s: float
    output_tokens_per_s: float
    mean_running: float
    ratio: float


def mix(requests: int) -> list[SequenceSpec]:
    """Prompts and outputs of log-uniform lengths, the same in every run."""
    rng = random.Random(SEED)

    def length(least: int, most: int) -> int:
        return round(math.exp(rng.uniform(math.log(least), math.log(most))))

    return [
        SequenceSpec(prompt_tokens=length(*PROMPT_TOKENS), output_tokens=length(*OUTPUT_TOKENS))
        for _ in range(requests)
    ]


def compare(profile: EngineProfile, specs: list[SequenceSpec]) -> list[Figures]:
    """The four runs, from static and contiguous to continuous and paged."""
    runs: list[Figures] = []
    for batching in Batching:
        for kv in KvLayout:
            changed = msgspec.structs.replace(
                profile, batching=batching, kv=kv, context=min(CONTEXT, profile.context)
            )
            runs.append(measure(changed, specs, runs[0] if runs else None))
    return runs


def measure(profile: EngineProfile, specs: list[SequenceSpec], first: Figures | None) -> Figures:
    """One run of all requests through one engine."""
    ended = replay(profile, [(0.0, spec) for spec in specs])
    makespan_s = ended[-1].finished_s or 0.0
    tokens_per_s = sum(spec.output_tokens for spec in specs) / makespan_s
    running_s = sum((s.finished_s or 0.0) - (s.admitted_s or 0.0) for s in ended)
    return Figures(
        batching=profile.batching.value,
        kv=profile.kv.value,
        makespan_s=makespan_s,
        output_tokens_per_s=tokens_per_s,
        mean_running=running_s / makespan_s,
        ratio=tokens_per_s / (first.output_tokens_per_s if first else tokens_per_s),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batching")
    parser.add_argument("--profile", default="rtx-5060-ti-8b", help="a shipped one, or FILE.toml")
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    arguments = parser.parse_args()
    profile = load_profile(arguments.profile, {})
    runs = compare(profile, mix(arguments.requests))
    if arguments.format == "json":
        told = {"emulated": True, "profile": profile.name, "runs": msgspec.to_builtins(runs)}
        print(json.dumps(told))
        return
    print(f"emulated: {profile.name}, {arguments.requests} requests, all at the beginning")
    for run in runs:
        print(
            f"{run.batching:>10}, {run.kv:<10}  {run.output_tokens_per_s:7.0f} tok/s  "
            f"{run.mean_running:5.1f} running  {run.makespan_s:7.1f} s  {run.ratio:5.2f} x"
        )


if __name__ == "__main__":
    main()
