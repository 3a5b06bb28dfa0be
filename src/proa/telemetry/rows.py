"""Counters of all workers in one shared memory file: one row a worker, one writer a row.

The supervisor makes the file with `SharedRows.create` and hands its descriptor to
the workers, which `attach` and write only their own row; everybody may read all rows.
Row 0 belongs to the supervisor: it keeps the counters of workers that have ended.
A cell is one aligned signed 64-bit integer, so that a read never sees half a write.

Layout of a row, in cells:
    [HEADER cells] [MAX_ENGINES x ENGINE cells] [MAX_KEYS x KEY cells]
    [LINE cells] [MAX_TENANTS x TENANT cells] [GUARD cells]

Behind the rows stand the accounts of tenants (routing/quota/account.py), which all workers
write, each under a lock (gateway/ledger.py).
"""

import mmap
import os
from bisect import bisect_left

from proa.guard.types import TYPES
from proa.routing.quota.account import ACCOUNT_CELLS, Account

MAX_ENGINES = 256
MAX_KEYS = 16_384
MAX_TENANTS = 1024

TTFT_BOUNDS_US = (10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_000_000,
                  5_000_000, 10_000_000, 30_000_000, 60_000_000)  # fmt: skip
DURATION_BOUNDS_US = (10_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
                      10_000_000, 30_000_000, 60_000_000, 300_000_000)  # fmt: skip
_BUCKETS = 13  # twelve bounds and +Inf


class Header:
    """Cells at the start of a row. Gauges come first, up to `HEADER_GAUGES`."""

    PID = 0
    GENERATION = 1
    FLEET_SEQUENCE = 2
    CONNECTIONS = 3
    OPEN_EXCHANGES = 4
    BODY_BYTES = 5
    DRAINING = 6
    ROWS_IN_USE = 7  # in row 0 only
    HEAD_CLASS = 8  # who is first in this worker's queue: 1 + rank, 0 for nobody
    HEAD_SINCE_US = 9  # since when
    HEAD_ENGINES = 10  # a bit for each engine that somebody in the queue can start on
    LOADS_SEQUENCE = 11
    QUEUED = 12  # + rank: how many wait; four cells
    # counters
    ACCEPTED = 16
    REQUESTS = 17
    REFUSED_AUTH = 18
    REFUSED_PROTOCOL = 19
    REFUSED_LIMIT = 20
    REFUSED_NO_ENGINE = 21
    REFUSED_KEY_CAP = 22
    LOG_DROPPED = 23
    LOOP_LAG_US = 24
    ANSWERED_LOCALLY = 25
    WAKE_UPS = 26
    REFUSED_QUEUE_FULL = 27
    REFUSED_SHED = 28
    REFUSED_SATURATED = 29
    REFUSED_DEADLINE = 30
    REFUSED_EXPIRED = 31
    WAIT_SUM_US = 32
    WAIT_BUCKET = 33
    RECORDS_DROPPED = 46


HEADER_GAUGES = 16
HEADER_CELLS = 48


class Engine:
    """Cells of one engine in a row. Gauges come first, up to `ENGINE_GAUGES`."""

    IN_FLIGHT = 0
    LIMITS_IN_FLIGHT = 1  # tokens that clients limit these answers to; as of the last one sent
    IDLE_CONNECTIONS = 2
    WAITING = 3  # streams sent that have not begun
    WAITING_BYTES = 4  # their bodies; beside WAITING
    BREAKER = 5  # 0 closed, 1 half open, 2 open
    # counters; OUTCOME + Outcome value
    OUTCOME = 8
    RETRIES = 16
    CONNECTS = 17
    PROMPT_TOKENS = 18
    COMPLETION_TOKENS = 19
    BROKEN_STREAMS = 20
    TTFT_SUM_US = 22
    RECEIVED = 23  # reads of answers: grows while the engine's traffic moves
    TTFT_BUCKET = 24
    DURATION_SUM_US = 39
    DURATION_BUCKET = 40
    # what speeds are learned from, see gateway/pace.py
    EVENTS = 53  # of streams after their first content, in windows that count
    STREAM_US = 54  # the time of these streams in these windows
    SEQUENCES_US = 55  # the same, each times the sequences that the engine had
    WINDOW_US = 56
    TOLD_EVENTS = 57  # of streams that told their usage
    TOLD_TOKENS = 58  # what that was for these events
    ANSWERS = 59
    ANSWER_TOKENS = 60
    PROMPT_BYTES = 61  # bodies whose prompt tokens were told
    FIRST_COUNT = 62  # streams that met no other prompt: number, time to first content, size
    FIRST_US = 63
    FIRST_UNITS = 64
    FIRST_UNITS2 = 65
    FIRST_UNITS_US = 66
    HELD_BYTE_MS = 67  # the time of streams in windows, each times the bytes of its body
    HELD_EVENT_MS = 68  # the same, each times its events so far
    # second tries beside first ones, by their ends
    HEDGES_WON = 69
    HEDGES_LOST = 70
    HEDGES_FAILED = 71
    # answers by the clients' limits, see domain/lengths.py
    LIMITED_TOKENS = 72  # + class of limit: tokens of whole answers
    LIMITS = 84  # + class of limit: what these were limited to


