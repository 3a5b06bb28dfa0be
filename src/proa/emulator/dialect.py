"""What every protocol has in common: routes, the emulator's own paths, a request's scheduling.

A protocol is a subclass in a file of its own. Paths of the emulator itself:
`GET /version` and `GET /emulator/status` tell that it is one and how it does,
`POST /emulator/speed` with `{"factor": 0.2}` makes it five times slower from now on.
"""

from collections.abc import Callable

import msgspec

import proa
from proa.emulator.engine import RealTimeEngine
from proa.emulator.exchange import Generation, Refused, Reply, Request, json_reply

Handler = Callable[[Request], Reply | Generation]


class _Speed(msgspec.Struct, forbid_unknown_fields=True):
    factor: float


class Dialect:
    """One engine's protocol around an emulated engine; the base of all protocols.

    `version` is the engine's version that is imitated. `notices_close_after_s` is how
    long a closed client of a whole answer goes unnoticed.
    """

    version = ""
    notices_close_after_s = 0.0

    def __init__(self, engine: RealTimeEngine, clock: Callable[[], float]) -> None:
        """`clock` gives Unix time, for the `created` fields."""
        self.engine = engine
        self.profile = engine.profile
        self.created = int(clock())
        self._clock = clock
        self._number = 0
        self._routes: dict[str, dict[str, Handler]] = {}
        self.route("GET", "/version", self._version)
        self.route("GET", "/emulator/status", self._status)
        self.route("POST", "/emulator/speed", self._set_speed)

    def route(self, method: str, path: str, handler: Handler) -> None:
        self._routes.setdefault(path, {})[method] = handler

    def answer(self, request: Request) -> Reply | Generation:
        """What becomes of a request; errors come in the protocol's own form."""
        methods = self._routes.get(request.path)
        if methods is None:
            return self.not_found()
        handler = methods.get(request.method)
        if handler is None:
            return self.wrong_method(tuple(methods))
        try:
            return handler(request)
        except Refused as refused:
            return refused.reply

    def not_found(self) -> Reply:
        return json_reply({"detail": "Not Found"}, 404)

    def wrong_method(self, allowed: tuple[str, ...]) -> Reply:
        body = msgspec.json.encode({"detail": "Method Not Allowed"})
        return Reply(405, body, headers=(("allow", ", ".join(allowed)),))

    def now(self) -> int:
        """Unix time, in whole seconds."""
        return int(self._clock())

    def next_id(self) -> str:
        """16 hexadecimal digits, another one each time, the same in every run."""
        self._number += 1
        return f"{self.profile.seed & 0xFFFFFFFF:08x}{self._number:08x}"

    def _version(self, _: Request) -> Reply:
        emulator = {"program": f"proa {proa.__version__}", "profile": self.profile.name}
        return json_reply({"version": self.version, "emulator": emulator})

    def _status(self, _: Request) -> Reply:
        engine, scheduler = self.engine, self.engine.scheduler
        stats = scheduler.stats
        return json_reply(
            {
                "profile": self.profile.name,
                "source": self.profile.source,
                "speed": engine.speed,
                "running": len(scheduler.running),
                "waiting": len(scheduler.waiting),
                "kv_use": scheduler.kv.use,
                "finished": stats.finished,
                "cancelled": stats.cancelled,
                "rejected": stats.rejected,
                "preemptions": stats.preemptions,
                "steps": stats.steps,
                "lag_max_s": engine.lag_max_s,
                "skipped_s": engine.skipped_s,
            }
        )

    def _set_speed(self, request: Request) -> Reply:
        try:
            factor = msgspec.json.decode(request.body, type=_Speed).factor
        except msgspec.DecodeError:
            factor = 0.0
        if not 0.001 <= factor <= 1000:
            accepted = 'accepted is {"factor": F}, F from 0.001 to 1000, 1 being the profile\'s'
            return json_reply({"detail": f"/emulator/speed: {accepted}"}, 400)
        self.engine.speed = factor
        return json_reply({"factor": factor})
