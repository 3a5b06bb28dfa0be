"""Errors of the admin API: one JSON form, whatever went wrong."""

from collections.abc import Awaitable, Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from proa.errors import ConfigError, InputError, ProaError, UpstreamError, api_error

Page = Callable[[Request], Awaitable[Response]]


class UnknownEngine(InputError):
    """There is no engine of that name."""


class EngineConflict(InputError):
    """The engine is not in a state in which this can be done."""


class BodyTooLarge(InputError):
    """More bytes than the API takes."""


def error_answer(
    status: int, message: str, *, code: str | None = None, param: str | None = None
) -> JSONResponse:
    """`{"error": {"message", "type", "param", "code"}}`, as the gateway's own API has it."""
    row = api_error(status)
    error = {"message": message, "type": row.type, "param": param, "code": code or row.code}
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"error": error}, status, headers)


def answer_to(error: ProaError) -> JSONResponse:
    """The answer that tells an error of ours, by whose fault it is."""
    match error:
        case UnknownEngine():
            return error_answer(404, str(error), code="engine_not_found", param="name")
        case EngineConflict():
            return error_answer(409, str(error), code="engine_conflict", param="name")
        case BodyTooLarge():
            return error_answer(413, str(error))
        case ConfigError():
            return error_answer(400, str(error), param=error.key or None)
        case InputError():
            return error_answer(400, str(error))
        case UpstreamError():
            return error_answer(502, str(error))
        case _:
            return error_answer(500, str(error))


def told_errors(page: Page) -> Page:
    """The page, with its errors as answers."""

    async def guarded(request: Request) -> Response:
        try:
            return await page(request)
        except ProaError as error:
            return answer_to(error)

    return guarded


async def http_error(request: Request, error: Exception) -> Response:
    """Unknown paths and methods, in the same form."""
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        message = f"there is no page {request.url.path}; /admin/openapi.json lists those of the API"
        return error_answer(404, message, code="not_found")
    answer = error_answer(error.status_code, f"{request.method} {error.detail}")
    answer.headers.update(error.headers or {})
    return answer
