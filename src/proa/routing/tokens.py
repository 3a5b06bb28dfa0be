"""How many tokens a prompt will have, without its tokenizer.

A linear model over counts of characters by script. It starts from weights that
are typical of byte-pair tokenizers and learns those of the model at hand from
the engine's `usage`; one estimator a model.
"""

from math import sqrt
from operator import mul

from proa.routing.prompt_text import PromptText

Features = tuple[float, ...]

SAMPLE_ABOVE_BYTES = 16_384
_SLICES = 64
_SLICE_BYTES = 256

# (prior weight in tokens, its standard deviation between tokenizers) of each feature.
# Fitted in 2026 to cl100k_base, Qwen2.5, Qwen3.6, DeepSeek-V3 and SmolLM2.
_PRIORS = {
    "ascii_letter": (0.13, 0.03),
    "upper_case": (0.15, 0.08),
    "digit": (1.4, 0.3),
    "line_end_or_tab": (1.2, 0.3),
    "punctuation": (0.43, 0.08),
    "hangul": (0.95, 0.8),
    "cjk": (0.85, 0.5),
    "other_script": (1.9, 0.7),
    "spaced_word": (0.48, 0.1),
    "joined_word": (0.6, 0.35),
    "message": (4.0, 2.0),
    "request": (8.0, 12.0),
}
_NOISE = 0.08  # relative error that remains with the best weights
_FORGET = 2e-4  # part of the prior variance that each sighting of a feature gives back
_OUTLIER = 3.0  # residuals count up to so many standard deviations
_SURPRISES = 8  # so many outliers in a row on one side mean another tokenizer


def _classes() -> bytes:
    """One class byte per first byte of a character."""
    table = bytearray(b"." * 128 + b"O" * 128)
    for low, high, mark in (
        ("a", "z", b"a"), ("A", "Z", b"A"), ("0", "9", b"0"), (" ", " ", b" "),
        ("\t", "\r", b"\n"),
    ):  # fmt: skip
        table[ord(low) : ord(high) + 1] = mark * (ord(high) - ord(low) + 1)
    table[0xE3:0xF0] = b"C" * 13  # U+3000 to U+FFFF: kana, Han, full-width forms
    table[0xEA:0xEE] = b"H" * 4  # U+A000 to U+DFFF, in practice Hangul syllables
    return bytes(table)


_CLASSES = _classes()
_MERGED = bytes.maketrans(b"A\n", b"a.")  # for the places where words begin
_CONTINUATION = bytes(range(0x80, 0xC0))


def text_features(prompt: PromptText | bytes) -> Features:
    """Counts that an estimate is made of; bytes are taken as one message in UTF-8.

    Above `SAMPLE_ABOVE_BYTES`, slices stand for the whole. The last item is the
    number of tokens that are known as such.
    """
    if isinstance(prompt, bytes):
        prompt = PromptText(prompt)
    text, scale = prompt.text, prompt.scale
    if len(text) > SAMPLE_ABOVE_BYTES:
        step = (len(text) - _SLICE_BYTES) // (_SLICES - 1)
        scale *= len(text) / (_SLICES * _SLICE_BYTES)
        text = b"".join([text[i * step : i * step + _SLICE_BYTES] for i in range(_SLICES)])
    classes = text.translate(_CLASSES, _CONTINUATION)
    merged = classes.translate(_MERGED)
    count = classes.count
    upper = count(b"A")
    return (
        (count(b"a") + upper) * scale,
        upper * scale,
        count(b"0") * scale,
        count(b"\n") * scale,
        count(b".") * scale,
        count(b"H") * scale,
        count(b"C") * scale,
        count(b"O") * scale,
        merged.count(b" a") * scale,
        merged.count(b".a") * scale,
        float(prompt.messages),
        1.0,
        float(prompt.token_ids),
    )


class TokenEstimator:
    """tokens = weights · features + token ids, the weights learned from `usage`.

    Learning is a Kalman filter with a diagonal covariance: each weight's step is
    its own uncertainty over the whole, and shrinks with evidence. Weights stay
    at or above 0; a residual beyond three standard deviations counts as three;
    weights that are in use regain a little uncertainty, and all regain theirs
    after eight such residuals in a row on the same side.

    Not modelled:
        images, audio, and prompts that the engine's template leaves out.
    """

    def __init__(self) -> None:
        self._weights = [weight for weight, _ in _PRIORS.values()]
        self._variances = [spread * spread for _, spread in _PRIORS.values()]
        self._priors = tuple(self._variances)
        self._surprises = 0
        self.learned = 0

    @property
    def weights(self) -> dict[str, float]:
        """Tokens per unit of each feature, as learned so far."""
        return dict(zip(_PRIORS, self._weights, strict=True))

    def estimate(self, features: Features) -> int:
        """Expected prompt tokens, at least 1."""
        tokens: float = sum(map(mul, self._weights, features))
        return max(1, round(tokens + features[-1]))

    def learn(self, features: Features, true_tokens: int) -> None:
        """Take in what the engine counted for these features; 0 or less is ignored."""
        target = true_tokens - features[-1]
        if target <= 0:
            return
        expected = sum(map(mul, self._weights, features))
        steps = list(map(mul, self._variances, features))
        noise = _NOISE * max(expected, target)
        total = sum(map(mul, steps, features)) + noise * noise
        residual = self._clipped(target - expected, _OUTLIER * sqrt(total))
        for i, step in enumerate(steps):
            if step > 0.0:
                gain, prior = step / total, self._priors[i]
                self._weights[i] = max(0.0, self._weights[i] + gain * residual)
                kept = self._variances[i] * (1.0 - gain * features[i])
                self._variances[i] = min(prior, kept + _FORGET * prior)
        self.learned += 1

    def _clipped(self, residual: float, limit: float) -> float:
        if abs(residual) <= limit:
            self._surprises = 0
            return residual
        side = 1 if residual > 0 else -1
        self._surprises = self._surprises + side if self._surprises * side >= 0 else side
        if abs(self._surprises) >= _SURPRISES:
            self._variances = list(self._priors)
            self._surprises = 0
        return side * limit
