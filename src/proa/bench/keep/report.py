"""What a report says, as one document: its runs with their numbers, and the clause over each."""

from collections.abc import Sequence
from typing import Any

import msgspec

import proa
from proa.bench.clause import clause_rows, verdict_of_rows
from proa.bench.document import document
from proa.bench.keep.kept_run import KeptRun
from proa.bench.run import RunResult
from proa.domain.contract import ContractSpec


def report_of(
    runs: Sequence[KeptRun], contract: ContractSpec | None, *, language: str
) -> dict[str, Any]:
    """`runs` in the order of the files; `clause` is null without a contract.

    Raises:
        UpstreamError: no success has a metric that the clause bounds.
    """
    return {
        "proa": proa.__version__,
        "language": language,
        "contract": None if contract is None else msgspec.to_builtins(contract),
        "runs": [
            {
                "file": kept.path.name,
                "sha256": kept.sha256,
                **document(kept.result),
                "clause": _clause(kept.result, contract),
            }
            for kept in runs
        ],
    }


def _clause(result: RunResult, contract: ContractSpec | None) -> dict[str, Any] | None:
    if contract is None:
        return None
    rows = clause_rows(contract, result)
    return {"verdict": str(verdict_of_rows(rows)), "rows": msgspec.to_builtins(rows)}
