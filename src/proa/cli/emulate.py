"""Run an engine without a GPU: a real engine's protocol, with the timing of a profile.

Every response says so in its header x-proa-emulator. POST /emulator/speed with
{"factor": 0.2} makes it five times slower while it runs. Needs no model and no internet.
"""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from proa.cli.texts import Texts, add_language, language_asked
from proa.config.addresses import is_public, listen_address
from proa.errors import InputError

if TYPE_CHECKING:
    from proa.emulator.profile import EngineProfile

FLAGS: dict[str, tuple[type, str]] = {
    "model": (str, "the model's name"),
    "step_base_ms": (float, "a decode step's part that does not grow"),
    "step_per_sequence_ms": (float, "and its part for each running sequence"),
    "prefill_tokens_per_s": (float, "prompt tokens per second; inf: prompts cost no time"),
    "max_running": (int, "sequences that run at one time"),
    "max_queued": (int, "limit of the queue; default: none"),
    "kv_tokens": (int, "size of the KV cache"),
    "context": (int, "longest prompt with its answer"),
    "max_batched_tokens": (int, "tokens that one step computes at most"),
    "output_tokens": (int, "length of answers where a request sets no limit"),
    "lora_slots": (int, "LoRA adapters that fit on the GPU; 0: no LoRA"),
    "seed": (int, "another seed gives other words"),
}
"""Keys of a profile that have a flag, with its type and its line of help."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", metavar="NAME|FILE.toml", help="what to be like")
    parser.add_argument("--list-profiles", action="store_true", help="show the shipped ones")
    parser.add_argument("--listen", default="127.0.0.1:0", metavar="HOST:PORT")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--insecure", action="store_true", help="allow public addresses")
    add_language(parser)
    parser.add_argument("--kind", choices=("vllm", "sglang", "tgi", "llamacpp"))
    parser.add_argument("--batching", choices=("static", "continuous"))
    parser.add_argument("--kv", choices=("contiguous", "paged"))
    for key, (kind, line) in FLAGS.items():
        flag = f"--{key.replace('_', '-')}"
        parser.add_argument(flag, type=kind, metavar=kind.__name__.upper()[:5], help=line)


def run(args: argparse.Namespace) -> int:
    from proa.config.profile_file import load_profile, shipped_profiles

    texts = Texts("emulate", language_asked(args))
    if args.list_profiles:
        print_profiles(list(shipped_profiles().values()), args.format, texts)
        return 0
    if not args.profile:
        raise InputError("--profile is missing; --list-profiles shows those that come with proa")
    profile = load_profile(args.profile, chosen(args))
    serve(profile, listen_of(args), args.format, texts)
    return 0


def chosen(args: argparse.Namespace) -> dict[str, object]:
    """The keys of the profile that flags replace."""
    values = {key: getattr(args, key) for key in ("kind", "batching", "kv", *FLAGS)}
    return {key: value for key, value in values.items() if value is not None}


def listen_of(args: argparse.Namespace) -> str:
    """The address, checked.

    Raises:
        InputError: it cannot be one, or others could reach it and nobody allowed that.
    """
    try:
        listen = listen_address(args.listen)
    except ValueError as error:
        raise InputError(f"--listen {args.listen}: accepted is {error}") from None
    if is_public(listen) and not args.insecure:
        raise InputError(f"--listen {listen}: others can reach it; --insecure allows that")
    return listen


def serve(profile: "EngineProfile", listen: str, form: str, texts: Texts) -> None:
    """Until SIGTERM or Ctrl-C."""
    import uvloop

    from proa.emulator.server import run as run_server
    from proa.gateway.listeners import address_of, open_listener

    listener = open_listener(listen, key="--listen")
    address = address_of(listener)

    def announce() -> None:
        url = address if address.startswith("unix:") else f"http://{address}"
        if form == "json":
            told = {"url": url, "profile": profile.name, "kind": profile.kind.value}
            print(json.dumps(told | {"model": profile.model, "emulated": True}), flush=True)
        else:
            print(url, flush=True)
            names = {"kind": profile.kind.value, "profile": profile.name}
            print(texts.say("told", model=profile.model, **names), file=sys.stderr)

    uvloop.run(run_server(profile, listener, announce))


def print_profiles(profiles: "list[EngineProfile]", form: str, texts: Texts) -> None:
    import msgspec

    if form == "json":
        told: list[dict[str, Any]] = [msgspec.to_builtins(profile) for profile in profiles]
        print(json.dumps({"profiles": [finite(profile) for profile in told]}))
        return
    for profile in profiles:
        values: dict[str, object] = msgspec.to_builtins(profile)
        steps = {"base": profile.step_base_ms, "per": profile.step_per_sequence_ms}
        print(texts.say("profile", **values, **steps))
        print(f"    {profile.source}")


def finite(values: dict[str, Any]) -> dict[str, Any]:
    """Infinity has no form in JSON: null."""
    return {key: None if value == float("inf") else value for key, value in values.items()}
