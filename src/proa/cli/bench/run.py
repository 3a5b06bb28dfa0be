"""Load an endpoint level by level and say how fast it serves, and whether that can be believed.

Users send their next request as soon as the last one ended (--levels), or requests come by a
schedule whatever the answers do (--rate), or as in a recorded trace (--trace). Nothing is sent
twice, failures stay in every denominator, and what was not measured is null. Several URLs, or
NAME=URL, are loaded together. Exit codes: 0 done, 2 wrong input, 3 the endpoint failed, 4 the
SLO or contract was not met, 130 interrupted (what was measured is printed).
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from proa.cli.texts import Texts, add_language, language_asked

if TYPE_CHECKING:
    from proa.bench.keep.row_file import RowFile
    from proa.bench.run import RunResult
    from proa.bench.run_spec import RunSpec

FORMATS = ("text", "json")


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("targets", nargs="+", metavar="URL", help="or NAME=URL")
    target = parser.add_argument_group("target")
    add = target.add_argument
    add("--model", action="append", metavar="NAME", help="one for all, or one each; default: asked")
    add("--path", action="append", metavar="PATH", help="default: /v1/chat/completions")
    add("--header", action="append", default=[], metavar="NAME:VALUE", help="repeatable")
    add("--api-key-env", action="append", metavar="NAME", help="variable with the API key")
    add("--extra", metavar="JSON", help="further fields of each body, as an object")
    add("--metrics-url", action="append", metavar="URL", help="the engine's, behind a gateway")
    add("--insecure", action="store_true", help="believe any TLS certificate")
    load = parser.add_argument_group("load")
    add = load.add_argument
    add("--levels", metavar="N,N,…", help="users at once (default: 8,16,24,32,48)")
    add("--rate", metavar="R,R,…", help="requests per second, an open loop")
    add("--arrival", choices=("constant", "poisson", "gamma"), default="poisson")
    add("--burstiness", type=float, default=1.0, help="of gamma: 1 is Poisson")
    add("--trace", type=Path, metavar="FILE.jsonl", help="replay times and lengths")
    add("--trace-speed", type=float, default=1.0, help="2: twice as fast")
    add("--requests", type=int, metavar="N", help="measured requests of a level")
    add("--duration", type=float, metavar="S", help="of a level's window (default: 30)")
    add("--warmup", type=float, default=10.0, metavar="S", help="at least (default: 10)")
    add("--max-concurrency", type=int, metavar="N", help="of an open loop")
    add("--timeout", type=float, default=300.0, metavar="S", help="of a request")
    add("--max-time", type=float, metavar="S", help="of the whole run")
    add("--order", choices=("random", "ascending"), default="random")
    add("--no-repeat", action="store_true", help="do not visit the first level again")
    add("--ladder-only", action="store_true", help="with --slo: no levels between those asked")
    work = parser.add_argument_group("workload")
    add = work.add_argument
    add("--input-tokens", metavar="N|LAW:MEAN:DEV", help="law: normal, lognormal (default: 1000)")
    add("--output-tokens", metavar="N|LAW:MEAN:DEV", help="default: 200")
    add("--text", choices=("ko", "en"), help="language of the prompts")
    add("--shared-prefix", type=float, default=0.0, metavar="SHARE", help="of the input")
    add("--rag", metavar="CHUNKS[:SYSTEM[:QUESTION]]", help="retrieval: k passages; tokens")
    add("--turns", type=int, default=1, metavar="N", help="of a conversation")
    add("--dataset", type=Path, metavar="FILE.jsonl", help="messages, prompts or ShareGPT")
    add("--repeat-prompts", action="store_true", help="the same prompts at each level")
    add("--free-length", action="store_true", help="do not force the output length")
    judge = parser.add_argument_group("judgement")
    add = judge.add_argument
    add("--slo", metavar="BOUNDS", help='as "user_tokens_per_s>=30,ttft_s<=2"')
    add("--attainment", type=float, default=0.95, metavar="SHARE", help="that must keep it")
    add("--contract", type=Path, metavar="proa.toml", help="load and SLO of its [contract]")
    seen = parser.add_argument_group("conditions")
    add = seen.add_argument
    add("--gpu-metrics", action="append", default=[], metavar="URL", help="a GPU exporter's page")
    add("--no-local-gpu", action="store_true", help="do not ask the GPUs of this machine")
    add("--note", action="append", default=[], metavar="KEY=VALUE", help="kept with the run")
    client = parser.add_argument_group("client")
    add = client.add_argument
    add("--processes", type=int, default=0, metavar="N", help="0: as many as needed")
    add("--max-connections", type=int, metavar="N", help="hold each process back, for trials")
    add("--no-self-check", action="store_true")
    add("--seed", type=int, default=0)
    add("--out", type=Path, metavar="FILE.sqlite", help="keep all of the run in a new file")
    add("--format", choices=FORMATS, default="text")
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    from proa.bench.document import document
    from proa.bench.keep.run_file import RunEnd
    from proa.cli.bench.asked import asked_of
    from proa.cli.bench.session import exit_code, kept_in

    texts = Texts("bench_run", language_asked(args))
    spec = asked_of(args)
    result, is_kept = kept_in(
        args.out,
        lambda file: _measured(spec, texts, file),
        lambda result: RunEnd(result.stopped, time.time()),
        texts.language,
    )
    if args.format == "json":
        sys.stdout.write(json.dumps(document(result), ensure_ascii=False, indent=2) + "\n")
    else:
        from proa.cli.bench.table import table

        sys.stdout.write(table(result, texts))
    return exit_code(
        is_kept=is_kept,
        is_interrupted=result.stopped == "interrupted",
        is_good=_is_good(result, args.contract is not None),
    )


def _measured(spec: "RunSpec", texts: Texts, file: "RowFile | None") -> "RunResult":
    from proa.bench.keep.run_file import RunFile
    from proa.bench.listener import Listeners
    from proa.bench.run import BenchRun
    from proa.cli.bench.progress import Board
    from proa.cli.bench.session import StatusLine, measured

    def made(line: StatusLine) -> BenchRun:
        board = Board(line, texts)
        told = Listeners(board, *([] if file is None else [RunFile(file)]))
        return BenchRun(spec, on_progress=board.progress, listener=told)

    return measured(made, ending=texts.say("phase_interrupted"))


def _is_good(result: "RunResult", has_contract: bool) -> bool:
    """False where an SLO was asked and no level kept it; with a contract, each visit must."""
    if result.spec.slo is None:
        return True
    kept = [visit.stats.verdict == "pass" for visit in result.visits]
    return bool(kept) and (all(kept) if has_contract else any(kept))
