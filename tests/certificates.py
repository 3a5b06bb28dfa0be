"""Certificates for tests, made by the openssl program: authorities, servers, clients."""

import ssl
import subprocess
from pathlib import Path
from typing import NamedTuple

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")


class Pair(NamedTuple):
    """Paths of a PEM certificate and its key."""

    certificate: Path
    key: Path


def authority(folder: Path, name: str) -> Pair:
    """A certificate that may sign others."""
    pair = Pair(folder / f"{name}.pem", folder / f"{name}.key")
    _openssl("req", "-x509", *_KEY, "-subj", f"/CN={name}", *_into(pair))
    return pair


def signed(by: Pair, name: str) -> Pair:
    """A certificate for 127.0.0.1 and localhost."""
    folder = by.certificate.parent
    pair = Pair(folder / f"{name}.pem", folder / f"{name}.key")
    _openssl(
        "req", "-x509", "-CA", str(by.certificate), "-CAkey", str(by.key), *_KEY,
        "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
        "-addext", "basicConstraints=critical,CA:FALSE", *_into(pair),
    )  # fmt: skip
    return pair


def server_context(pair: Pair, *, clients_of: Pair | None = None) -> ssl.SSLContext:
    """A server's; with `clients_of` only for clients with a certificate of that authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    if clients_of is not None:
        context.load_verify_locations(clients_of.certificate)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _into(pair: Pair) -> tuple[str, ...]:
    return ("-out", str(pair.certificate), "-keyout", str(pair.key))


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
