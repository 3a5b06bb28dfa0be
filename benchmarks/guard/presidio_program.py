"""Runs in an environment of its own, with presidio-analyzer: JSON lines of texts in, findings out.

spaCy runs without a model, as a tokeniser: what presidio finds of these types it finds by pattern,
check digit and context words. Its Korean recognisers, which are off by default, are on.
"""

import json
import sys
import time
from importlib import import_module
from importlib.metadata import version
from typing import Any

_RECOGNISERS = (
    "KrRrnRecognizer", "KrFrnRecognizer", "KrPassportRecognizer", "KrDriverLicenseRecognizer",
    "KrBrnRecognizer", "CreditCardRecognizer", "EmailRecognizer", "IpRecognizer", "IbanRecognizer",
)  # fmt: skip
_REGIONS = ("KR", "US", "GB", "JP", "DE", "FR", "CN")


def analyzer() -> Any:
    """All recognisers of types that both know, for Korean."""
    presidio: Any = import_module("presidio_analyzer")
    engines: Any = import_module("presidio_analyzer.nlp_engine")
    kinds: Any = import_module("presidio_analyzer.predefined_recognizers")
    spacy: Any = import_module("spacy")
    engine = engines.SpacyNlpEngine(models=[{"lang_code": "ko", "model_name": "none"}])
    engine.nlp = {"ko": spacy.blank("xx")}
    registry = presidio.RecognizerRegistry(supported_languages=["ko"])
    for name in _RECOGNISERS:
        registry.add_recognizer(getattr(kinds, name)(supported_language="ko"))
    registry.add_recognizer(
        kinds.PhoneRecognizer(supported_language="ko", supported_regions=_REGIONS)
    )
    return presidio.AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["ko"])


def main() -> None:
    made = analyzer()
    texts = [json.loads(line) for line in sys.stdin]
    made.analyze(text=texts[0], language="ko")  # what is loaded once
    start = time.process_time()
    found = [made.analyze(text=text, language="ko") for text in texts]
    cpu_s = time.process_time() - start
    spans = [[(one.entity_type, one.start, one.end) for one in each] for each in found]
    told = {"version": version("presidio-analyzer"), "cpu_s": cpu_s, "found": spans}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
