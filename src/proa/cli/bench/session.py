"""A measurement that a terminal watches, and that Ctrl-C ends without losing what it has."""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import msgspec
import uvloop
from rich.console import Console
from rich.status import Status

from proa.errors import FieldError

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


class Lines:
    """The file of --out, opened before anything is measured: a JSON value a line."""

    def __init__(self, path: Path) -> None:
        """Raises FieldError: the file cannot be written."""
        try:
            self._file = path.open("wb")
        except OSError as error:
            accepted = f"a file that can be written ({error.strerror})"
            raise FieldError("--out", str(path), accepted) from None

    def write(self, *values: object) -> None:
        with self._file as file:
            file.writelines(msgspec.json.encode(value) + b"\n" for value in values)
