"""Measure a main server, an auxiliary one, and both together behind one address.

Blocks of load come in random order, at least 3 of each, and the gains T(together) / T(main) and
T(together) / (T(main) + T(aux)) in output tokens per second have 95 % intervals. Several sites
are as many client processes. Exit codes: 0 done, 2 wrong input, 3 an endpoint failed, 4 the gain
asked with --min-gain was not shown, or over 5 % of a part's requests failed, 130 interrupted
(what was measured is printed).
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from proa.cli.bench.sides import add_sides, check_sides
from proa.cli.texts import Texts, add_language, language_asked

if TYPE_CHECKING:
    from proa.bench.combine.run import CombineResult
    from proa.bench.combine.spec import Block, CombineSpec
    from proa.bench.keep.row_file import RowFile
    from proa.bench.visit import VisitProgress

FORMATS = ("text", "json", "markdown")
PARTS = ("main", "aux", "together")


def configure(parser: argparse.ArgumentParser) -> None:
    add_sides(parser, PARTS)
    group = parser.add_argument_group("measurement")
    add = group.add_argument
    add("--users", default="16", metavar="N|N,N,N", help="for all, or main, aux and together")
    add("--sites", type=int, default=1, metavar="N", help="client processes (default: 1)")
    add("--rounds", type=int, default=3, metavar="N", help="blocks of each, 3 or more")
    add("--duration", type=float, default=20.0, metavar="S", help="of a block (default: 20)")
    add("--warmup", type=float, default=5.0, metavar="S", help="before it (default: 5)")
    add("--settle", type=float, default=1.0, metavar="S", help="pause before a block (default: 1)")
    add("--input-tokens", default="500", metavar="N|LAW:MEAN:DEV", help="default: 500")
    add("--output-tokens", default="200", metavar="N|LAW:MEAN:DEV", help="default: 200")
    add("--text", choices=("ko", "en"), default="en", help="language of the prompts")
    add("--free-length", action="store_true", help="let answers end where they like")
    add("--timeout", type=float, default=300.0, metavar="S", help="of a request")
    add("--no-self-check", action="store_true")
    add("--seed", type=int, default=0)
    add("--min-gain", type=float, metavar="RATIO", help="that together must reach over main")
    add("--out", type=Path, metavar="FILE.sqlite", help="keep all of it in a new file")
    add("--format", choices=FORMATS, default="text")
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    from proa.bench.combine.gain import Verdict, gain_stats, verdict_of
    from proa.bench.keep.documents import document_of
    from proa.cli.bench.combine_view import page_of
    from proa.cli.bench.session import exit_code, kept_in, print_told

    texts = Texts("bench_combine", language_asked(args))
    spec = asked_of(args)
    result, is_kept = kept_in(
        args.out,
        lambda file: _measured(spec, texts, file),
        lambda result: result.end,
        texts.language,
    )
    print_told(document_of(result), page_of(result, texts), args.format)
    verdict = verdict_of(gain_stats(result.blocks), spec.min_gain)
    is_good = verdict in (Verdict.KEPT, Verdict.MEASURED)
    interrupted = result.end.is_interrupted
    return exit_code(is_kept=is_kept, is_interrupted=interrupted, is_good=is_good)


def asked_of(args: argparse.Namespace) -> "CombineSpec":
    """Raises InputError: a flag that cannot be used."""
    from proa.bench.combine.spec import CombineSpec
    from proa.bench.lengths import parse_length
    from proa.bench.workloads import Language, WorkloadSpec
    from proa.cli.bench.asked import targets_of
    from proa.cli.bench.numbers import above_zero, at_least

    check_sides(args, PARTS)
    main, aux, together = targets_of(args, None)
    return CombineSpec(
        targets=(main, aux, together),
        users=_users(args.users),
        sites=at_least("--sites", args.sites, 1),
        rounds=at_least("--rounds", args.rounds, 3),
        warmup_s=above_zero("--warmup", args.warmup),
        duration_s=above_zero("--duration", args.duration),
        settle_s=max(0.0, args.settle),
        self_check_s=0.0 if args.no_self_check else 5.0,
        timeout_s=above_zero("--timeout", args.timeout),
        min_gain=None if args.min_gain is None else above_zero("--min-gain", args.min_gain),
        workload=WorkloadSpec(
            input=parse_length("--input-tokens", args.input_tokens),
            output=parse_length("--output-tokens", args.output_tokens),
            language=Language(args.text),
            force_output=not args.free_length,
            seed=args.seed,
        ),
        seed=args.seed,
    )


def _users(text: str) -> tuple[int, int, int]:
    from proa.errors import FieldError

    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, len(PARTS)) or min(numbers) < 1:
        raise FieldError("--users", text, "users for all, or three: main,aux,together")
    main, aux, together = numbers * (1 if len(numbers) == len(PARTS) else len(PARTS))
    return main, aux, together


def _measured(spec: "CombineSpec", texts: Texts, file: "RowFile | None") -> "CombineResult":
    from proa.bench.combine.run import CombineRun, CombineStart
    from proa.bench.keep.combine_file import CombineFile
    from proa.cli.bench.session import StatusLine, measured

    def made(line: StatusLine) -> CombineRun:
        done: list[Block] = []

        def phase(name: str) -> None:
            line.say(texts.say(f"phase_{name}"))

        def progress(told: "VisitProgress") -> None:
            shown = {"block": len(done) + 1, "blocks": len(PARTS) * spec.rounds}
            counts = {"on_wire": told.on_wire, "failed": told.failed}
            line.say(texts.say("progress", **shown, **counts))

        keep = None if file is None else CombineFile(file)

        def start(told: CombineStart, origin_s: float) -> None:
            if keep is not None:
                keep.started(told, origin_s)

        def block(told: "Block") -> None:
            done.append(told)
            if keep is not None:
                keep.block(told)

        return CombineRun(
            spec, on_phase=phase, on_progress=progress, on_start=start, on_block=block,
            listener=None if keep is None else keep.visits,
        )  # fmt: skip

    return measured(made, ending=texts.say("phase_interrupted"))
