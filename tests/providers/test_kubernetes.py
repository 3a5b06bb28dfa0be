"""EndpointSlices from a scripted API server: a double of the protocol, not a cluster."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from proa.domain.discovery import DiscoveryKind, DiscoverySpec
from proa.errors import UpstreamError
from proa.providers.kubernetes import EndpointSlices, ready


def endpoint(*addresses: str, **conditions: object) -> dict[str, Any]:
    return {"addresses": list(addresses), "conditions": conditions}


def slice_of(*endpoints: dict[str, Any], **more: object) -> dict[str, Any]:
    ports = [{"name": "http", "port": 8000}, {"name": "metrics", "port": 9000}]
    return {"addressType": "IPv4", "endpoints": list(endpoints), "ports": ports, **more}


class ApiServer:
    """Answers page after page, and keeps what it was asked."""

    def __init__(self, *answers: Callable[[], httpx.Response] | dict[str, Any]) -> None:
        self.asked: list[httpx.Request] = []
        self._answers = list(answers)

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self._answers.pop(0)
        return httpx.Response(200, json=answer) if isinstance(answer, dict) else answer()


@pytest.fixture
def account(tmp_path: Path) -> Path:
    (tmp_path / "namespace").write_text("team-a")
    (tmp_path / "token").write_text("t0ken\n")
    return tmp_path / "token"


def source(account: Path, server: ApiServer, *, namespace: str = "") -> EndpointSlices:
    spec = DiscoverySpec(
        name="k8s",
        kind=DiscoveryKind.KUBERNETES,
        selector="kubernetes.io/service-name=vllm",
        port="http",
        api_url="http://api.test",
        namespace=namespace,
        token_file=str(account),
    )
    return EndpointSlices(spec, httpx.MockTransport(server))


async def test_ready_endpoints_of_all_pages(account: Path) -> None:
    first = {"items": [slice_of(endpoint("10.0.0.2", ready=True))], "metadata": {"continue": "n"}}
    rest = {"items": [slice_of(endpoint("10.0.0.1"), endpoint("10.0.0.2", ready=True))]}
    server = ApiServer(first, rest)
    engines = await source(account, server).look()
    assert [e.url for e in engines] == ["http://10.0.0.1:8000", "http://10.0.0.2:8000"]
    one, two = server.asked
    assert one.url.path == "/apis/discovery.k8s.io/v1/namespaces/team-a/endpointslices"
    assert one.url.params["labelSelector"] == "kubernetes.io/service-name=vllm"
    assert (one.headers["authorization"], two.url.params["continue"]) == ("Bearer t0ken", "n")


async def test_a_renewed_token_and_another_namespace(account: Path) -> None:
    server = ApiServer({"items": []}, {"items": []})
    looking = source(account, server, namespace="other")
    assert await looking.look() == ()
    account.write_text("newer")
    await looking.look()
    assert server.asked[1].headers["authorization"] == "Bearer newer"
    assert "/namespaces/other/" in server.asked[1].url.path


@pytest.mark.parametrize(
    ("conditions", "takes"),
    [
        ({}, True),
        ({"ready": True}, True),
        ({"ready": None}, True),
        ({"ready": False}, False),
        ({"ready": True, "terminating": True}, False),
        ({"ready": False, "serving": True, "terminating": True}, False),
    ],
)
def test_what_takes_traffic(conditions: dict[str, object], *, takes: bool) -> None:
    found = ready(slice_of(endpoint("10.0.0.1", **conditions)), "")
    assert found == ({("10.0.0.1", 8000)} if takes else set())


@pytest.mark.parametrize(
    ("wanted", "port"), [("", 8000), ("metrics", 9000), ("9000", 9000), ("none", None)]
)
def test_the_port_by_name_or_number(wanted: str, port: int | None) -> None:
    found = ready(slice_of(endpoint("10.0.0.1")), wanted)
    assert found == (set() if port is None else {("10.0.0.1", port)})


def test_names_are_no_addresses() -> None:
    assert ready(slice_of(endpoint("pod.example"), addressType="FQDN"), "") == set()
    assert ready({"addressType": "IPv6", "endpoints": None, "ports": None}, "") == set()


def _unreachable() -> httpx.Response:
    raise httpx.ConnectError("refused")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda: httpx.Response(403, json={"message": "endpoints is forbidden"}), "forbidden"),
        (lambda: httpx.Response(500, text="oops"), "status 500: no reason"),
        (lambda: httpx.Response(200, text="<html>"), "no list of EndpointSlices"),
        (lambda: httpx.Response(200, json={"items": 3}), "no list of EndpointSlices"),
        (_unreachable, "refused"),
    ],
)
async def test_a_server_that_does_not_answer_is_a_failed_look(
    account: Path, answer: Callable[[], httpx.Response], told: str
) -> None:
    with pytest.raises(UpstreamError, match=told):
        await source(account, ApiServer(answer)).look()


async def test_outside_a_pod_the_missing_token_is_told(tmp_path: Path) -> None:
    with pytest.raises(UpstreamError, match="No such file"):
        await source(tmp_path / "token", ApiServer(), namespace="x").look()
