"""The `[contract]` table: in proa.toml beside the rest, or in a file of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proa.config.document import Document, KeyPath, read_document
from proa.config.faults import ConfigFaults, shown_value
from proa.config.tables import ContractTable, Table
from proa.config.validation import validate
from proa.domain.contract import ContractLimits, ContractSpec

_PAIRED = ("sessions", "mean_input_tokens")


class ContractFile(Table):
    contract: ContractTable


def read_contract(path: Path) -> ContractSpec:
    """The promise in a file, whatever else the file holds.

    Raises:
        ConfigError: `ConfigFaults` with everything that is wrong with the table, or that the
            file has none or cannot be read.
    """
    whole = read_document(path)
    data = {key: value for key, value in whole.data.items() if key == "contract"}
    document = Document(whole.name, data, whole.lines)
    table, faults = validate(ContractFile, document)
    faults += [
        document.fault(key, accepted, shown=shown_value(_value(data, key)))
        for key, accepted in contract_faults(data)
    ]
    if table is None or faults:
        raise ConfigFaults(faults, [path])
    return contract_spec(table.contract)


def contract_spec(table: ContractTable) -> ContractSpec:
    """What the table promises."""
    given = table.model_dump(exclude_none=True)
    if table.extend_above is not None:
        given["extend_above"] = ContractLimits(**given["extend_above"])
    return ContractSpec(**given)


def contract_faults(data: dict[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Limits that lie below what is promised, as path and what is accepted there."""
    contract = data.get("contract")
    limits = contract.get("extend_above") if isinstance(contract, dict) else None
    if not isinstance(contract, dict) or not isinstance(limits, dict):
        return
    for name in _PAIRED:
        promised, limit = contract.get(name), limits.get(name)
        if isinstance(promised, int) and isinstance(limit, int) and limit < promised:
            yield ("contract", "extend_above", name), f"at least {name}, {promised}"


def _value(data: Any, path: KeyPath) -> object:
    for part in path:
        data = data[part]
    return data
