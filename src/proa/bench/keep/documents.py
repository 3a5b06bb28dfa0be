"""The document of a kept measurement, whatever kind it is."""

from typing import Any

from proa.bench import document as of_run
from proa.bench.combine.document import document as of_combine
from proa.bench.combine.gain import gain_stats, verdict_of
from proa.bench.combine.run import CombineResult
from proa.bench.combine.sites import site_stats
from proa.bench.compare.document import document as of_compare
from proa.bench.compare.run import CompareResult
from proa.bench.compare.verdict import compare_stats
from proa.bench.quality.document import document as of_quality
from proa.bench.quality.run import QualityResult
from proa.bench.quality.verdict import quality_stats
from proa.bench.restate.document import ImportResult
from proa.bench.restate.document import document as of_import
from proa.bench.run import RunResult


def document_of(result: Any) -> dict[str, Any]:
    """As `--format json` of its verb prints it.

    Raises:
        UpstreamError: no success of a run had a metric that its SLO bounds.
    """
    match result:
        case RunResult():
            return of_run.document(result)
        case CompareResult():
            return of_compare(result, compare_stats(result))
        case CombineResult():
            spec, stats = result.start.spec, gain_stats(result.blocks)
            sites = site_stats(result.blocks, spec.users, spec.sites)
            return of_combine(result, stats, sites, verdict_of(stats, spec.min_gain))
        case QualityResult():
            return of_quality(result, quality_stats(result))
        case ImportResult():
            return of_import(result)
        case _:
            raise TypeError(type(result))
