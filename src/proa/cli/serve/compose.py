"""The one place that knows every class: supervisor, registry and control API as one program."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from zoneinfo import ZoneInfo

import msgspec

import proa
from proa.cli.serve.admin_desk import AdminDesk
from proa.cli.serve.control_server import ControlServer
from proa.cli.serve.discovery_doors import Discoveries, source_of
from proa.cli.serve.engine_book import open_book
from proa.cli.serve.live_engines import LiveEngines
from proa.cli.serve.speed_watch import SpeedWatch, remembered_speeds
from proa.cli.serve.systemd import Notifier
from proa.cli.serve.watch import FileWatch
from proa.cli.serve.welcome import welcome
from proa.config.environment import ServiceEnvironment
from proa.config.faults import ConfigFaults
from proa.config.load import LoadedConfig
from proa.config.runtime_engine import engine_schemas
from proa.control.admin import engine_operations
from proa.control.app import control_app
from proa.control.learned_speeds import LearnedSpeeds
from proa.control.record_keeper import RecordKeeper
from proa.control.registry import Registry
from proa.control.state_file import StateFile
from proa.control.tenant_standings import standing
from proa.control.usage_keeper import Counted, UsageKeeper
from proa.domain.request_record import AdminAction
from proa.errors import ProaError
from proa.gateway.listeners import inherited_socket
from proa.gateway.supervisor import Supervisor
from proa.routing.quota.periods import Moment, Periods
from proa.telemetry.logs import open_log
from proa.telemetry.process import GatewayView, ProcessView, ReloadView, TenantStanding

FORCED = 130
_LOOK_S = 0.5
_FIRST_LOOK_S = 2.0


async def serve(
    config: LoadedConfig,
    read: Callable[[], LoadedConfig],
    service: ServiceEnvironment,
    language: str,
) -> int:
    """Run until SIGTERM or SIGINT; `read` gives the settings anew for a reload.

    Returns 0 after a drain, 130 when a second signal cut it short.

    Raises:
        ProaError: the program could not start.
    """
    program = Program(config, read, service, language)
    try:
        await program.start()
        await program.run()
        return await program.drain()
    finally:
        await program.close()


class Program:
    """The running gateway: its parts, and what signals and changed files do to them."""

    def __init__(
        self,
        config: LoadedConfig,
        read: Callable[[], LoadedConfig],
        service: ServiceEnvironment,
        language: str,
    ) -> None:
        self._read = read
        self._language = language
        self._watchdog_s = service.watchdog_s
        self._notifier = Notifier(service.notify_socket)
        self._watch = FileWatch(config.files)
        self._logs = config.gateway.logs
        self._log = open_log(self._logs.path, format=self._logs.format)
        listeners = [inherited_socket(descriptor) for descriptor in service.listen_fds]
        state = StateFile(config.state_file, self._log)
        book = open_book(config, state, self._log)
        effective = book.settings()
        self._keeper = RecordKeeper(config.control.records, self._log, clock=time.time)
        self._supervisor = Supervisor(
            effective.gateway, log=self._log, listeners=listeners, on_records=self._keeper.take
        )
        self._periods = Periods(ZoneInfo(config.gateway.time_zone))
        self._usage = UsageKeeper(
            config.control.usage,
            Counted(self._supervisor.rows, lambda: self._supervisor.tenant_slots, self._moment),
            self._log,
            writer=os.urandom(8).hex(),
        )
        speeds = LearnedSpeeds(
            self._supervisor.rows,
            lambda: self._supervisor.engine_slots,
            remembered=remembered_speeds(state),
        )
        self._registry = Registry(
            effective.control, audience=self._supervisor, log=self._log, knowledge=speeds
        )
        self._speed_watch = SpeedWatch(speeds, self._registry, state, self._log)
        self._live = LiveEngines(
            book,
            state=state,
            supervisor=self._supervisor,
            registry=self._registry,
            log=self._log,
        )
        self._discoveries = Discoveries(self._live.found, self._log)
        desk = AdminDesk(self._live, self._discoveries, view=self._view, reload=self._reload)
        operations = engine_operations(desk, *engine_schemas())
        self._last_reload: ReloadView | None = None
        self._control = ControlServer(
            control_app(self._view, lambda: self._config.control, operations, self._on_action),
            self._log,
        )
        self._reloading = asyncio.Lock()
        self._wake = asyncio.Event()
        self._stop_signals = 0
        self._must_reload = False
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def _config(self) -> LoadedConfig:
        """The settings in force."""
        return self._live.config

    async def start(self) -> None:
        """Bring everything up and tell where it is.

        Raises:
            ProaError: an address cannot be used, or no worker came up.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_stop)
        loop.add_signal_handler(signal.SIGHUP, self._on_reload)
        loop.add_signal_handler(signal.SIGUSR1, self._reopen_logs)
        self._supervisor.assign()
        await self._usage.sync()  # what was used before counts for the first request
        self._supervisor.publish(self._registry.fleet)
        looking = asyncio.create_task(self._look_first())
        try:
            await self._supervisor.start()
            await looking
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
        await self._control.move(self._config.control.listen)
        self._registry.start()
        await self._discoveries.follow(self._config.control.discovery)
        await self._discoveries.first_looks()
        self._tasks.append(asyncio.create_task(self._speed_watch.follow()))
        self._tasks.append(asyncio.create_task(self._keeper.run()))
        self._tasks.append(asyncio.create_task(self._usage.run()))
        if self._watchdog_s is not None:
            self._tasks.append(asyncio.create_task(self._keep_alive(self._watchdog_s / 2)))
        addresses, control = self._supervisor.addresses, self._control.address
        told = welcome(self._config, addresses, control, self._language)
        print(told, file=sys.stderr, flush=True)
        self._notifier.ready()

    async def _look_first(self) -> None:
        """Ask every engine once, so that the first client finds the models."""
        polls = [self._registry.poll(engine.name) for engine in self._config.control.engines]
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*polls), _FIRST_LOOK_S)

    async def run(self) -> None:
        """Reload when asked to or when files changed; ends with the first stop signal."""
        while not self._stop_signals:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), _LOOK_S)
            self._wake.clear()
            if self._watch.changed() or self._must_reload:
                self._must_reload = False
                with suppress(ProaError):  # told in the log and the status
                    await self._reload()
            self._log.flush()

    async def drain(self) -> int:
        """Let requests in progress end; the exit code."""
        self._notifier.stopping()
        self._log.event("info", "draining")
        await self._discoveries.close()
        await self._live.close()
        await self._supervisor.drain()
        return FORCED if self._stop_signals > 1 else 0

    async def close(self) -> None:
        """Leave nothing behind, however far the start came."""
        for task in self._tasks:
            task.cancel()
        self._speed_watch.write()
        await self._discoveries.close()
        await self._live.close()
        self._supervisor.kill()
        await self._control.stop()
        await self._registry.close()
        await self._keeper.close()
        await self._usage.close()
        self._log.close()

    async def _reload(self) -> tuple[list[str], list[str]]:
        """Read the file again; warnings and notes.

        Raises:
            ProaError: it cannot be used, and the old settings stay.
        """
        async with self._reloading:
            self._notifier.reloading()
            error, warnings, config = "", list[str](), self._config
            try:
                config = self._read()
                warnings, notes = await self._apply(config)
            except ProaError as refusal:
                error = str(refusal)
                files = refusal.files if isinstance(refusal, ConfigFaults) else ()
                self._watch.read_again(files or config.files)
                self._log.event("error", "settings refused, the old ones stay", error=error)
                raise
            finally:
                told = ReloadView(at_s=time.time(), error=error, warnings=tuple(warnings))
                self._last_reload = told
                self._notifier.ready()
            self._watch.read_again(config.files)
            self._log.event(
                "warning" if warnings else "info",
                "settings reloaded",
                generation=self._supervisor.generation,
                warnings=warnings or None,
                notes=notes or None,
            )
        return warnings, notes

    async def _apply(self, config: LoadedConfig) -> tuple[list[str], list[str]]:
        """What can fail goes first, and is taken back when a later step fails."""
        before = self._config
        try:
            for spec in config.control.discovery:
                source_of(spec)
            await self._move(config)
            told = await self._live.take(config)
        except ProaError:
            await self._move(before)
            raise
        await self._discoveries.follow(config.control.discovery)
        await self._keeper.follow(config.control.records)
        self._periods = Periods(ZoneInfo(config.gateway.time_zone))
        await self._usage.follow(config.control.usage)
        return told

    async def _move(self, config: LoadedConfig) -> None:
        await self._control.move(config.control.listen)
        if config.gateway.logs != self._logs:
            self._log.move(config.gateway.logs.path, format=config.gateway.logs.format)
            self._logs = config.gateway.logs

    def _on_action(self, action: AdminAction) -> None:
        self._keeper.note(action)
        self._log.event(
            "info",
            "admin action",
            who=action.who,
            method=action.method,
            path=action.path,
            status=action.status,
            detail=action.detail or None,
        )

    async def _keep_alive(self, every_s: float) -> None:
        while True:
            self._notifier.alive()
            await asyncio.sleep(every_s)

    def _on_stop(self) -> None:
        self._stop_signals += 1
        self._wake.set()
        if self._stop_signals > 1:
            self._supervisor.kill()

    def _on_reload(self) -> None:
        self._must_reload = True
        self._wake.set()

    def _reopen_logs(self) -> None:
        self._supervisor.reopen_logs()
        try:
            self._log.reopen()
        except ProaError as error:
            self._log.event("error", "log not opened anew", error=str(error))

    def _moment(self) -> Moment:
        return self._periods.at(time.time(), time.monotonic())

    def _standings(self) -> dict[str, TenantStanding]:
        supervisor, moment = self._supervisor, self._moment()
        slots = supervisor.tenant_slots
        return {
            tenant.name: standing(supervisor.rows, slots[tenant.name], tenant.quota, moment)
            for tenant in supervisor.settings.tenants
        }

    def _view(self) -> GatewayView:
        supervisor = self._supervisor
        process = ProcessView(
            generation=supervisor.generation,
            workers=supervisor.workers(),
            worker_restarts=supervisor.worker_restarts,
            draining=supervisor.draining,
            last_reload=self._last_reload,
            log_lines_dropped=self._log.dropped,
            records=self._keeper.view,
            usage=msgspec.structs.replace(self._usage.view, standings=self._standings),
        )
        return GatewayView(
            rows=supervisor.rows,
            engine_slots=supervisor.engine_slots,
            key_slots=supervisor.key_slots,
            fleet=self._registry.fleet,
            process=process,
            version=proa.__version__,
            loads=self._registry.loads,
            now_s=time.monotonic(),
            tenant_slots=supervisor.tenant_slots,
        )
