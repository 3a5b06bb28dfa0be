"""The line that `proa serve` begins with."""

from collections.abc import Sequence

from proa.cli.texts import Texts
from proa.config.load import LoadedConfig

_EVERYWHERE = ("0.0.0.0", "[::]")


def welcome(config: LoadedConfig, addresses: Sequence[str], control: str, language: str) -> str:
    """Where everything is, and how to point a client at it."""
    scheme = "http" if config.gateway.tls is None else "https"
    urls = [_url(scheme, address) for address in addresses]
    engines = ", ".join(f"{engine.name} ({engine.url})" for engine in config.gateway.engines)
    return Texts("serve", language).say(
        "welcome",
        gateway=", ".join(urls),
        control=_url("http", control),
        engines=engines,
        client=_client(urls[0], config.gateway.keys is None),
    )


def _url(scheme: str, address: str) -> str:
    return address if address.startswith("unix:") else f"{scheme}://{address}"


def _client(url: str, is_open: bool) -> str:
    if url.startswith("unix:"):
        return f"curl --unix-socket {url.removeprefix('unix:')} http://localhost/v1/models"
    for everywhere in _EVERYWHERE:
        url = url.replace(f"//{everywhere}:", "//127.0.0.1:")
    key = "any" if is_open else "proa-…"
    return f"export OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY={key}"
