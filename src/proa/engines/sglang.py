"""SGLang: alive when it lists its models.

Its `/health` generates a token and takes a second, so it is never asked.
Source: SGLang 0.5.23, recorded replies.
"""

from proa.domain.fleet import EngineKind
from proa.engines.base import EngineAdapter


class SglangAdapter(EngineAdapter):
    """An SGLang API server."""

    kind = EngineKind.SGLANG
