"""The admin API of a running gateway, asked from the command line."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from proa.config.addresses import engine_url
from proa.config.document import read_document
from proa.config.environment import named_key
from proa.control.settings import ControlSettings
from proa.domain.address import with_scheme
from proa.errors import InputError, OwnFault, UpstreamError

_CONNECT_TIMEOUT_S = 5.0
_ANSWER_TIMEOUT_S = 60.0
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}


class AdminClient:
    """Asks the API at `url`, with a key where `key` is not empty."""

    def __init__(
        self, url: str, key: str = "", transport: httpx.BaseTransport | None = None
    ) -> None:
        self._url = url
        self._key = key
        is_socket = url.startswith("unix:")
        path = url.removeprefix("unix:") if is_socket else None
        self._base = "http://localhost" if is_socket else url
        self._transport = transport or httpx.HTTPTransport(uds=path)

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        wait_s: float = 0.0,
    ) -> dict[str, Any]:
        """What the API answers; `wait_s` is how long it may take on purpose.

        Raises:
            InputError: it refuses what was asked (status 4xx).
            UpstreamError: nobody is there, or it is not a gateway.
            OwnFault: the gateway failed (status 5xx).
        """
        headers = {"content-type": "application/json"}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        timeout = httpx.Timeout(_ANSWER_TIMEOUT_S + wait_s, connect=_CONNECT_TIMEOUT_S)
        with httpx.Client(
            base_url=self._base, transport=self._transport, timeout=timeout, trust_env=False
        ) as client:
            try:
                answer = client.request(method, path, json=body, headers=headers)
            except httpx.HTTPError as error:
                told = str(error) or type(error).__name__
                raise UpstreamError(f"no gateway answers at {self._url}: {told}") from error
        return self._told(answer)

    def _told(self, answer: httpx.Response) -> dict[str, Any]:
        try:
            told = answer.json()
        except ValueError:
            told = None
        if answer.is_success and isinstance(told, dict):
            return told
        try:
            message = str(told["error"]["message"])
        except (TypeError, KeyError):
            raise UpstreamError(
                f"{self._url} does not answer like the admin API (status {answer.status_code})"
            ) from None
        if answer.status_code == 401 and not self._key:
            message += "; --api-key-env NAME names the variable that has it"
        raise (InputError if answer.status_code < 500 else OwnFault)(message)


def client_for(
    control: str | None,
    file: Path,
    key_variable: str | None,
    environ: Mapping[str, str] = os.environ,
) -> AdminClient:
    """A client of the address given, or of the one in `file`, or of the default one.

    Raises:
        InputError: the address or the variable cannot be used.
    """
    key = "" if key_variable is None else named_key(key_variable, environ)
    if control is not None:
        try:
            url = engine_url(with_scheme(control))
        except ValueError as error:
            raise InputError(f"--control = {control!r}: accepted is HOST:PORT, {error}") from None
        return AdminClient(url, key)
    return AdminClient(_url_in(file), key)


def _url_in(file: Path) -> str:
    listen: object = None
    if file.exists():
        table = read_document(file).data.get("control")
        listen = table.get("listen") if isinstance(table, dict) else None
    if not isinstance(listen, str):
        listen = ControlSettings().listen
    if listen.startswith("unix:"):
        return listen
    host, _, port = listen.rpartition(":")
    if port == "0":
        raise InputError(f"{file}: control.listen has port 0: say with --control where it is")
    return f"http://{_EVERYWHERE.get(host, host)}:{port}"
