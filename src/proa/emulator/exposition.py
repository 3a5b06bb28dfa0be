"""Prometheus text as the imitated engines write it."""

from proa.emulator.stats import Histogram

Labels = dict[str, str]


class Exposition:
    """Collects families in order; `labels` go into every sample."""

    def __init__(self, labels: Labels | None = None) -> None:
        self._labels = labels or {}
        self._lines: list[str] = []

    def counter(self, name: str, value: float, **more: str) -> None:
        self.family(name, "counter", [(more, value)])

    def gauge(self, name: str, value: float, **more: str) -> None:
        self.family(name, "gauge", [(more, value)])

    def family(self, name: str, kind: str, samples: list[tuple[Labels, float]]) -> None:
        """One TYPE line and all samples of a name."""
        self._lines.append(f"# TYPE {name} {kind}")
        for labels, value in samples:
            self._lines.append(f"{name}{self._braces(labels)} {float(value)!r}")

    def histogram(self, name: str, histogram: Histogram) -> None:
        self._lines.append(f"# TYPE {name} histogram")
        total = 0
        bounds = [*(repr(float(bound)) for bound in histogram.bounds), "+Inf"]
        for bound, count in zip(bounds, histogram.counts, strict=True):
            total += count
            self._lines.append(f"{name}_bucket{self._braces({'le': bound})} {float(total)!r}")
        self._lines.append(f"{name}_count{self._braces({})} {float(total)!r}")
        self._lines.append(f"{name}_sum{self._braces({})} {float(histogram.sum)!r}")

    def text(self) -> bytes:
        return ("\n".join(self._lines) + "\n").encode()

    def _braces(self, more: Labels) -> str:
        labels = sorted({**self._labels, **more}.items())
        inside = ",".join(f'{key}="{value}"' for key, value in labels)
        return f"{{{inside}}}" if inside else ""
