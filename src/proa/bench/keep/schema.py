"""The tables of a kept file, and who may read them.

A file holds one measurement of one kind (`about.kind`: run, compare, combine, quality, import).
Times are seconds of its monotonic clock, 0 at its start; a run's `start` has that zero on the
client's monotonic and on the wall clock. Floats are SQLite's REAL, the same 64 bits. NULL is "not
measured".
"""

import sqlite3
from pathlib import Path

from proa.errors import InputError

APPLICATION_ID = 0x70726F61  # "proa" in ASCII
VERSION = 2

TABLES = """
CREATE TABLE about (             -- kind, start, end: JSON
  key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE visits (            -- one visit of a level; the window is NULL until it ended
  level INTEGER PRIMARY KEY, users INTEGER, rate REAL, begin_s REAL NOT NULL,
  start_s REAL, end_s REAL, sent_before_s REAL, cause TEXT, next_number INTEGER,
  engines_before TEXT NOT NULL, engines_after TEXT);
CREATE TABLE requests (          -- a row per request, in the order of their ends
  seq INTEGER PRIMARY KEY, number INTEGER NOT NULL, target TEXT NOT NULL,
  level INTEGER NOT NULL, user INTEGER NOT NULL, users INTEGER, rate REAL,
  is_stopped INTEGER NOT NULL, prompt TEXT NOT NULL,
  input_tokens_asked INTEGER, output_tokens_asked INTEGER,
  scheduled_s REAL, sent_s REAL NOT NULL, wired_s REAL, first_byte_s REAL,
  first_content_s REAL, first_visible_s REAL, last_content_s REAL, end_s REAL,
  status INTEGER, failure TEXT, failure_text TEXT NOT NULL, finish_reason TEXT,
  input_tokens INTEGER, cached_tokens INTEGER, reasoning_tokens INTEGER,
  output_tokens INTEGER, token_source TEXT, first_tokens INTEGER,
  hidden_reasoning INTEGER NOT NULL, reads INTEGER NOT NULL,
  ended_s REAL NOT NULL,         -- when the bench was told of the end
  events BLOB NOT NULL);         -- content events, see rows.py
CREATE TABLE ticks (             -- how each client process was, ten times a second
  seq INTEGER PRIMARY KEY, level INTEGER NOT NULL, share INTEGER NOT NULL,
  at_s REAL NOT NULL, tick BLOB NOT NULL);
CREATE TABLE gauges (            -- what engines and GPUs told of themselves
  at_s REAL NOT NULL, source TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL);
CREATE TABLE pairs (             -- compare: two requests by their seq, direct and gateway
  seq INTEGER PRIMARY KEY, round INTEGER NOT NULL, tokens INTEGER NOT NULL,
  direct_first INTEGER NOT NULL, is_warmup INTEGER NOT NULL, is_probe INTEGER NOT NULL,
  direct INTEGER NOT NULL, gateway INTEGER NOT NULL);
CREATE TABLE blocks (            -- combine: what a visit was a block of
  level INTEGER PRIMARY KEY, round INTEGER NOT NULL, part INTEGER NOT NULL);
CREATE TABLE answers (           -- quality: in the order of their coming; JSON lists
  seq INTEGER PRIMARY KEY, side TEXT NOT NULL, case_id TEXT NOT NULL, text TEXT NOT NULL,
  failure TEXT, failure_text TEXT NOT NULL, finish_reason TEXT, output_tokens INTEGER,
  tokens TEXT NOT NULL, logprobs TEXT NOT NULL);
"""


def create(path: Path) -> sqlite3.Connection:
    """A new file with empty tables.

    Raises:
        InputError: there is such a file, or it cannot be written.
    """
    if path.exists():
        raise InputError(f"{path}: the file is there already; a run is not written over")
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        # A killed process loses no page that it handed over; only a crash of the machine could,
        # and between levels there is a sync.
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.executescript(f"BEGIN;{TABLES}COMMIT;")
    except sqlite3.Error as error:
        raise InputError(f"{path}: {error}") from None
    return connection


def open_run(path: Path) -> sqlite3.Connection:
    """A kept file for reading; one whose writer was killed is brought in order first.

    Raises:
        InputError: no file, no run of proa, or one of another version.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        connection = sqlite3.connect(path, isolation_level=None)
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.Error as error:
        raise InputError(f"{path}: not a run of proa bench ({error})") from None
    if application != APPLICATION_ID:
        connection.close()
        raise InputError(f"{path}: an SQLite file, but no run of proa bench")
    if version != VERSION:
        connection.close()
        raise InputError(
            f"{path}: a run in version {version} of the file format; this proa reads version "
            f"{VERSION}"
        )
    return connection
