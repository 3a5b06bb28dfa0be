"""The admin API: the pages that show and change the engines, and their table."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from proa.control import admin_documents as documents
from proa.control.admin_request import (
    flag,
    json_object,
    known_parameters,
    no_body,
    seconds,
)

Json = dict[str, Any]


class AdminActs(Protocol):
    """What the API does; the program behind it joins the planes.

    Each raises `UnknownEngine`, `EngineConflict` or another ProaError.
    """

    def fleet(self) -> Json: ...
    async def add(self, entry: Json) -> Json: ...
    async def change(self, name: str, change: Json) -> Json: ...
    async def remove(self, name: str, *, drain: bool, timeout_s: float | None) -> Json: ...
    async def reload(self) -> Json: ...


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path; `body` is what it takes, `answer` what it gives with `status`."""

    path: str
    method: str
    summary: str
    page: Callable[[Request], Awaitable[Response]]
    answer: type[BaseModel]
    status: int = 200
    body: type[BaseModel] | None = None
    query: tuple[tuple[str, str, str], ...] = ()
    errors: tuple[int, ...] = ()

    @property
    def changes(self) -> bool:
        return self.method != "GET"


def engine_operations(
    live: AdminActs, engine: type[BaseModel], change: type[BaseModel]
) -> list[Operation]:
    """The operations on engines; `engine` and `change` are the forms of their bodies."""

    async def listed(request: Request) -> Response:
        known_parameters(request)
        return JSONResponse(live.fleet())

    async def added(request: Request) -> Response:
        known_parameters(request)
        return JSONResponse(await live.add(await json_object(request)), 201)

    async def changed(request: Request) -> Response:
        known_parameters(request)
        body = await json_object(request)
        return JSONResponse(await live.change(request.path_params["name"], body))

    async def removed(request: Request) -> Response:
        known_parameters(request, "drain", "timeout_s")
        no_body(await json_object(request))
        drain, timeout_s = flag(request, "drain", default=True), seconds(request, "timeout_s")
        name = request.path_params["name"]
        return JSONResponse(await live.remove(name, drain=drain, timeout_s=timeout_s))

    async def reloaded(request: Request) -> Response:
        known_parameters(request)
        no_body(await json_object(request))
        return JSONResponse(await live.reload())

    return [
        Operation(
            path="/admin/engines",
            method="GET",
            summary="All engines: state, models, load, speed, counters, and where each comes from",
            page=listed,
            answer=documents.FleetDocument,
        ),
        Operation(
            path="/admin/engines",
            method="POST",
            summary="Add an engine, with the keys of [[engines]] in proa.toml",
            page=added,
            body=engine,
            answer=documents.ChangeDocument,
            status=201,
            errors=(400, 409, 413),
        ),
        Operation(
            path="/admin/engines/{name}",
            method="PATCH",
            summary="Change weight, cap or draining; null gives back what its entry says",
            page=changed,
            body=change,
            answer=documents.ChangeDocument,
            errors=(400, 404, 409, 413),
        ),
        Operation(
            path="/admin/engines/{name}",
            method="DELETE",
            summary="Give an engine nothing new, let it finish, take it out",
            page=removed,
            answer=documents.RemovalDocument,
            query=(
                ("drain", "boolean", "false takes it out at once; default true"),
                ("timeout_s", "number", "longest wait; default [limits] drain_timeout_s"),
            ),
            errors=(400, 404, 409),
        ),
        Operation(
            path="/admin/reload",
            method="POST",
            summary="Read proa.toml again, as SIGHUP does",
            page=reloaded,
            answer=documents.ReloadDocument,
            errors=(400,),
        ),
    ]
