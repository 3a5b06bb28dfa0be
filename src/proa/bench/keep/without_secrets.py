"""What is known of a measurement, as it is kept: no keys, passwords and other people's texts."""

from typing import Any, TypeVar

import msgspec

from proa.bench.conditions import shown_url
from proa.bench.datasets import DatasetRow
from proa.bench.quality.cases import QualityCase
from proa.bench.target import TargetSpec
from proa.bench.trace import TraceRow

T = TypeVar("T")


def without_secrets(value: T) -> T:
    """No API keys, values of headers, passwords in addresses, texts of data sets and questions."""
    bare: Any = value
    if isinstance(bare, TargetSpec):
        bare = msgspec.structs.replace(
            bare,
            url=shown_url(bare.url),
            metrics_url=shown_url(bare.metrics_url),
            api_key="",
            headers=dict.fromkeys(bare.headers, ""),
        )
    elif isinstance(bare, DatasetRow | QualityCase):
        bare = msgspec.structs.replace(bare, messages=[])
    elif isinstance(bare, TraceRow):
        bare = msgspec.structs.replace(bare, messages=None)
    elif isinstance(bare, msgspec.Struct):
        fields = {name: without_secrets(getattr(bare, name)) for name in bare.__struct_fields__}
        bare = msgspec.structs.replace(bare, **fields)
    elif isinstance(bare, list):
        bare = [without_secrets(each) for each in bare]
    elif isinstance(bare, tuple) and not hasattr(bare, "_fields"):
        bare = tuple(without_secrets(each) for each in bare)
    return bare  # type: ignore[no-any-return]
