"""Run the gateway and its control plane until SIGTERM or Ctrl-C.

The first signal drains: requests in progress end, for at most limits.drain_timeout_s.
The second one ends at once. SIGHUP, or a change of the files, reloads the settings;
SIGUSR1 opens the log files anew.
"""

import argparse
import os
import resource
from pathlib import Path

from proa.cli.texts import add_language, language_asked
from proa.config.load import Flags, load
from proa.errors import InputError

DEFAULT_FILE = Path("proa.toml")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="default: proa.toml")
    parser.add_argument(
        "--engine",
        action="append",
        default=[],
        metavar="[NAME=]URL",
        help="an engine, repeatable; stands in place of a file",
    )
    parser.add_argument("--listen", metavar="HOST:PORT", help="in place of gateway.listen")
    parser.add_argument("--control-listen", metavar="HOST:PORT", help="in place of control.listen")
    parser.add_argument("--workers", type=int, metavar="N", help="in place of gateway.workers")
    parser.add_argument(
        "--insecure", action="store_true", help="allow public addresses without keys"
    )
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    path = config_path(args.file, args.engine)
    flags = Flags(
        engines=tuple(args.engine),
        listen=args.listen,
        control_listen=args.control_listen,
        workers=args.workers,
        insecure=args.insecure,
    )
    config = load(path, flags)
    raise_descriptor_limit()

    import uvloop

    from proa.cli.serve.compose import serve
    from proa.config.environment import service_environment

    service = service_environment(pid=os.getpid())
    language = language_asked(args)
    return uvloop.run(serve(config, lambda: load(path, flags), service, language))


def config_path(file: Path | None, engines: list[str]) -> Path | None:
    """The file to read; None when engines were named instead.

    Raises:
        InputError: both were given, or neither and there is no proa.toml here.
    """
    if file is not None and engines:
        raise InputError(f"--engine stands in place of a file: leave out one of it and {file}")
    if file is None and not engines and not DEFAULT_FILE.exists():
        raise InputError(
            "there is no proa.toml here: name a file, or engines as in "
            "proa serve --engine http://10.0.0.10:8000 --engine http://10.0.0.11:8000"
        )
    return None if engines else file or DEFAULT_FILE


def raise_descriptor_limit() -> None:
    """Allow as many open files as the system grants: each request takes two."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