UNIT_BYTES = 16
"""Of prompts in the sums for time per byte: squares of large bodies must fit in 64 bits."""
ENGINE_GAUGES = 8
ENGINE_CELLS = 96


class Key:
    """Cells of one API key in a row; the first is a gauge."""

    IN_FLIGHT = 0
    REQUESTS = 1


class Line:
    """Cells of a worker's queue as far as tenants take turns in it, four for each: + rank."""

    OLDEST_US = 0  # since when the oldest of the class waits, 0 for nobody
    TENANTS = 4  # a bit for each tenant that waits
    CLOCK = 8  # the class's virtual time, see routing/admission/fairness.py; never falls


class Tenant:
    """Cells of one tenant in a row. Gauges come first, up to `TENANT_GAUGES`."""

    IN_FLIGHT = 0
    WAITING = 1
    HELD_INPUT = 2  # tokens that open requests may still use, see gateway/ledger.py
    HELD_OUTPUT = 3
    TAG = 4  # + rank: its virtual time in the class; never falls
    # counters
    REQUESTS = 8
    REFUSED_CAP = 9
    REFUSED_MODEL = 10
    REFUSED_ROUTE = 11
    STARTED = 12  # of those that had waited
    REFUSED_RATE = 13
    REFUSED_QUOTA = 14
    REFUSED_BUDGET = 15
    INPUT_TOKENS = 16
    OUTPUT_TOKENS = 17
    COST = 18  # in millionths


class Guard:
    """Cells of the guard in a row, all counters; from `FINDINGS` on as `guard_cell` tells."""

    FAILED = 0  # bodies that did not pass because the guard itself failed
    UNREADABLE = 1
    REFUSED_PII = 2
    REFUSED_MEDIA = 3
    REFUSED_LIMIT = 4
    REFUSED_NO_ENGINE = 5
    HELPED = 6  # bodies that the helper process worked on
    HELPERS = 7  # helper processes started
    FINDINGS = 8


GUARD_ACTIONS = ("count", "mask", "token", "block")
OWN_TYPES = "custom"
"""All types of the configuration's own detectors together."""
GUARD_TYPES = (*sorted(TYPES), OWN_TYPES)
_GUARD_TYPE_AT = {type_: index for index, type_ in enumerate(GUARD_TYPES)}
KEY_CELLS = 2
LINE_CELLS = 16
TENANT_GAUGES = 8
TENANT_CELLS = 24
ENGINES_AT = HEADER_CELLS
KEYS_AT = ENGINES_AT + MAX_ENGINES * ENGINE_CELLS
LINE_AT = KEYS_AT + MAX_KEYS * KEY_CELLS
TENANTS_AT = LINE_AT + LINE_CELLS
GUARD_AT = TENANTS_AT + MAX_TENANTS * TENANT_CELLS
GUARD_CELLS = Guard.FINDINGS + 2 * len(GUARD_ACTIONS) * len(GUARD_TYPES)
ROW_CELLS = GUARD_AT + GUARD_CELLS
_ACCOUNTS_BYTES = MAX_TENANTS * ACCOUNT_CELLS * 8


def engine_base(slot: int) -> int:
    """First cell of an engine in a row."""
    return ENGINES_AT + slot * ENGINE_CELLS


def key_base(slot: int) -> int:
    """First cell of an API key in a row."""
    return KEYS_AT + slot * KEY_CELLS


def tenant_base(slot: int) -> int:
    """First cell of a tenant in a row."""
    return TENANTS_AT + slot * TENANT_CELLS


def guard_cell(type_: str, action: str, *, in_answer: bool) -> int:
    """The cell of findings, in the guard's cells; `action` is one of `GUARD_ACTIONS`."""
    at = 2 * _GUARD_TYPE_AT.get(type_, len(GUARD_TYPES) - 1) + in_answer
    return Guard.FINDINGS + at * len(GUARD_ACTIONS) + GUARD_ACTIONS.index(action)


