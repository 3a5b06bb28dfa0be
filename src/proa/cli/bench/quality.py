"""Ask two endpoints the same questions and compare: does a cheaper precision still answer right?

Answers are checked (exact, contains, regex, number) without any judge model, at temperature 0:
exact McNemar test and the paired difference with its interval, the share of answers that are the
same text, and the shift of log probabilities where both tell them. Exit codes: 0 done, 2 wrong
input, 3 an endpoint failed, 4 the margin was not shown to hold, or over 5 % failed, 130
interrupted (what was answered is printed).
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from proa.cli.bench.sides import add_sides, check_sides
from proa.cli.texts import Texts, add_language, language_asked

if TYPE_CHECKING:
    from proa.bench.keep.row_file import RowFile
    from proa.bench.quality.cases import QualityCase
    from proa.bench.quality.needle import NeedleSpec
    from proa.bench.quality.run import QualityResult, QualityRun, QualitySpec
    from proa.bench.workloads import Language

FORMATS = ("text", "json", "markdown")
SIDES = ("a", "b")


def configure(parser: argparse.ArgumentParser) -> None:
    add_sides(parser, SIDES)
    group = parser.add_argument_group("questions")
    add = group.add_argument
    add("--data", type=Path, metavar="FILE.jsonl", help="cases of one's own")
    add("--sample", type=int, metavar="N", help="so many small questions, made by chance")
    add("--needle", metavar="N,N,…", help="retrieval from contexts of so many tokens, as 4K,16K")
    add("--depths", default="0,25,50,75,100", metavar="P,P,…", help="of the needle, in percent")
    add("--each", type=int, default=1, metavar="N", help="needles at each length and depth")
    add("--text", choices=("ko", "en", "both"), default="both", help="of generated questions")
    add("--write-cases", type=Path, metavar="FILE.jsonl", help="keep all questions, as for --data")
    add("--users", type=int, default=4, metavar="N", help="questions in flight at each side")
    add("--repeat", action="store_true", help="ask a everything twice, as a yardstick")
    add("--timeout", type=float, default=300.0, metavar="S", help="of a request")
    add("--seed", type=int, default=0)
    add("--margin", type=float, metavar="SHARE", help="of right answers that b may lose, as 0.02")
    add("--out", type=Path, metavar="FILE.sqlite", help="keep all of it in a new file")
    add("--format", choices=FORMATS, default="text")
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    from proa.bench.quality.document import document
    from proa.bench.quality.verdict import Verdict, quality_stats
    from proa.cli.bench.quality_view import page_of
    from proa.cli.bench.session import exit_code, kept_in, print_told

    texts = Texts("bench_quality", language_asked(args))
    spec = asked_of(args)
    result, is_kept = kept_in(
        args.out,
        lambda file: _measured(spec, texts, file),
        lambda result: result.end,
        texts.language,
    )
    if args.write_cases is not None:
        _write_cases(args.write_cases, result.start.cases)
    stats = quality_stats(result)
    _refuse_silence(result)
    print_told(document(result, stats), page_of(result, texts), args.format)
    is_good = stats.verdict in (Verdict.KEPT, Verdict.MEASURED)
    interrupted = result.end.is_interrupted
    return exit_code(is_kept=is_kept, is_interrupted=interrupted, is_good=is_good)


def asked_of(args: argparse.Namespace) -> "QualitySpec":
    """Raises InputError: a flag or a case that cannot be used."""
    from proa.bench.quality.cases import read_cases
    from proa.bench.quality.run import QualitySpec
    from proa.bench.quality.samples import sample_cases
    from proa.bench.workloads import Language
    from proa.cli.bench.asked import targets_of
    from proa.cli.bench.numbers import above_zero, at_least
    from proa.errors import FieldError, InputError

    check_sides(args, SIDES)
    languages = tuple(Language) if args.text == "both" else (Language(args.text),)
    cases: list[QualityCase] = []
    if args.data is not None:
        try:
            data = args.data.read_bytes()
        except OSError as error:
            accepted = f"a file that can be read ({error.strerror})"
            raise FieldError("--data", str(args.data), accepted) from None
        cases += read_cases(data, name=str(args.data))
    if args.sample is not None:
        count = at_least("--sample", args.sample, 1)
        cases += sample_cases(count, languages, seed=args.seed)
    needle = None if args.needle is None else _needle(args, languages)
    if not cases and needle is None:
        raise InputError("nothing to ask: give --data, --sample or --needle")
    if args.margin is not None and not 0 < args.margin < 1:
        raise FieldError("--margin", args.margin, "a share between 0 and 1, as 0.02")
    a, b = targets_of(args, None)
    return QualitySpec(
        a=a,
        b=b,
        cases=cases,
        needle=needle,
        users=at_least("--users", args.users, 1),
        repeat=args.repeat,
        margin=args.margin,
        timeout_s=above_zero("--timeout", args.timeout),
    )


def _needle(args: argparse.Namespace, languages: "tuple[Language, ...]") -> "NeedleSpec":
    from proa.bench.quality.needle import NeedleSpec
    from proa.cli.bench.numbers import at_least
    from proa.errors import FieldError
    from proa.units import parse_tokens

    try:
        lengths = tuple(dict.fromkeys(parse_tokens(part) for part in args.needle.split(",")))
    except ValueError:
        lengths = ()
    if not lengths or min(lengths) < 1:
        raise FieldError("--needle", args.needle, "tokens, as 4K,16K")
    try:
        depths = tuple(dict.fromkeys(float(part) / 100 for part in args.depths.split(",")))
    except ValueError:
        depths = ()
    if not depths or not all(0 <= depth <= 1 for depth in depths):
        raise FieldError("--depths", args.depths, "percent from 0 to 100, as 0,50,100")
    each = at_least("--each", args.each, 1)
    return NeedleSpec(
        lengths=lengths, depths=depths, each=each, languages=languages, seed=args.seed
    )


def _write_cases(path: Path, cases: "list[QualityCase]") -> None:
    from proa.bench.quality.cases import case_lines
    from proa.errors import FieldError

    try:
        path.write_bytes(case_lines(cases))
    except OSError as error:
        accepted = f"a file that can be written ({error.strerror})"
        raise FieldError("--write-cases", str(path), accepted) from None


def _measured(spec: "QualitySpec", texts: Texts, file: "RowFile | None") -> "QualityResult":
    from proa.bench.keep.quality_file import QualityFile
    from proa.bench.quality.answers import QualityAnswer
    from proa.bench.quality.run import QualityRun, QualityStart
    from proa.cli.bench.session import StatusLine, measured

    def made(line: StatusLine) -> "QualityRun":
        keep = None if file is None else QualityFile(file)

        def start(told: QualityStart) -> None:
            if keep is not None:
                keep.started(told)

        def answered(answer: QualityAnswer, count: int, of: int) -> None:
            line.say(texts.say("progress", count=count, of=of))
            if keep is not None:
                keep.answer(answer)

        return QualityRun(
            spec,
            on_phase=lambda name: line.say(texts.say(f"phase_{name}")),
            on_start=start,
            on_answer=answered,
        )

    return measured(made, ending=texts.say("phase_interrupted"))


def _refuse_silence(result: "QualityResult") -> None:
    """Raises UpstreamError: a side answered nothing at all."""
    from proa.errors import UpstreamError

    for side, own in result.answers.items():
        failed = [answer for answer in own.values() if answer.failure is not None]
        if own and len(failed) == len(own):
            raise UpstreamError(f"{side}: no case was answered: {failed[0].failure_text}")
