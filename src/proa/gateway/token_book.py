"""The workers' estimates of input tokens: one estimator a model, corrected by what engines report."""

from proa.gateway.body import Asked
from proa.wire.fields import prompt_values


class TokenBook:
    """x"""
    def estimate(self, asked: Asked, body: bytes) -> int | None:
        return len(body)//4
    def learn(self, asked: Asked, prompt_tokens: int) -> None:
        pass
