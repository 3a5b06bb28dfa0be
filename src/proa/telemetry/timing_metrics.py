"""How fast the engines are thought to be, as metrics. What is not known has no sample."""

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

from proa.domain.timing import EngineTiming
from proa.telemetry.families import engine_gauge
from proa.telemetry.process import GatewayView

_GAUGES: tuple[tuple[str, str, Callable[[EngineTiming], float | None]], ...] = (
    ("proa_engine_step_base_seconds", "A decode step's part that does not grow.",
     lambda timing: timing.step.base_s),
    ("proa_engine_step_sequence_seconds", "A decode step's part for each running sequence.",
     lambda timing: timing.step.per_sequence_s),
    ("proa_engine_step_kv_token_seconds", "A decode step's part for each token in the KV cache.",
     lambda timing: timing.step.per_kv_token_s),
    ("proa_engine_prefill_tokens_per_second", "Prompt tokens that the engine takes in a second.",
     lambda timing: timing.prefill_tokens_per_s),
    ("proa_engine_answer_tokens", "Mean tokens of an answer.",
     lambda timing: timing.output_tokens),
    ("proa_engine_prompt_bytes_per_token", "Mean bytes of a request's body per prompt token.",
     lambda timing: timing.bytes_per_token),
    ("proa_engine_timing_samples", "Windows of traffic that the step time was learned from.",
     lambda timing: timing.samples),
    ("proa_engine_timing_age_seconds", "Time since the engine's last stream.",
     lambda timing: timing.age_s),
)  # fmt: skip


def timing_metrics(view: GatewayView) -> Iterator[Metric]:
    """Metrics of the engines' learned speeds."""
    known = {e.name: e.timing for e in view.loads.engines if e.timing is not None}
    for name, text, value in _GAUGES:
        yield engine_gauge(name, text, known, value)
    info = GaugeMetricFamily(
        "proa_engine_timing_info", "Always 1; where the timing comes from.",
        labels=["engine", "source"],
    )  # fmt: skip
    for engine, timing in known.items():
        info.add_metric([engine, timing.source.value], 1)
    yield info
