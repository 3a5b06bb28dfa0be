"""What a request to the admin API must be like before anything is done for it."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from proa.control.admin_errors import BodyTooLarge, error_answer
from proa.errors import InputError

MAX_BODY_BYTES = 65_536
_SAME = ("same-origin", "none")


def mutation_refusal(request: Request) -> Response | None:
    """The answer to a change that a web page of another origin may have sent, else None.

    A page can send no JSON content type without asking first, and that question
    (CORS preflight) is never granted. Browsers also say from where they send.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        return error_answer(415, "changes need the header content-type: application/json")
    if request.headers.get("sec-fetch-site", "none").lower() not in _SAME:
        return error_answer(403, "a web page of another origin may change nothing")
    return None


async def json_object(request: Request) -> dict[str, Any]:
    """The body as a JSON object, an empty one for no body.

    Raises:
        BodyTooLarge: it is longer than `MAX_BODY_BYTES`.
        InputError: it is something else.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY_BYTES:
            raise BodyTooLarge(f"the body has more than {MAX_BODY_BYTES} bytes")
    if not body.strip():
        return {}
    try:
        value = json.loads(body, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the body is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InputError("the body must be a JSON object")
    return value


def no_body(body: dict[str, Any]) -> None:
    """Refuse keys where none are known.

    Raises:
        InputError: the body has some.
    """
    if body:
        raise InputError(f"no body is known here, leave out {', '.join(map(repr, body))}")


def flag(request: Request, name: str, *, default: bool) -> bool:
    """A query parameter that is true or false.

    Raises:
        InputError: it is something else.
    """
    text = request.query_params.get(name)
    if text not in (None, "true", "false"):
        raise InputError(f"{name} = {text!r}: accepted is true or false")
    return default if text is None else text == "true"


def seconds(request: Request, name: str) -> float | None:
    """A query parameter in seconds, None where it is not given.

    Raises:
        InputError: it is no number from 0 to a week.
    """
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 604_800:
        raise InputError(f"{name} = {text!r}: accepted is a number from 0 to 604800")
    return value


def known_parameters(request: Request, *names: str) -> None:
    """Refuse query parameters that would be passed over.

    Raises:
        InputError: there is another one.
    """
    for name in request.query_params:
        if name not in names:
            known = f"known are {', '.join(names)}" if names else "there are none here"
            raise InputError(f"{name!r} is not a known parameter: {known}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return value
