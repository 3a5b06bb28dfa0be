"""Metrics with a sample for each engine that says something; what is not known has none."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

Told = TypeVar("Told")


def engine_gauge(
    name: str, text: str, told: Mapping[str, Told], value: Callable[[Told], float | None]
) -> Metric:
    """`told` by the engines' names; `value` is None for what an engine does not say."""
    return _filled(GaugeMetricFamily(name, text, labels=["engine"]), told, value)


def engine_counter(
    name: str, text: str, told: Mapping[str, Told], value: Callable[[Told], float | None]
) -> Metric:
    """The same for what only grows; the exposition adds `_total`."""
    return _filled(CounterMetricFamily(name, text, labels=["engine"]), told, value)


def _filled(
    family: GaugeMetricFamily | CounterMetricFamily,
    told: Mapping[str, Told],
    value: Callable[[Told], float | None],
) -> Metric:
    for engine, what in told.items():
        known = value(what)
        if known is not None:
            family.add_metric([engine], known)
    return family
