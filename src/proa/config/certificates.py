"""Certificates that `[tls]` names: tried when the settings are read, not when a client comes."""

import ssl
from pathlib import Path

from proa.config.document import Document
from proa.config.faults import Fault, shown_value


def tls_faults(document: Document, directory: Path) -> list[Fault]:
    """What OpenSSL says against the files, if all that are needed are named."""
    table = document.data.get("tls")
    if not isinstance(table, dict):
        return []
    paths = {
        k: directory / v for k, v in table.items() if isinstance(v, str) and v and "\0" not in v
    }
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    faults = []
    if "cert_file" in paths and "key_file" in paths:
        try:
            # The empty password keeps OpenSSL from asking for one on the terminal.
            context.load_cert_chain(paths["cert_file"], paths["key_file"], password="")
        except (OSError, ValueError) as error:
            accepted = "a PEM certificate chain and its key, without a pass phrase"
            faults.append(_fault(document, "cert_file", table["cert_file"], error, accepted))
    if "client_ca_file" in paths:
        try:
            context.load_verify_locations(paths["client_ca_file"])
        except (OSError, ValueError) as error:
            accepted = "a PEM file of certificate authorities"
            faults.append(
                _fault(document, "client_ca_file", table["client_ca_file"], error, accepted)
            )
    return faults


def _fault(document: Document, key: str, value: str, error: Exception, accepted: str) -> Fault:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    return document.fault(
        ("tls", key),
        f"accepted is {accepted}",
        shown=shown_value(value),
        problem=f"cannot be used ({reason})",
    )
