"""Make, train, test and use the request classifier that routes with match.class ask."""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

from proa.cli.texts import Texts, add_language, columns, language_asked, language_of, padded
from proa.errors import InputError


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="train|test|run|generate")
    train = actions.add_parser("train", help="a model from examples, a JSON object a line")
    train.add_argument("examples", type=Path, metavar="EXAMPLES.jsonl")
    train.add_argument("--out", type=Path, default=Path("classifier.json"), metavar="FILE")
    train.add_argument(
        "--held-out", type=float, default=0.2, metavar="SHARE",
        help="share of the examples that the accuracy is measured on (default 0.2)",
    )  # fmt: skip
    test = actions.add_parser("test", help="a model's accuracy on examples")
    test.add_argument("examples", type=Path, metavar="EXAMPLES.jsonl")
    run_ = actions.add_parser("run", help="the class of the text on standard input")
    run_.add_argument("--jsonl", action="store_true", help="lines {id, text} in, lines out")
    for action in (test, run_):
        action.add_argument("--model", type=Path, default=Path("classifier.json"), metavar="FILE")
    generate = actions.add_parser("generate", help="examples made from sentence patterns")
    generate.add_argument("--count", type=int, default=2000, metavar="N")
    generate.add_argument("--lang", choices=("ko", "en", "all"), default="all")
    generate.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")
    for action in (train, generate):
        action.add_argument("--seed", type=int, default=1, metavar="N")
    for action in (train, test, run_, generate):
        action.add_argument("--format", choices=("text", "json"), default="text")
    for action in (train, test):
        add_language(action)


def run(args: argparse.Namespace) -> int:
    {"train": _train, "test": _test, "run": _run, "generate": _generate}[args.action](args)
    return 0


def _train(args: argparse.Namespace) -> None:
    import msgspec

    from proa.config.classifier_files import read_examples
    from proa.routing.classify.model import Classifier
    from proa.routing.classify.report import measured
    from proa.routing.classify.training import split, train

    if not 0.0 <= args.held_out < 1.0:
        raise InputError(f"--held-out {args.held_out}: accepted is a share from 0 to below 1")
    examples = read_examples(args.examples)
    labels = sorted({example.label for example in examples})
    if len(labels) < 2:
        raise InputError(f"{args.examples}: all examples are of class {labels[0]}; two are needed")
    known, kept = split(examples, args.held_out, Random(args.seed))
    stats = measured(Classifier(train(known, Random(args.seed))), kept) if kept else None
    model = train(examples, Random(args.seed))
    _write(args.out, msgspec.json.format(msgspec.json.encode(model), indent=0) + b"\n")
    held_out: dict[str, Any] = msgspec.to_builtins(stats)
    told = {"file": str(args.out), "examples": len(examples), "classes": labels}
    if args.format == "json":
        print(json.dumps(told | {"held_out": held_out}, ensure_ascii=False))
        return
    texts = Texts("classify", language_asked(args))
    counts = {"classes": len(labels), "examples": len(examples)}
    print(texts.say("trained", file=args.out, **counts))
    if stats is not None:
        print(texts.say("held_out", **held_out))
        _print_stats(held_out, texts)


def _test(args: argparse.Namespace) -> None:
    import msgspec

    from proa.config.classifier_files import read_classifier, read_examples
    from proa.routing.classify.report import measured

    examples = read_examples(args.examples)
    _, classifier = read_classifier(args.model)
    began = time.perf_counter()
    stats = msgspec.to_builtins(measured(classifier, examples))
    each_us = (time.perf_counter() - began) / len(examples) * 1e6
    if args.format == "json":
        about = {"file": str(args.examples), "model": str(args.model)}
        print(json.dumps(about | stats | {"us_per_text": round(each_us, 1)}, ensure_ascii=False))
        return
    texts = Texts("classify", language_asked(args))
    print(texts.say("tested", each_us=each_us, **stats))
    _print_stats(stats, texts)


def _run(args: argparse.Namespace) -> None:
    from proa.config.classifier_files import read_classifier

    _, classifier = read_classifier(args.model)
    if not args.jsonl:
        told = _answer(classifier.classes, classifier.probabilities(sys.stdin.read()))
        print(_line(told, args.format))
        return
    for number, line in enumerate(sys.stdin, start=1):
        if line.strip():
            entry = _entry(number, line)
            told = _answer(classifier.classes, classifier.probabilities(entry["text"]))
            print(_line({"id": entry.get("id")} | told, "json"))


def _entry(number: int, line: str) -> dict[str, str]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"standard input:{number}: is not JSON ({error})") from error
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
        raise InputError(
            f'standard input:{number}: accepted is a JSON object with "text", a string, and an "id"'
        )
    return entry


def _answer(classes: tuple[str, ...], shares: tuple[float, ...]) -> dict[str, object]:
    best = max(range(len(shares)), key=shares.__getitem__)
    told = {name: round(share, 4) for name, share in zip(classes, shares, strict=True)}
    return {"class": classes[best], "probability": told[classes[best]], "probabilities": told}


def _line(told: dict[str, object], form: str) -> str:
    if form == "json":
        return json.dumps(told, ensure_ascii=False)
    return f"{told['class']} {told['probability']}"


def _generate(args: argparse.Namespace) -> None:
    import msgspec

    from proa.routing.classify.examples import CLASSES, LANGUAGES, generate

    if args.count < 1:
        raise InputError(f"--count {args.count}: accepted is a number from 1")
    languages = tuple(LANGUAGES) if args.lang == "all" else (args.lang,)
    made = generate(args.count, Random(args.seed), languages)
    lines = b"".join(msgspec.json.encode(example) + b"\n" for example in made)
    if args.out is None:
        sys.stdout.write(lines.decode())
        return
    _write(args.out, lines)
    if args.format == "json":
        about = {"file": str(args.out), "examples": args.count, "classes": list(CLASSES)}
        print(json.dumps(about, ensure_ascii=False))
    else:
        texts = Texts("classify", language_of(os.environ))  # --lang says that of the examples
        classes = ", ".join(CLASSES)
        print(texts.say("generated", file=args.out, examples=args.count, classes=classes))


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error


def _print_stats(stats: dict[str, Any], texts: Texts) -> None:
    """A row a class, under a head."""
    heads = [texts.say(key) for key in ("class", "examples", "recall", "precision")]
    rows = [
        [name, str(row["examples"]), _percent(row["recall"]), _percent(row["precision"])]
        for name, row in stats["classes"].items()
    ]
    width = max(columns(row[0]) for row in [heads, *rows]) + 2
    for name, *cells in [heads, *rows]:
        numbers = "".join(" " * (11 - columns(cell)) + cell for cell in cells)
        print(f"  {padded(name, width)}{numbers}")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
