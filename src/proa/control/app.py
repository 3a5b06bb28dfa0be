"""The control plane's pages: metrics, health, readiness, status."""

from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from proa.control.access import refusal
from proa.control.settings import ControlSettings
from proa.control.status import status_document, unready_reasons
from proa.telemetry.metrics import CONTENT_TYPE, prometheus_text
from proa.telemetry.process import GatewayView

ReadView = Callable[[], GatewayView]
ReadSettings = Callable[[], ControlSettings]
Page = Callable[[Request], Awaitable[Response]]


def control_app(view: ReadView, settings: ReadSettings) -> Starlette:
    """The application for `control.listen`; both callables give the newest at every request.

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

    return Starlette(
        routes=[
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/metrics", _guarded(metrics, settings)),
            Route("/admin/status", _guarded(status, settings)),
        ]
    )


def _guarded(page: Page, settings: ReadSettings) -> Page:
    async def guarded(request: Request) -> Response:
        return refusal(request, settings()) or await page(request)

    return guarded
