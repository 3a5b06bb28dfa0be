"""TLS towards clients."""

import ssl

from proa.gateway.settings import TlsSettings


def server_context(tls: TlsSettings) -> ssl.SSLContext:
    """What connections use from now on; those that are open keep theirs.

    Raises:
        OSError: a file is unreadable, or certificate and key are no pair.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(tls.cert_file, tls.key_file)
    if tls.client_ca_file is not None:
        context.load_verify_locations(tls.client_ca_file)
        context.verify_mode = ssl.CERT_REQUIRED
    return context
