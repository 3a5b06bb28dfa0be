"""The demo's processes: two llama.cpp engines of unequal strength and the gateway."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.resources import files
from pathlib import Path
from string import Template

import msgspec

from proa.cli.demo.settings import DemoSettings
from proa.providers import llamacpp_server
from proa.providers.local import LocalProcess, LocalProcessSpec, cpu_for_each, free_port

SLOTS = {"main": 4, "aux": 2}
HOST = "127.0.0.1"


class DemoFleet(msgspec.Struct, frozen=True):
    """Where everything listens; `cpus` are the engines' cores, empty when not pinned."""

    engine_urls: dict[str, str]
    gateway: LocalProcess
    gateway_url: str
    control_url: str
    config_path: Path
    cpus: dict[str, int]
    model: str


def engine_specs(gguf: Path, directory: Path, *, model: str) -> list[LocalProcessSpec]:
    """`main` and `aux`: one compute thread each, each on a core of its own where there are two."""
    specs = []
    for (name, slots), cpu in zip(SLOTS.items(), cpu_for_each(len(SLOTS)), strict=True):
        port = free_port()
        specs.append(
            LocalProcessSpec(
                name=name,
                command=llamacpp_server.command(
                    sys.executable, gguf=gguf, port=port, slots=slots, alias=model
                ),
                log_path=directory / f"{name}.log",
                ready_url=f"http://{HOST}:{port}/health",
                cpu=cpu,
            )
        )
    return specs


def gateway_spec(config_path: Path, control_url: str) -> LocalProcessSpec:
    """`proa serve`; it drains on the kernel's SIGTERM too, should the demo be killed."""
    return LocalProcessSpec(
        name="gateway",
        command=(sys.executable, "-m", "proa", "serve", str(config_path)),
        log_path=config_path.with_name("gateway.log"),
        ready_url=f"{control_url}/readyz",
        ready_timeout_s=20.0,
        death_signal=signal.SIGTERM,
    )


def sample_config(
    engine_urls: dict[str, str], directory: Path, *, listen: str, control_listen: str
) -> str:
    """`proa.toml` with the addresses of this run."""
    template = Template(files("proa.cli.demo").joinpath("proa.toml").read_text(encoding="utf-8"))
    return template.substitute(
        listen=listen,
        control_listen=control_listen,
        log_path=directory / "requests.log",
        **{f"{name}_url": url for name, url in engine_urls.items()},
    )


@asynccontextmanager
async def running_fleet(settings: DemoSettings) -> AsyncIterator[DemoFleet]:
    """Everything up and ready; all of it is stopped at the end, however that comes.

    Raises:
        UpstreamError: a process did not come up; the message has its last lines.
    """
    directory, listen, model = settings.directory, settings.listen, settings.model
    engines = engine_specs(settings.gguf, directory, model=model)
    engine_urls = {spec.name: spec.ready_url.removesuffix("/health") for spec in engines}
    control_listen = f"{HOST}:{free_port()}"
    config_path = directory / "proa.toml"
    config_path.write_text(
        sample_config(engine_urls, directory, listen=listen, control_listen=control_listen),
        encoding="utf-8",
    )
    control_url = f"http://{control_listen}"
    async with AsyncExitStack() as stack:
        gateway, *_ = await start_all(stack, [gateway_spec(config_path, control_url), *engines])
        yield DemoFleet(
            engine_urls=engine_urls,
            gateway=gateway,
            gateway_url=f"http://{listen}",
            control_url=control_url,
            config_path=config_path,
            cpus={spec.name: spec.cpu for spec in engines if spec.cpu is not None},
            model=model,
        )


async def start_all(stack: AsyncExitStack, specs: Sequence[LocalProcessSpec]) -> list[LocalProcess]:
    """Start them at the same time, wait for all; `stack` stops them."""
    processes = [await stack.enter_async_context(LocalProcess(spec)) for spec in specs]
    await asyncio.gather(*(process.wait_ready() for process in processes))
    return processes