class SharedRows:
    """All rows; `rows[i]` is a memoryview of `ROW_CELLS` signed 64-bit cells."""

    def __init__(self, descriptor: int, row_count: int) -> None:
        self.descriptor = descriptor
        self._active: list[memoryview] = []
        self._map = mmap.mmap(descriptor, row_count * ROW_CELLS * 8 + _ACCOUNTS_BYTES)
        cells = memoryview(self._map).cast("q")
        self._accounts = cells[row_count * ROW_CELLS :]
        self.rows = [cells[i * ROW_CELLS : (i + 1) * ROW_CELLS] for i in range(row_count)]

    @classmethod
    def create(cls, row_count: int) -> "SharedRows":
        """A new zeroed file in memory, with room for `row_count` rows, row 0 included."""
        descriptor = os.memfd_create("proa-rows", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, row_count * ROW_CELLS * 8 + _ACCOUNTS_BYTES)
        return cls(descriptor, row_count)

    @classmethod
    def attach(cls, descriptor: int) -> "SharedRows":
        """The rows of a file that another process created."""
        size = os.fstat(descriptor).st_size - _ACCOUNTS_BYTES
        return cls(descriptor, size // (ROW_CELLS * 8))

    def account(self, slot: int) -> Account:
        """What a tenant has used up, for all workers."""
        return Account(self._accounts[slot * ACCOUNT_CELLS : (slot + 1) * ACCOUNT_CELLS])

    def use(self, index: int) -> None:
        """Make `active` reach as far as row `index`; only the supervisor calls this."""
        self.rows[0][Header.ROWS_IN_USE] = max(self.rows[0][Header.ROWS_IN_USE], index)

    def active(self) -> list[memoryview]:
        """The rows that workers have used so far; those of ended workers are zero."""
        count = self.rows[0][Header.ROWS_IN_USE]
        if len(self._active) != count:
            self._active = self.rows[1 : count + 1]
        return self._active

    def others(self, index: int) -> list[memoryview]:
        """The rows of all workers but the one at `index`."""
        return [row for i, row in enumerate(self.active(), 1) if i != index]

    def engine_in_flight(self, slot: int) -> int:
        """Requests that all workers together have given to an engine and not yet finished."""
        return self.in_flight(engine_base(slot) + Engine.IN_FLIGHT)

    def key_in_flight(self, slot: int) -> int:
        """Open requests of one API key over all workers."""
        return self.in_flight(key_base(slot) + Key.IN_FLIGHT)

    def in_flight(self, cell: int) -> int:
        """Sum of a gauge over the workers."""
        rows = self.active()
        return rows[0][cell] if len(rows) == 1 else sum([row[cell] for row in rows])

    def total(self, cell: int) -> int:
        """Sum of one cell over all rows, that of ended workers included."""
        return self.rows[0][cell] + self.in_flight(cell)

    def forget_engine(self, slot: int) -> None:
        """Clear what ended workers counted in a slot that another engine gets."""
        base = engine_base(slot)
        self.rows[0][base : base + ENGINE_CELLS] = _NO_ENGINE

    def retire(self, index: int) -> None:
        """Fold an ended worker's counters into row 0 and clear its row, gauges included."""
        row, kept = self.rows[index], self.rows[0]
        for cell in _counter_cells():
            if row[cell]:
                kept[cell] += row[cell]
        for cell in _clock_cells():
            kept[cell] = max(kept[cell], row[cell])
        row[:] = memoryview(bytes(ROW_CELLS * 8)).cast("q")


_NO_ENGINE = memoryview(bytes(ENGINE_CELLS * 8)).cast("q")


def _counter_cells() -> list[int]:
    cells = list(range(HEADER_GAUGES, HEADER_CELLS))
    for slot in range(MAX_ENGINES):
        cells += range(engine_base(slot) + ENGINE_GAUGES, engine_base(slot) + ENGINE_CELLS)
    cells += (key_base(slot) + Key.REQUESTS for slot in range(MAX_KEYS))
    for slot in range(MAX_TENANTS):
        cells += range(tenant_base(slot) + TENANT_GAUGES, tenant_base(slot) + TENANT_CELLS)
    cells += range(GUARD_AT, GUARD_AT + GUARD_CELLS)
    return cells


def _clock_cells() -> list[int]:
    """Virtual times: the latest that any worker knows is the time of all."""
    cells = list(range(LINE_AT + Line.CLOCK, LINE_AT + Line.CLOCK + 4))
    for slot in range(MAX_TENANTS):
        cells += range(tenant_base(slot) + Tenant.TAG, tenant_base(slot) + Tenant.TAG + 4)
    return cells


class Tally:
    """Counters of one worker on their way to its row: a list cell costs a fifth of a shared one.

    `counts` has a cell for each of the region that begins at `base` in the row;
    `flush`, a few times a second, adds them to the row. Gauges don't pass through here.
    """

    def __init__(self, row: memoryview, base: int, cells: int) -> None:
        self.counts = [0] * cells
        self._row = row
        self._base = base

    def flush(self) -> None:
        counts = self.counts
        for cell, count in enumerate(counts):
            if count:
                self._row[self._base + cell] += count
                counts[cell] = 0


def observe_wait(counts: list[int], microseconds: int) -> None:
    """Count a time in the queue in the header's histogram, with the bounds of the first token."""
    counts[Header.WAIT_SUM_US] += microseconds
    counts[Header.WAIT_BUCKET + bisect_left(TTFT_BOUNDS_US, microseconds)] += 1


def observe_ttft(counts: list[int], microseconds: int) -> None:
    """Count a time to first token in an engine's histogram."""
    counts[Engine.TTFT_SUM_US] += microseconds
    counts[Engine.TTFT_BUCKET + bisect_left(TTFT_BOUNDS_US, microseconds)] += 1
