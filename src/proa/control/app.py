"""The control plane's pages: metrics, health, readiness, and the admin API."""

import time
from collections.abc import Awaitable, Callable, Sequence, Set
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from proa.control.access import refusal, who
from proa.control.admin import Operation
from proa.control.admin_documents import StatusDocument, TenantsDocument
from proa.control.admin_errors import http_error, told_errors
from proa.control.admin_request import mutation_refusal
from proa.control.openapi import openapi_document
from proa.control.settings import ControlSettings
from proa.control.status import status_document, tenants_status, unready_reasons
from proa.domain.request_record import AdminAction
from proa.telemetry.metrics import CONTENT_TYPE, prometheus_text
from proa.telemetry.process import GatewayView

ReadView = Callable[[], GatewayView]
ReadSettings = Callable[[], ControlSettings]
OnAction = Callable[[AdminAction], None]
Page = Callable[[Request], Awaitable[Response]]


def control_app(
    view: ReadView,
    settings: ReadSettings,
    operations: Sequence[Operation] = (),
    on_action: OnAction = lambda action: None,
) -> Starlette:
    """The application for `control.listen`; the first two give the newest at every request.

    `on_action` hears of everything that was changed, or would have been, had it not failed.
    `/healthz` and `/readyz` are open to all, everything else is guarded (see `access.py`).
    """

    async def healthz(request: Request) -> Response:
        del request
        return PlainTextResponse("ok\n")

    async def readyz(request: Request) -> Response:
        del request
        reasons = unready_reasons(view())
        return JSONResponse({"ready": not reasons, "reasons": reasons}, 503 if reasons else 200)

    async def metrics(request: Request) -> Response:
        del request
        return Response(prometheus_text(view()), media_type=CONTENT_TYPE)

    async def status(request: Request) -> Response:
        del request
        return JSONResponse(status_document(view()))

    async def tenants(request: Request) -> Response:
        del request
        return JSONResponse(tenants_status(view()))

    async def openapi(request: Request) -> Response:
        del request
        return JSONResponse(openapi_document(table, view().version))

    table = [
        Operation(
            path="/admin/status",
            method="GET",
            summary="The whole gateway: workers, engines, keys, the last reload",
            page=status,
            answer=StatusDocument,
        ),
        Operation(
            path="/admin/tenants",
            method="GET",
            summary="All tenants: what they have open, used today, and used of each limit",
            page=tenants,
            answer=TenantsDocument,
        ),
        *operations,
    ]
    return Starlette(
        routes=[
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/metrics", _guarded(metrics, settings)),
            Route("/admin/openapi.json", _guarded(openapi, settings)),
            *(
                _route(path, table, settings, on_action)
                for path in dict.fromkeys(o.path for o in table)
            ),
        ],
        exception_handlers={HTTPException: http_error},
    )


def _route(
    path: str, table: Sequence[Operation], settings: ReadSettings, on_action: OnAction
) -> Route:
    """All methods of one path, so that others are answered with those that there are."""
    by_method = {operation.method: operation for operation in table if operation.path == path}

    async def page(request: Request) -> Response:
        operation = by_method["GET" if request.method == "HEAD" else request.method]
        if not operation.changes:
            return await told_errors(operation.page)(request)
        if (answer := mutation_refusal(request)) is None:
            answer = await told_errors(operation.page)(request)
        known = {name for name, *_ in operation.query}
        on_action(_action(request, answer.status_code, who(request, settings()), known))
        return answer

    return Route(path, _guarded(page, settings), methods=list(by_method))


def _action(request: Request, status: int, who: str, known: Set[str]) -> AdminAction:
    """What is kept: of the query only parameters that there are, since a key may stand beside."""
    told = [(name, value) for name, value in request.query_params.multi_items() if name in known]
    return AdminAction(
        at_s=round(time.time(), 3),
        who=who,
        method=request.method,
        path=request.url.path,
        status=status,
        detail=urlencode(told),
    )


def _guarded(page: Page, settings: ReadSettings) -> Page:
    async def guarded(request: Request) -> Response:
        return refusal(request, settings()) or await page(request)

    return guarded
