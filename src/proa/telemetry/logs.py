"""Log lines: one per request and one per event, as JSON or text, never a prompt or a header."""

import re
import time
from collections.abc import Callable
from typing import Literal

import msgspec

from proa.domain.request_record import RequestRecord
from proa.telemetry.sink import STANDARD_OUTPUT, LineSink

Level = Literal["debug", "info", "warning", "error"]
LogValue = str | int | float | bool | None | list[str]

MAX_MODEL_CHARS = 128
MAX_PATH_CHARS = 512
_MAX_EVENT_CHARS = 2048
_PLAIN = re.compile(r"[!#-<>-~]+", re.ASCII)  # printable ASCII but the space, `"` and `=`


class Log:
    """Lines with a time stamp (UTC, milliseconds), written without ever waiting.

    `flush` belongs into a sweep of a few times a second; an event is flushed at once.
    """

    def __init__(
        self,
        sink: LineSink,
        *,
        format: Literal["json", "text"] = "json",  # noqa: A002 - the name of the setting
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._sink = sink
        self._as_json = format == "json"
        self._clock = clock
        self._second = -1
        self._second_text = ""
        self._encode = msgspec.json.Encoder().encode

    @property
    def dropped(self) -> int:
        """Lines lost so far because nobody took them."""
        return self._sink.dropped

    def request(self, record: RequestRecord) -> None:
        """Log a finished request; the record is cut to its bounds in place."""
        cut(record)
        if self._as_json:
            self._sink.append(b'{"ts":"%b",%b\n' % (self._stamp(), self._json(record)[1:]))
        else:
            self._sink.append(b"%b REQUEST%b\n" % (self._stamp(), _pairs(_fields(record))))

    def event(self, level: Level, message: str, **fields: LogValue) -> None:
        """Log something that happened to the program itself, and flush."""
        message = message[:_MAX_EVENT_CHARS]
        if self._as_json:
            line = self._json({"level": level, "message": message, **fields})
            self._sink.append(b'{"ts":"%b",%b\n' % (self._stamp(), line[1:]))
        else:
            words = f" {level.upper()} {_one_line(message)}".encode("utf-8", "replace")
            self._sink.append(b"%b%b%b\n" % (self._stamp(), words, _pairs(fields)))
        self._sink.flush()

    def flush(self) -> bool:
        """Write what can be written now; False when something is left for later."""
        return self._sink.flush()

    def reopen(self) -> None:
        """After a log rotation (SIGUSR1): write to a new file of the same path.

        Raises:
            InputError: the path cannot be opened; the old file stays in use.
        """
        self._sink.reopen()

    def move(self, path: str, *, format: Literal["json", "text"]) -> None:  # noqa: A002 - as above
        """Write to another path, or in another form, from now on.

        Raises:
            InputError: the path cannot be opened; the old one stays in use.
        """
        sink = LineSink(path)
        self._sink.close()
        sink.dropped = self._sink.dropped
        self._sink, self._as_json = sink, format == "json"

    def close(self) -> None:
        self._sink.close()

    def _json(self, value: object) -> bytes:
        try:
            return self._encode(value)
        except UnicodeEncodeError:  # half a surrogate pair out of a client's JSON
            return self._encode(_printable(msgspec.to_builtins(value)))

    def _stamp(self) -> bytes:
        now_s = self._clock()
        second = int(now_s)
        if second != self._second:
            self._second = second
            self._second_text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._second_text}.{int((now_s - second) * 1000):03d}Z".encode()


def cut(record: RequestRecord) -> None:
    """Times to tenths of milliseconds; what a client may make long, to its bounds."""
    record.path = record.path.partition("?")[0][:MAX_PATH_CHARS]
    record.duration_ms = round(record.duration_ms, 1)
    if record.queued_ms is not None:
        record.queued_ms = round(record.queued_ms, 1)
    if record.ttft_ms is not None:
        record.ttft_ms = round(record.ttft_ms, 1)
    if record.model is not None and len(record.model) > MAX_MODEL_CHARS:
        record.model = record.model[:MAX_MODEL_CHARS]


def open_log(path: str = STANDARD_OUTPUT, *, format: Literal["json", "text"] = "json") -> Log:  # noqa: A002 - the name of the setting
    """A log on `path`, `-` for standard output.

    Raises:
        InputError: the path cannot be opened.
    """
    return Log(LineSink(path), format=format)


def _fields(record: RequestRecord) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def _pairs(fields: "dict[str, LogValue] | dict[str, object]") -> bytes:
    """` name=value` for each known value; a value that is not plain is quoted as JSON."""
    pairs = [f" {name}={_word(value)}" for name, value in fields.items() if value is not None]
    return "".join(pairs).encode("utf-8", "replace")


def _word(value: object) -> str:
    if isinstance(value, list):
        value = ",".join(value)
    if isinstance(value, str) and not _PLAIN.fullmatch(value):
        return msgspec.json.encode(_printable(value)).decode()
    return str(value).lower() if isinstance(value, bool) else str(value)


def _one_line(message: str) -> str:
    return "".join(char if char.isprintable() else " " for char in message)


def _printable(value: object) -> object:
    """The same without lone surrogates, which have no UTF-8 form."""
    if isinstance(value, dict):
        return {name: _printable(inner) for name, inner in value.items()}
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return value
