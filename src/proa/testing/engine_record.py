"""What a scripted engine saw: requests, counts, violations, and waiting for them."""

import asyncio
from collections.abc import Callable

from proa.testing.received import ReceivedRequest


class EngineRecord:
    """Counters and lists that tests read; they change while the engine runs.

    `requests` are those that the script answers, `control_requests` those that the
    engine's control table answers (they count in nothing else). `running` are the
    exchanges open now, from the request's head to the reply's last step.
    `aborted` counts exchanges that the client ended before the last step,
    `finished` all others. `connections` are open now, `connections_made` ever.
    `violations` describes each breach of HTTP by the client. `bytes_sent` is what
    the kernel took.
    """

    def __init__(self) -> None:
        self.requests: list[ReceivedRequest] = []
        self.control_requests: list[ReceivedRequest] = []
        self.violations: list[str] = []
        self.running = 0
        self.peak_running = 0
        self.aborted = 0
        self.finished = 0
        self.connections = 0
        self.connections_made = 0
        self.bytes_sent = 0
        self.script_error: BaseException | None = None
        self._waiters: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []

    async def wait_until(
        self, condition: Callable[[], bool], what: str = "condition", *, timeout_s: float = 5.0
    ) -> None:
        """Wait for a condition over this record; it is looked at after every change.

        Raises:
            AssertionError: it did not come true in time; the counts are in the text.
        """
        if condition():
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append((condition, waiter))
        try:
            async with asyncio.timeout(timeout_s):
                await waiter
        except TimeoutError:
            raise AssertionError(f"no {what} within {timeout_s} s: {self}") from None
        finally:
            self._waiters = [pair for pair in self._waiters if pair[1] is not waiter]

    async def wait_running(self, count: int, *, timeout_s: float = 5.0) -> None:
        """Wait until exactly `count` exchanges are open."""
        await self.wait_until(
            lambda: self.running == count, f"running == {count}", timeout_s=timeout_s
        )

    async def wait_requests(self, count: int, *, timeout_s: float = 5.0) -> None:
        """Wait until the heads of at least `count` requests came."""
        await self.wait_until(
            lambda: len(self.requests) >= count, f"requests >= {count}", timeout_s=timeout_s
        )

    async def wait_aborted(self, count: int, *, timeout_s: float = 5.0) -> None:
        """Wait until clients ended at least `count` exchanges."""
        await self.wait_until(
            lambda: self.aborted >= count, f"aborted >= {count}", timeout_s=timeout_s
        )

    async def wait_finished(self, count: int, *, timeout_s: float = 5.0) -> None:
        """Wait until at least `count` replies reached their last step."""
        await self.wait_until(
            lambda: self.finished >= count, f"finished >= {count}", timeout_s=timeout_s
        )

    async def wait_connections(self, count: int, *, timeout_s: float = 5.0) -> None:
        """Wait until exactly `count` connections are open."""
        await self.wait_until(
            lambda: self.connections == count, f"connections == {count}", timeout_s=timeout_s
        )

    def exchange_opened(self) -> None:
        self.running += 1
        self.peak_running = max(self.peak_running, self.running)
        self.changed()

    def exchange_ended(self, *, aborted: bool) -> None:
        self.running -= 1
        if aborted:
            self.aborted += 1
        else:
            self.finished += 1
        self.changed()

    def changed(self) -> None:
        """Wake those whose condition holds now."""
        for condition, waiter in self._waiters:
            if not waiter.done() and condition():
                waiter.set_result(None)

    def __str__(self) -> str:
        return (
            f"{len(self.requests)} requests, {self.running} running, {self.finished} finished, "
            f"{self.aborted} aborted, {self.connections} connections, "
            f"violations {self.violations}, script error {self.script_error!r}"
        )
