"""Measure what a gateway adds: each prompt goes straight to the engine and through the gateway.

Requests alternate by lot, one at a time, in rounds of all output lengths. The shift of TTFT,
time per token and total comes with its 95 % interval, and what holds events back is told as a
fault, never as a win. Exit codes: 0 done, 2 wrong input, 3 an endpoint failed, 4 the margin was
not shown to hold, the gateway buffers, or the answers cannot be compared, 130 interrupted (what
was measured is printed).
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from proa.cli.bench.sides import add_sides, check_sides
from proa.cli.texts import Texts, add_language, language_asked

if TYPE_CHECKING:
    from proa.bench.compare.run import CompareResult
    from proa.bench.compare.spec import CompareSpec, PairSample
    from proa.bench.keep.row_file import RowFile

FORMATS = ("text", "json", "markdown")
SIDES = ("direct", "gateway")


def configure(parser: argparse.ArgumentParser) -> None:
    add_sides(parser, SIDES)
    group = parser.add_argument_group("measurement")
    add = group.add_argument
    add("--tokens", default="50,200,500", metavar="N,N,…", help="output lengths of each round")
    add("--input-tokens", default="200", metavar="N", help="or LAW:MEAN:DEV (default: 200)")
    add("--text", choices=("ko", "en"), default="en", help="language of the prompts")
    add("--rounds", type=int, default=100, metavar="N", help="at most (default: 100)")
    add("--probes", type=int, default=8, metavar="N", help="short pairs a round, for TTFT alone")
    add("--warmup-rounds", type=int, default=1, metavar="N", help="not counted (default: 1)")
    add("--max-time", type=float, default=180.0, metavar="S", help="default: 180")
    add("--half-width-us", type=float, metavar="US", help="end when TTFT's interval is ± so much")
    add("--free-length", action="store_true", help="let answers end where they like")
    add("--timeout", type=float, default=300.0, metavar="S", help="of a request")
    add("--seed", type=int, default=0)
    judge = parser.add_argument_group("promise")
    add = judge.add_argument
    add("--margin-us", type=float, metavar="US", help="TTFT's shift must lie within ± this")
    add("--token-margin-us", type=float, metavar="US", help="and the time per token's")
    add("--out", type=Path, metavar="FILE.sqlite", help="keep all of it in a new file")
    add("--format", choices=FORMATS, default="text")
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    from proa.bench.compare.document import document
    from proa.bench.compare.verdict import BAD, compare_stats
    from proa.cli.bench.compare_view import page_of
    from proa.cli.bench.session import exit_code, kept_in, print_told
    from proa.errors import UpstreamError

    texts = Texts("bench_compare", language_asked(args))
    spec = asked_of(args)
    result, is_kept = kept_in(
        args.out,
        lambda file: _measured(spec, texts, file),
        lambda result: result.end,
        texts.language,
    )
    stats = compare_stats(result)
    stopped = result.end.stopped
    if not stats.pairs and stopped != "interrupted":
        raise UpstreamError(_failures(result))
    print_told(document(result, stats), page_of(result, texts), args.format)
    is_interrupted, is_good = stopped == "interrupted", stats.verdict not in BAD
    return exit_code(is_kept=is_kept, is_interrupted=is_interrupted, is_good=is_good)


def asked_of(args: argparse.Namespace) -> "CompareSpec":
    """Raises InputError: a flag that cannot be used."""
    from proa.bench.compare.spec import CompareSpec
    from proa.bench.lengths import parse_length
    from proa.bench.workloads import Language
    from proa.cli.bench.asked import targets_of
    from proa.cli.bench.numbers import above_zero, at_least, whole_numbers

    check_sides(args, SIDES)
    direct, gateway = targets_of(args, None)
    return CompareSpec(
        direct=direct,
        gateway=gateway,
        tokens=whole_numbers("--tokens", args.tokens, "output lengths, as 50,200,500"),
        input=parse_length("--input-tokens", args.input_tokens),
        language=Language(args.text),
        rounds=at_least("--rounds", args.rounds, 1),
        probes=at_least("--probes", args.probes, 0),
        warmup_rounds=at_least("--warmup-rounds", args.warmup_rounds, 0),
        max_time_s=above_zero("--max-time", args.max_time),
        half_width_s=_micro("--half-width-us", args.half_width_us),
        margin_s=_micro("--margin-us", args.margin_us),
        token_margin_s=_micro("--token-margin-us", args.token_margin_us),
        force_output=not args.free_length,
        timeout_s=above_zero("--timeout", args.timeout),
        seed=args.seed,
    )


def _micro(flag: str, given: float | None) -> float | None:
    from proa.cli.bench.numbers import above_zero

    return None if given is None else above_zero(flag, given) / 1e6


def _measured(spec: "CompareSpec", texts: Texts, file: "RowFile | None") -> "CompareResult":
    from proa.bench.compare.run import CompareRun, CompareStart
    from proa.bench.compare.shifts import ttft_shift
    from proa.bench.keep.compare_file import CompareFile
    from proa.cli.bench.session import StatusLine, measured
    from proa.cli.bench.tables import number, signed

    def made(line: StatusLine) -> CompareRun:
        def phase(name: str) -> None:
            line.say(texts.say(f"phase_{name}"))

        keep = None if file is None else CompareFile(file)

        def start(told: CompareStart) -> None:
            if keep is not None:
                keep.started(told)

        def rounds(pairs: "list[PairSample]") -> None:
            if keep is not None:
                keep.rounds(pairs)
            measured = [pair for pair in pairs if not pair.is_warmup]
            found = ttft_shift(measured)
            shown = {
                "shift": signed(found.estimate, 0, 1e6),
                "half": number(found.half_width, 0, 1e6),
            }
            line.say(texts.say("progress", pairs=len(measured), **shown))

        return CompareRun(spec, on_phase=phase, on_start=start, on_round=rounds)

    return measured(made, ending=texts.say("phase_interrupted"))


def _failures(result: "CompareResult") -> str:
    """Why no pair is whole, in the words of the first failures."""
    told: dict[str, str] = {}
    for pair in result.pairs:
        for name, sample in zip(SIDES, pair.sides, strict=True):
            if sample.failure is not None:
                told.setdefault(name, f"{name}: {sample.failure_text or sample.failure}")
    return "; ".join(told.values()) or "no pair was measured"
