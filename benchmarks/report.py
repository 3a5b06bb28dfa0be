"""What was measured, as data with stable keys and as a table."""

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.load import STREAMS
from benchmarks.measure import PairSample, RunStats

COALESCED = 1.2
"""Above so many events in one read, CPU per event says little: the gateway came too late."""


def report(stats: RunStats) -> dict[str, Any]:
    """All figures; times in microseconds where a name says `_us`."""
    return {
        "machine": stats.machine,
        "json_request": _pairs(stats.json),
        "streamed_event": _pairs(stats.streams) | _carried(stats.streams),
        "variants": {name: _pairs(pairs) for name, pairs in stats.variants.items()},
        "latency_us": {name: _latency(found) for name, found in stats.latencies_ns.items()},
        "resident_bytes": {
            "proa": max(pair.proa.resident_bytes for pair in stats.streams),
            "nginx": max(pair.nginx.resident_bytes for pair in stats.streams),
        },
        "supervisor_cpu_ms_per_s": statistics.median(
            pair.proa.apart_ns / pair.proa.seconds / 1e6 for pair in stats.json + stats.streams
        ),
        "help_s": statistics.median(stats.help_s),
    }


def _pairs(pairs: Sequence[PairSample]) -> dict[str, Any]:
    return {
        "ratio": statistics.median(pair.ratio for pair in pairs),
        "ratios": [pair.ratio for pair in pairs],
        "proa_cpu_us": statistics.median(pair.proa.cpu_us for pair in pairs),
        "nginx_cpu_us": statistics.median(pair.nginx.cpu_us for pair in pairs),
        "proa_per_s": statistics.median(pair.proa.per_s for pair in pairs),
        "nginx_per_s": statistics.median(pair.nginx.per_s for pair in pairs),
        "proa_busy": statistics.median(pair.proa.busy for pair in pairs),
        "nginx_busy": statistics.median(pair.nginx.busy for pair in pairs),
    }


def _carried(pairs: Sequence[PairSample]) -> dict[str, Any]:
    return {
        "streams": STREAMS,
        "proa_events_per_read": statistics.median(p.proa.count / p.proa.reads for p in pairs),
        "nginx_events_per_read": statistics.median(p.nginx.count / p.nginx.reads for p in pairs),
    }


def _latency(found_ns: Sequence[int]) -> dict[str, float]:
    cuts = statistics.quantiles(found_ns, n=100, method="inclusive")
    return {"p50": cuts[49] / 1e3, "p99": cuts[98] / 1e3}


def table(data: dict[str, Any]) -> str:
    """The figures for a person."""
    apart = data["supervisor_cpu_ms_per_s"]
    lines = [
        "{cpus} × {cpu}, Linux {kernel}, Python {python}, nginx {nginx}".format(**data["machine"]),
        "",
        f"{'':34}{'proa':>10}{'nginx':>10}{'ratio':>8}   {'a second: proa, nginx':>24}",
        _line("CPU µs, JSON request", data["json_request"]),
        _line(f"CPU µs, event ({STREAMS} streams)", data["streamed_event"]),
        *(_line(f"  JSON, {name}", pairs) for name, pairs in data["variants"].items()),
        "",
        *(
            f"{'latency, ' + name:34}{found['p50']:>8.0f} µs P50{found['p99']:>8.0f} µs P99"
            for name, found in data["latency_us"].items()
        ),
        f"{'memory of the data plane':34}{_mib(data, 'proa')} proa{_mib(data, 'nginx')} nginx",
        f"{'supervisor and control plane':34}{apart:>8.1f} ms of CPU a second",
        f"{'proa --help':34}{data['help_s'] * 1e3:>8.0f} ms",
    ]
    return "\n".join((*lines, *_warnings(data["streamed_event"])))


def _line(name: str, pairs: dict[str, Any]) -> str:
    rates = f"{pairs['proa_per_s']:,.0f}, {pairs['nginx_per_s']:,.0f}"
    cpu = f"{pairs['proa_cpu_us']:>10.1f}{pairs['nginx_cpu_us']:>10.1f}"
    return f"{name:34}{cpu}{pairs['ratio']:>7.2f}×   {rates:>24}"


def _mib(data: dict[str, Any], name: str) -> str:
    return f"{data['resident_bytes'][name] / 2**20:>8.1f} MiB"


def _warnings(streams: dict[str, Any]) -> list[str]:
    late = [
        f"{name} wrote {streams[name + '_events_per_read']:.2f} events at a time: this machine "
        "was too busy for one by one, and CPU per event is too low"
        for name in ("proa", "nginx")
        if streams[name + "_events_per_read"] > COALESCED
    ]
    return ["", *late] if late else []
