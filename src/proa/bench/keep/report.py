"""What a report says, as one document: its runs with their numbers, and the clause over each."""

from collections.abc import Sequence
from typing import Any

import msgspec

import proa
from proa.bench.clause import clause_rows, verdict_of_rows
from proa.bench.keep.documents import document_of
from proa.bench.keep.kept import Kept
from proa.bench.keep.run_file import KIND
from proa.bench.run import RunResult
from proa.domain.contract import ContractSpec
from proa.errors import InputError


def report_of(
    runs: Sequence[Kept], contract: ContractSpec | None, *, language: str
) -> dict[str, Any]:
    """`runs` in the order of the files; `clause` is null without a contract.

    Raises:
        InputError: they are of several kinds, or a contract is asked of what is no run.
        UpstreamError: no success has a metric that the clause bounds.
    """
    kinds = {kept.kind for kept in runs}
    if len(kinds) > 1:
        names = ", ".join(f"{kept.path}: {kept.kind}" for kept in runs)
        raise InputError(f"a report is over files of one kind, not {names}")
    if contract is not None and kinds != {KIND}:
        raise InputError(f"{runs[0].path}: a contract is checked with a file of proa bench run")
    return {
        "proa": proa.__version__,
        "language": language,
        "contract": None if contract is None else msgspec.to_builtins(contract),
        "runs": [
            {
                "file": kept.path.name,
                "kind": kept.kind,
                "sha256": kept.sha256,
                **document_of(kept.result),
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
