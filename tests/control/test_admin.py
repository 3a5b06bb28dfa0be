"""The admin API over ASGI: its forms, its guards, its errors, and its document."""

import asyncio
import hashlib
import re
from typing import Any

import httpx
import pytest
from pydantic import BaseModel, ConfigDict
from starlette.applications import Starlette
from starlette.routing import Route
from tests.control.test_app import gateway

from proa.control.admin import engine_operations
from proa.control.admin_documents import FleetDocument
from proa.control.admin_errors import EngineConflict, UnknownEngine
from proa.control.app import control_app
from proa.control.settings import AdminKeySpec, ControlSettings
from proa.errors import ConfigError, OwnFault, ProaError

KEYED = ControlSettings(keys=(AdminKeySpec(name="a", digest=hashlib.sha256(b"k").digest()),))
JSON = {"content-type": "application/json"}
PLAIN = ("/healthz", "/readyz", "/metrics", "/admin/openapi.json")


class EngineForm(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    weight: float = 1.0


class ChangeForm(BaseModel):
    weight: float | None = None


class Acts:
    """Writes down what was asked of it, or fails as it was told to."""

    def __init__(self, failure: ProaError | None = None) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.failure = failure

    def fleet(self) -> dict[str, Any]:
        return {
            "generation": 1,
            "state_file": None,
            "state_error": None,
            "engines": [],
            "discovery": [],
            "notes": [],
        }

    async def add(self, entry: dict[str, Any]) -> dict[str, Any]:
        return self._call("add", entry)

    async def change(self, name: str, change: dict[str, Any]) -> dict[str, Any]:
        return self._call("change", name, change)

    async def remove(self, name: str, *, drain: bool, timeout_s: float | None) -> dict[str, Any]:
        return self._call("remove", name, drain, timeout_s)

    async def reload(self) -> dict[str, Any]:
        return self._call("reload")

    def _call(self, *call: object) -> dict[str, Any]:
        self.calls.append(call)
        if self.failure is not None:
            raise self.failure
        return {"done": True}


def app(acts: Acts, settings: ControlSettings = ControlSettings()) -> Starlette:  # noqa: B008
    operations = engine_operations(acts, EngineForm, ChangeForm)
    return control_app(gateway, lambda: settings, operations)


def ask(application: Starlette, method: str, path: str, **more: Any) -> httpx.Response:
    async def one() -> httpx.Response:
        transport = httpx.ASGITransport(application)
        url = "http://127.0.0.1:8081"
        async with httpx.AsyncClient(transport=transport, base_url=url) as client:
            return await client.request(method, path, **more)

    return asyncio.run(one())


@pytest.mark.parametrize(
    ("method", "path", "body", "call", "status"),
    [
        ("POST", "/admin/engines", {"name": "x"}, ("add", {"name": "x"}), 201),
        ("PATCH", "/admin/engines/x.1", {"weight": 2}, ("change", "x.1", {"weight": 2}), 200),
        ("DELETE", "/admin/engines/x", None, ("remove", "x", True, None), 200),
        ("DELETE", "/admin/engines/x?drain=false", {}, ("remove", "x", False, None), 200),
        ("DELETE", "/admin/engines/x?timeout_s=1.5", None, ("remove", "x", True, 1.5), 200),
        ("POST", "/admin/reload", None, ("reload",), 200),
    ],
)
def test_each_call_reaches_its_act(
    method: str, path: str, body: object, call: tuple[object, ...], status: int
) -> None:
    acts = Acts()
    answer = ask(app(acts), method, path, json=body, headers=JSON)
    assert (answer.status_code, answer.json()) == (status, {"done": True})
    assert acts.calls == [call]


@pytest.mark.parametrize(
    ("method", "path", "content", "told"),
    [
        ("POST", "/admin/engines", "{", "the body is not JSON"),
        ("POST", "/admin/engines", "[]", "must be a JSON object"),
        ("POST", "/admin/engines", '{"name": "a", "name": "b"}', "a key stands twice"),
        ("POST", "/admin/engines", "[" * 60_000, "the body is not JSON"),
        ("POST", "/admin/engines?force=true", "{}", "'force' is not a known parameter"),
        ("DELETE", "/admin/engines/x?drain=maybe", "", "accepted is true or false"),
        ("DELETE", "/admin/engines/x?timeout_s=-1", "", "accepted is a number from 0"),
        ("DELETE", "/admin/engines/x?timeout_s=nan", "", "accepted is a number from 0"),
        ("DELETE", "/admin/engines/x?timeout=3", "", "known are drain, timeout_s"),
        ("POST", "/admin/reload", '{"file": "x"}', "no body is known here, leave out 'file'"),
    ],
)
def test_what_is_not_accepted_is_a_400_and_nothing_is_done(
    method: str, path: str, content: str, told: str
) -> None:
    acts = Acts()
    answer = ask(app(acts), method, path, content=content, headers=JSON)
    assert answer.status_code == 400
    assert told in answer.json()["error"]["message"]
    assert acts.calls == []


def test_a_body_that_is_too_long_is_a_413() -> None:
    acts = Acts()
    answer = ask(app(acts), "POST", "/admin/engines", content=b" " * 65_537, headers=JSON)
    assert (answer.status_code, acts.calls) == (413, [])
    assert answer.json()["error"]["code"] == "request_too_large"
    assert "more than 65536 bytes" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("failure", "status", "code", "param"),
    [
        (UnknownEngine("no x"), 404, "engine_not_found", "name"),
        (EngineConflict("x is there"), 409, "engine_conflict", "name"),
        (ConfigError("engine", "weight", -1, "more"), 400, "bad_request", "weight"),
        (OwnFault("lost"), 500, "internal_error", None),
    ],
)
def test_failures_have_one_form(
    failure: ProaError, status: int, code: str, param: str | None
) -> None:
    answer = ask(app(Acts(failure)), "POST", "/admin/reload", headers=JSON)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert (error["message"], error["code"], error["param"]) == (str(failure), code, param)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 415),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        (JSON | {"sec-fetch-site": "cross-site"}, 403),
        (JSON | {"sec-fetch-site": "same-site"}, 403),
        (JSON | {"sec-fetch-site": "same-origin"}, 201),
        ({"content-type": "Application/JSON; charset=utf-8"}, 201),
    ],
)
def test_no_web_page_of_another_origin_changes_anything(
    headers: dict[str, str], status: int
) -> None:
    acts = Acts()
    answer = ask(app(acts), "POST", "/admin/engines", content="{}", headers=headers)
    assert answer.status_code == status
    assert bool(acts.calls) == (status == 201)
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_no_preflight_is_granted() -> None:
    headers = {"origin": "http://evil.example", "access-control-request-method": "DELETE"}
    answer = ask(app(Acts()), "OPTIONS", "/admin/engines/x", headers=headers)
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("authorization", "status"), [(None, 401), ("Bearer x", 401), ("Bearer k", 200)]
)
def test_an_admin_key_is_asked_for_everywhere(authorization: str | None, status: int) -> None:
    headers = JSON | ({"authorization": authorization} if authorization else {})
    acts = Acts()
    for method, path in (
        ("GET", "/admin/engines"),
        ("GET", "/admin/openapi.json"),
        ("POST", "/admin/reload"),
        ("DELETE", "/admin/engines/x"),
    ):
        answer = ask(app(acts, KEYED), method, path, headers=headers)
        assert answer.status_code == status
    assert len(acts.calls) == (2 if status == 200 else 0)


