"""A measurement that a terminal watches, and that Ctrl-C ends without losing what it has."""

import asyncio
import json
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import uvloop
from rich.console import Console
from rich.status import Status

from proa.cli.page.blocks import Page
from proa.cli.texts import Texts
from proa.errors import OwnFault, PromiseError

if TYPE_CHECKING:
    from proa.bench.keep.row_file import RowFile

INTERRUPTED = 130
T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Measurement(Protocol[T_co]):
    """Runs once; `interrupt` makes `run` return what it has."""

    def run(self) -> Coroutine[Any, Any, T_co]: ...

    def interrupt(self) -> None: ...


class StatusLine:
    """One line that changes, on standard error and only on a terminal; use it as a context."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._status = Status("", console=self._console)
        self._shown = sys.stderr.isatty()

    def __enter__(self) -> Self:
        if self._shown:
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._status.stop()

    def say(self, text: str) -> None:
        if self._shown:
            self._status.update(text)

    def note(self, text: str) -> None:
        """A line that stays, above."""
        if self._shown:
            self._console.print(text, highlight=False)


def measured(made: Callable[[StatusLine], Measurement[T]], *, ending: str) -> T:
    """The result; the first Ctrl-C says `ending` and keeps what there is, the second ends at once.

    Raises:
        KeyboardInterrupt: interrupted twice.
    """

    async def measure() -> T:
        with StatusLine() as line:
            run = made(line)
            loop = asyncio.get_running_loop()
            task = asyncio.current_task()
            assert task is not None

            def interrupt() -> None:
                loop.remove_signal_handler(signal.SIGINT)
                loop.add_signal_handler(signal.SIGINT, task.cancel)
                line.say(ending)
                run.interrupt()

            loop.add_signal_handler(signal.SIGINT, interrupt)
            return await run.run()

    try:
        return uvloop.run(measure())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def kept_in(
    path: Path | None,
    measure: Callable[["RowFile | None"], T],
    end: Callable[[T], object],
    language: str,
) -> tuple[T, bool]:
    """The result of `measure`, and whether all of it is in the file; what is not is told.

    Raises:
        InputError: there is such a file, or it cannot be written.
    """
    from proa.bench.keep.row_file import RowFile

    file = None if path is None else RowFile(path)
    try:
        result = measure(file)
        if file is not None:
            file.end(end(result))
    finally:
        if file is not None:
            file.close()
    if file is None or file.fault is None:
        return result, True
    lost = {"path": file.path, "rows": file.waiting, "fault": file.fault}
    print(f"proa: {Texts('bench_run', language).say('not_kept', **lost)}", file=sys.stderr)
    return result, False


def print_told(document: Mapping[str, Any], page: Page, form: str) -> None:
    """To standard output: the document as JSON, or the page as text or Markdown."""
    from proa.cli.page.markdown import markdown_page
    from proa.cli.page.plain_text import text_page

    if form == "json":
        sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    else:
        sys.stdout.write(markdown_page(page) if form == "markdown" else text_page(page))


def exit_code(*, is_kept: bool, is_interrupted: bool, is_good: bool) -> int:
    """Of a measurement that came to an end."""
    if not is_kept:
        return OwnFault.exit_code
    if is_interrupted:
        return INTERRUPTED
    return 0 if is_good else PromiseError.exit_code
