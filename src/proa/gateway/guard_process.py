"""A worker's helper: `python -m proa.gateway.guard_process`, for bodies too large for its loop.

It has inherited one socket, takes turns between its jobs after each slice of a text, and ends
with its worker. What fails here fails closed there: a body is answered or it does not pass.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Coroutine, Generator

from proa.gateway.guard_messages import (
    LENGTHS,
    Act,
    Done,
    Drop,
    Edit,
    Failed,
    Found,
    Reply,
    Search,
    head_of,
    read_order,
)
from proa.gateway.guard_work import GuardedBody, acted, editor_of
from proa.guard.answers import edited_answer
from proa.guard.detectors import DetectorSpec
from proa.guard.json_text import UnreadableBody
from proa.guard.policy import GuardRule
from proa.guard.scan import Scanner
from proa.guard.walk import Searched, searching
from proa.routing.prompt_text import message_text
from proa.routing.tokens import text_features
from proa.wire.fields import prompt_values, read_fields

_READ_BYTES = 4_194_304
_NICER = 5


class GuardDesk:
    """The jobs of one worker."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._rules: dict[int, asyncio.Future[GuardRule]] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._scanner = Scanner()
        self._detectors: tuple[DetectorSpec, ...] = ()

    def take(self, order: Search | Act | Edit | Drop, body: bytes) -> None:
        """Begin with an order, or go on with what came before."""
        if isinstance(order, Search):
            self._rules[order.job] = asyncio.get_running_loop().create_future()
            self._begin(order.job, self._request(order, body))
        elif isinstance(order, Edit):
            self._begin(order.job, self._answer(order, body))
        elif isinstance(order, Act):
            if order.job in self._rules and not self._rules[order.job].done():
                self._rules[order.job].set_result(order.rule)
        elif order.job in self._tasks:
            self._tasks[order.job].cancel()

    def _begin(self, job: int, work: Coroutine[None, None, None]) -> None:
        self._tasks[job] = asyncio.create_task(self._guarded(job, work))

    async def _guarded(self, job: int, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except UnreadableBody as fault:
            self._tell(Failed(job, str(fault)))
        except Exception:  # whatever it is: nothing passes, and nothing of it is told
            self._tell(Failed(job))
        finally:
            self._rules.pop(job, None)
            self._tasks.pop(job, None)

    async def _request(self, order: Search, body: bytes) -> None:
        scanner = self._scanner_for(order.detectors)
        asked = GuardedBody(path=order.path, content_type=order.content_type, body=body)
        searched = await _sliced(searching(asked.path, body, scanner, asked.content_type))
        self._tell(_found(order.job, body, searched.counts))
        rule = await self._rules[order.job]
        done = acted(asked, rule, scanner, searched)
        is_same = done.body is body
        told = Done(
            job=order.job,
            counts=done.counts,
            is_same=is_same,
            is_media_blocked=done.is_media_blocked,
            broken=done.broken,
            originals=done.tokens.originals,
        )
        self._tell(told, b"" if is_same else done.body)

    async def _answer(self, order: Edit, body: bytes) -> None:
        editor = editor_of(order.rule, order.originals, self._scanner_for(order.detectors))
        edited = edited_answer(body, editor, order.content_type)
        is_same = edited is body
        told = Done(job=order.job, counts=dict(editor.counts), is_same=is_same)
        self._tell(told, b"" if is_same else edited)

    def _scanner_for(self, detectors: tuple[DetectorSpec, ...]) -> Scanner:
        if detectors != self._detectors:
            self._scanner, self._detectors = Scanner(None, detectors), detectors
        return self._scanner

    def _tell(self, reply: Reply, body: bytes = b"") -> None:
        self._writer.write(head_of(reply, len(body)))
        if body:
            self._writer.write(body)


def _found(job: int, body: bytes, counts: dict[str, int]) -> Found:
    values = prompt_values(body)
    features = text_features(message_text(*values)) if values else None
    return Found(job=job, counts=counts, fields=read_fields(body), features=features)


async def _sliced(work: Generator[None, None, Searched]) -> Searched:
    """Other jobs have their turn after each slice."""
    while True:
        try:
            next(work)
        except StopIteration as ended:
            searched: Searched = ended.value
            return searched
        await asyncio.sleep(0)


async def serve(channel: socket.socket) -> None:
    """Work until the worker has gone."""
    reader, writer = await asyncio.open_connection(sock=channel, limit=_READ_BYTES)
    desk = GuardDesk(writer)
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head_bytes, body_bytes = LENGTHS.unpack(await reader.readexactly(LENGTHS.size))
            order = read_order(await reader.readexactly(head_bytes))
            desk.take(order, await reader.readexactly(body_bytes))


def main(arguments: list[str]) -> int:
    """Run the helper to its end, which is that of its worker: signals to a group are not for it."""
    parser = argparse.ArgumentParser(prog="proa.gateway.guard_process")
    parser.add_argument("--channel-fd", type=int, required=True)
    given = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.nice(_NICER)  # streams go first
    asyncio.run(serve(socket.socket(fileno=given.channel_fd)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
