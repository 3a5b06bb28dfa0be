"""The `[contract]` table of proa.toml, written from a promise."""

import json

import msgspec

from proa.domain.contract import ContractLimits, ContractSpec


def contract_toml(contract: ContractSpec) -> str:
    """The table as text, in the order of `ContractSpec`; what is None is left out.

    `proa check-config` and the bench read it back to an equal `ContractSpec`.
    """
    lines = ["[contract]"]
    for field in contract.__struct_fields__:
        value = getattr(contract, field)
        if isinstance(value, ContractLimits):
            limits = [
                f"{key} = {number}"
                for key, number in msgspec.structs.asdict(value).items()
                if number is not None
            ]
            value_text = f"{{ {', '.join(limits)} }}" if limits else ""
        else:
            value_text = "" if value is None else _toml(value)
        if value_text:
            lines.append(f"{field} = {value_text}")
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, str):
        # A JSON string is a TOML basic string, but for U+007F.
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, float) and value == int(value) and abs(value) < 10**15:
        return str(int(value))
    return repr(value)
