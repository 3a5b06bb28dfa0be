"""A client process: takes its share of a level from standard input, loads, hands over.

    python -m proa.bench.client_process

It ends when its standard input does. Nothing is parsed here but where answers end; the garbage
collector is off while it loads, with all that was there before frozen.
"""

import asyncio
import gc
import signal
import sys
import time
from pathlib import Path

import uvloop

from proa.bench.load_share import LoadShare
from proa.bench.process_messages import (
    Begin,
    Ended,
    Frames,
    Over,
    Pulse,
    Tick,
    Up,
    frame,
    to_client,
)
from proa.bench.raw import RawExchange
from proa.bench.timers import LoopTimers
from proa.errors import ProaError

TICK_S = 0.1
LAG_STEP_S = 0.01


class ClientProcess(asyncio.Protocol):
    """Reads commands as a pipe's protocol; `output` takes the frames."""

    def __init__(self, output: asyncio.WriteTransport, ended: asyncio.Event) -> None:
        self._output = output
        self._ended = ended
        self._frames = Frames()
        self._load: LoadShare | None = None
        self._share = 0
        self._pulse_delays_s: list[float] = []
        self._lags_s: list[float] = []
        self._starting: asyncio.Task[None] | None = None

    def data_received(self, data: bytes) -> None:
        at_s = time.monotonic()
        for piece in self._frames.feed(data):
            message = to_client.decode(piece)
            if isinstance(message, Pulse):
                self._pulse_delays_s.append(at_s - message.at_s)
            elif isinstance(message, Begin):
                self._starting = asyncio.get_running_loop().create_task(self._start(message))
            else:
                self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended.set()

    async def _start(self, begin: Begin) -> None:
        self._share = begin.share
        try:
            load = LoadShare(begin, LoopTimers(), self._hand_over)
            await load.open()
        except (OSError, ProaError) as error:
            self._output.write(frame(Over(begin.share, error=str(error) or type(error).__name__)))
            return
        except asyncio.CancelledError:
            self._output.write(frame(Over(begin.share, begin.first_number + begin.share)))
            raise
        gc.collect()
        gc.freeze()
        gc.disable()
        self._load = load
        load.start()
        self._note_lag(time.monotonic() + LAG_STEP_S)
        self._tick()

    def _hand_over(self, raw: RawExchange) -> None:
        self._output.write(frame(Ended(raw)))

    def _note_lag(self, due_s: float) -> None:
        """A chain of timers: how late each is, is how long the loop was busy."""
        now_s = time.monotonic()
        self._lags_s.append(max(0.0, now_s - due_s))
        if self._load is not None:
            loop = asyncio.get_running_loop()
            loop.call_later(LAG_STEP_S, self._note_lag, now_s + LAG_STEP_S)

    def _tick(self) -> None:
        load = self._load
        if load is None:
            return
        load.end_late()
        self._output.write(frame(self._told(load)))
        if load.is_over:
            self._stop()
        else:
            asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def _told(self, load: LoadShare) -> Tick:
        delays_s, lags_s = self._pulse_delays_s, self._lags_s
        self._pulse_delays_s, self._lags_s = [], []
        return Tick(
            share=self._share,
            at_s=time.monotonic(),
            on_wire=load.on_wire,
            pausing=load.pausing,
            oldest_sent_s=load.oldest_sent_s(),
            cpu_s=time.process_time(),
            runqueue_s=runqueue_s(),
            late_connects=load.late_connects,
            pulse_delays_s=delays_s,
            loop_lags_s=lags_s,
            reads=load.clock.reads,
            kernel_reads=load.clock.kernel_reads,
            read_delays_s=load.clock.take_delays_s(),
        )

    def _stop(self) -> None:
        load, self._load = self._load, None
        if load is None:
            if self._starting is not None:
                self._starting.cancel()
            return
        load.stop()
        self._output.write(frame(Over(self._share, load.next_number)))
        gc.enable()
        gc.unfreeze()


def runqueue_s() -> float:
    """Seconds that this process was ready to run and waited for a CPU; 0 where not told.

    Source:
        /proc/self/schedstat, second field, nanoseconds.
    """
    try:
        return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


async def serve() -> None:
    """Until standard input ends. Ctrl-C is the run's matter."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    output, _ = await loop.connect_write_pipe(asyncio.Protocol, sys.stdout)
    await loop.connect_read_pipe(lambda: ClientProcess(output, ended), sys.stdin)
    output.write(frame(Up()))
    await ended.wait()


if __name__ == "__main__":
    uvloop.run(serve())
