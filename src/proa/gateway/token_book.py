"""Estimates of input tokens, one estimator a model, corrected by what engines report.

The numbers of models and of remembered estimators are bounded by the models that
engines list; a name that nobody lists shares one estimator.
"""

from proa.domain.fleet import FleetView
from proa.gateway.body import Asked
from proa.routing.prompt_text import message_text
from proa.routing.tokens import TokenEstimator, text_features
from proa.wire.fields import prompt_values

_LEARN_ALL = 256
_LEARN_EVERY = 16


class TokenBook:
    """What a worker knows about how models count."""

    def __init__(self) -> None:
        self._estimators: dict[str | None, TokenEstimator] = {None: TokenEstimator()}
        self._seen = 0

    def know(self, fleet: FleetView) -> None:
        """Keep an estimator for every listed model."""
        for engine in fleet.engines:
            for model in engine.models:
                self._estimators.setdefault(model.id, TokenEstimator())

    def estimate(self, asked: Asked, body: bytes) -> int | None:
        """Input tokens of a request, None where its body has no text that can be read."""
        if asked.features is None:
            values = prompt_values(body)
            if not values:
                return None
            asked.features = text_features(message_text(*values))
        return self._of(asked.model).estimate(asked.features)

    def text_tokens(self, model: str | None, text: str) -> int:
        """Tokens of a text by itself, without those that a request and its messages add."""
        features = text_features(text.encode())
        alone = (*features[:-3], 0.0, 0.0, features[-1])
        return self._of(model).estimate(alone)

    def learn(self, asked: Asked, prompt_tokens: int | None) -> None:
        """The engine counted `prompt_tokens`; every 16th answer is enough after the first 256."""
        if asked.features is None or not prompt_tokens:
            return
        self._seen += 1
        if self._seen <= _LEARN_ALL or self._seen % _LEARN_EVERY == 0:
            self._of(asked.model).learn(asked.features, prompt_tokens)

    def _of(self, model: str | None) -> TokenEstimator:
        return self._estimators.get(model) or self._estimators[None]