def test_unknown_pages_and_methods_have_the_same_form() -> None:
    missing = ask(app(Acts()), "GET", "/admin/nothing")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")
    wrong = ask(app(Acts()), "PUT", "/admin/engines", headers=JSON)
    assert wrong.status_code == 405
    assert set(wrong.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}
    assert wrong.json()["error"]["message"] == "PUT Method Not Allowed"


# the document


def document() -> dict[str, Any]:
    told: dict[str, Any] = ask(app(Acts()), "GET", "/admin/openapi.json").json()
    return told


def test_the_document_has_every_route_with_its_methods_and_no_other() -> None:
    served = {
        (route.path, method.lower())
        for route in app(Acts()).routes
        if isinstance(route, Route) and route.path not in PLAIN
        for method in (route.methods or set()) - {"HEAD"}
    }
    paths = document()["paths"]
    assert {(path, method) for path, methods in paths.items() for method in methods} == served


def test_every_reference_of_the_document_leads_somewhere() -> None:
    told = document()
    references = set(re.findall(r"'\$ref': '#/components/schemas/(\w+)'", str(told)))
    assert references <= told["components"]["schemas"].keys()
    assert {"EngineForm", "ChangeForm", "FleetDocument", "ErrorDocument"} <= references
    assert told["openapi"] == "3.1.0"
    identities = [op["operationId"] for path in told["paths"].values() for op in path.values()]
    assert len(identities) == len(set(identities))


def test_parameters_and_statuses_are_told() -> None:
    removal = document()["paths"]["/admin/engines/{name}"]["delete"]
    parameters = {p["name"]: (p["in"], p["required"]) for p in removal["parameters"]}
    assert parameters == {
        "name": ("path", True),
        "drain": ("query", False),
        "timeout_s": ("query", False),
    }
    assert list(removal["responses"]) == ["200", "400", "401", "403", "404", "409", "415", "500"]


def test_the_list_is_what_its_model_says() -> None:
    FleetDocument.model_validate(ask(app(Acts()), "GET", "/admin/engines").json())
