"""TLS towards engines: which authorities are believed, and with what certificate proa comes."""

import ssl

from proa.domain.fleet import EngineTls


def client_context(tls: EngineTls) -> ssl.SSLContext:
    """What new connections use; without a `ca_file` the system's authorities are believed.

    Raises:
        OSError: a file is unreadable, or certificate and key are no pair.
    """
    context = ssl.create_default_context(cafile=tls.ca_file or None)
    context.set_alpn_protocols(["http/1.1"])
    if tls.cert_file:
        # The empty password keeps OpenSSL from asking for one on the terminal.
        context.load_cert_chain(tls.cert_file, tls.key_file, password="")
    return context


def tls_reason(error: ssl.SSLError) -> str:
    """What went wrong with a handshake, for a person."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: the engine's certificate is not trusted: {error.verify_message}"
    told = (error.reason or str(error)).lower().replace("_", " ")
    return f"TLS: {told}"
