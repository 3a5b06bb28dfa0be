"""Whose stamps an answer has: the kernel's over plain http, the loop's with TLS."""

import asyncio
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest

from proa.bench.arrival_clock import ArrivalClock
from proa.bench.client import TargetClient
from proa.bench.decode import VisitLabel, decoded
from proa.bench.raw import Asked, RawExchange
from proa.bench.target import TargetSpec, any_tls
from proa.testing.chat import chat_events
from proa.testing.replies import sse_reply
from proa.testing.scripted_engine import ScriptedEngine


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that is its own authority; the key is in the same file."""
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", "/CN=engine", "-addext",
            "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate),
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    certificate.write_bytes(certificate.read_bytes() + key.read_bytes())
    return certificate


async def asked(target: TargetSpec, clock: ArrivalClock, *, until_stamped: bool) -> RawExchange:
    """The first answer; or the first with a kernel's stamp, which come a moment after asking."""
    client = TargetClient(target, clock=clock)
    await client.open(1)
    while True:
        ended: asyncio.Future[RawExchange] = asyncio.get_running_loop().create_future()
        raw = RawExchange(Asked(0, 0, 0), time.monotonic(), times=[], reads=[])
        client.send(raw, b'{"stream":true}', ended.set_result)
        await ended
        if clock.kernel_reads or not until_stamped:
            break
    client.stop()
    return raw


async def test_tls_has_the_loops_stamps(certificate: Path) -> None:
    """A record is read when it is whole, and the transport keeps no time of its bytes."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    clock = ArrivalClock()
    async with ScriptedEngine([sse_reply(chat_events())], tls=context) as engine:
        target = TargetSpec(name="t", url=engine.url, ca_file=str(certificate))
        raw = await asked(target, clock, until_stamped=False)
    sample = decoded(raw, VisitLabel(0), ("t",), origin_s=0.0)
    assert (sample.failure, sample.output_tokens) == (None, 3)
    assert clock.reads == len(raw.reads) > 0
    assert clock.kernel_reads == 0
    assert any_tls([TargetSpec(name="a", url="http://h"), target])


@pytest.mark.parametrize("asks_kernel", [False, sys.platform == "linux"])
async def test_plain_http_has_stamps_of_either(asks_kernel: bool) -> None:
    clock = ArrivalClock(asks_kernel=asks_kernel)
    async with ScriptedEngine(lambda _: sse_reply(chat_events())) as engine:
        target = TargetSpec(name="t", url=engine.url)
        raw = await asked(target, clock, until_stamped=asks_kernel)
    sample = decoded(raw, VisitLabel(0), ("t",), origin_s=0.0)
    assert (sample.failure, sample.output_tokens) == (None, 3)
    assert sample.ttft_s is not None
    assert 0 < sample.ttft_s <= time.monotonic() - raw.sent_s
    assert bool(clock.kernel_reads) is asks_kernel
    assert not any_tls([target])
