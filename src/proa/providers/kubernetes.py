"""Engines behind a Service of Kubernetes, from its EndpointSlices; nothing is installed for it."""

import ssl
from pathlib import Path
from typing import Any

import httpx

from proa.domain.discovery import DiscoverySpec, FoundEngine
from proa.errors import UpstreamError
from proa.providers.dns import found

_TIMEOUT_S = 5.0
_PAGE = 500
_MAX_PAGES = 100


class EndpointSlices:
    """Lists the slices that a label selector names, through the API inside the cluster.

    The service account needs `list` on `endpointslices` of `discovery.k8s.io` in that
    namespace. Its token is read at each look, since the kubelet renews it.
    """

    def __init__(
        self, spec: DiscoverySpec, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._spec = spec
        self._transport = transport

    async def look(self) -> tuple[FoundEngine, ...]:
        """Raises:
        UpstreamError: the API server cannot be asked, or refuses.
        """
        try:
            slices = await self._list()
        except (httpx.HTTPError, OSError, ssl.SSLError) as error:
            reason = str(error) or type(error).__name__
            raise UpstreamError(f"{self._spec.api_url}: {reason}") from error
        addresses = {place for entry in slices for place in ready(entry, self._spec.port)}
        return tuple(found(self._spec.scheme, host, port) for host, port in sorted(addresses))

    async def _list(self) -> list[dict[str, Any]]:
        spec = self._spec
        path = f"/apis/discovery.k8s.io/v1/namespaces/{self._namespace()}/endpointslices"
        headers = {"accept": "application/json", "authorization": f"Bearer {self._token()}"}
        query: dict[str, str] = {"labelSelector": spec.selector, "limit": str(_PAGE)}
        slices: list[dict[str, Any]] = []
        async with httpx.AsyncClient(
            base_url=spec.api_url,
            headers=headers,
            timeout=_TIMEOUT_S,
            verify=self._trusted(),
            transport=self._transport,
            trust_env=False,
        ) as client:
            for _ in range(_MAX_PAGES):
                page = self._page(await client.get(path, params=query))
                slices += page["items"]
                following = page.get("metadata", {}).get("continue")
                if not following:
                    break
                query["continue"] = following
        return slices

    def _page(self, answer: httpx.Response) -> dict[str, Any]:
        where = f"{self._spec.api_url}{answer.request.url.path}"
        try:
            page = answer.json()
        except ValueError:
            page = None
        if answer.status_code != 200:
            told = page.get("message") if isinstance(page, dict) else None
            raise UpstreamError(f"{where}: status {answer.status_code}: {told or 'no reason'}")
        if not isinstance(page, dict) or not isinstance(page.get("items"), list):
            raise UpstreamError(f"{where}: no list of EndpointSlices")
        return page

    def _token(self) -> str:
        return Path(self._spec.token_file).read_text(encoding="ascii").strip()

    def _namespace(self) -> str:
        if self._spec.namespace:
            return self._spec.namespace
        return Path(self._spec.token_file).with_name("namespace").read_text("ascii").strip()

    def _trusted(self) -> ssl.SSLContext | bool:
        if not self._spec.api_url.startswith("https"):
            return True
        return ssl.create_default_context(cafile=self._spec.ca_file)


def ready(entry: dict[str, Any], wanted: str) -> set[tuple[str, int]]:
    """Address and port of every endpoint of a slice that takes traffic.

    An unknown readiness counts as ready, as the API's documentation asks; an endpoint
    that terminates does not, also where its readiness is published regardless.
    """
    if entry.get("addressType") not in ("IPv4", "IPv6"):
        return set()
    ports = [
        port["port"]
        for port in entry.get("ports") or ()
        if port.get("port") and wanted in ("", port.get("name"), str(port["port"]))
    ]
    hosts = [
        host
        for endpoint in entry.get("endpoints") or ()
        for host in endpoint.get("addresses") or ()
        if _takes_traffic(endpoint.get("conditions") or {})
    ]
    return {(host, port) for host in hosts for port in ports[:1]}


def _takes_traffic(conditions: dict[str, Any]) -> bool:
    return conditions.get("ready") is not False and not conditions.get("terminating")
