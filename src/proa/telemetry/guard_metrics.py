"""What the guard found and did, over all workers: types and actions, never a value."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric

from proa.telemetry.rows import (
    GUARD_ACTIONS,
    GUARD_AT,
    GUARD_TYPES,
    Guard,
    SharedRows,
    guard_cell,
)

_IN_ANSWERS = ("count", "mask")  # what a request may not hold is masked there, too
_REFUSALS = {
    "pii": Guard.REFUSED_PII,
    "media": Guard.REFUSED_MEDIA,
    "limit": Guard.REFUSED_LIMIT,
    "no_engine": Guard.REFUSED_NO_ENGINE,
    "unreadable": Guard.UNREADABLE,
    "failed": Guard.FAILED,
}


def guard_metrics(rows: SharedRows) -> Iterator[Metric]:
    """All types, found or not: the page does not grow with what is found."""
    findings = CounterMetricFamily(
        "proa_guard_findings", "Personal data and secrets found, by what was done.",
        labels=["type", "action", "where"],
    )  # fmt: skip
    for type_ in GUARD_TYPES:
        for where, actions in (("request", GUARD_ACTIONS), ("answer", _IN_ANSWERS)):
            for action in actions:
                cell = guard_cell(type_, action, in_answer=where == "answer")
                findings.add_metric([type_, action, where], rows.total(GUARD_AT + cell))
    yield findings
    refused = CounterMetricFamily(
        "proa_guard_refused", "Bodies that the guard did not let pass.", labels=["reason"]
    )
    for reason, cell in _REFUSALS.items():
        refused.add_metric([reason], rows.total(GUARD_AT + cell))
    yield refused
    yield _counter(
        "proa_guard_helped", "Large bodies that a helper process searched.", rows, Guard.HELPED
    )
    yield _counter(
        "proa_guard_helpers", "Helper processes that workers started.", rows, Guard.HELPERS
    )


def _counter(name: str, text: str, rows: SharedRows, cell: int) -> Metric:
    return CounterMetricFamily(name, text, value=rows.total(GUARD_AT + cell))
