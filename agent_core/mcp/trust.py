"""Whom we trust at a server of the network, and who we are there, where the settings say so."""

from __future__ import annotations

import ssl

from agent_core.mcp.errors import McpHopeless
from agent_core.mcp.specs import Certificates


def trust_of(certificates: Certificates) -> ssl.SSLContext | None:
    """What a connection is made with; None where nothing is set. It reads files, so it may block.

    Raises:
        McpHopeless: a file cannot be used.
    """
    if not (certificates.ca_file or certificates.client_cert or certificates.client_key):
        return None
    if not certificates.client_cert and certificates.client_key:
        raise McpHopeless("It has a client_key without a client_cert. Set both in mcp_servers.")
    import httpx2  # noqa: PLC0415 - loaded with the SDK

    context = httpx2.create_ssl_context()
    if certificates.ca_file:
        try:
            context.load_verify_locations(certificates.ca_file)
        except OSError as problem:
            raise _unusable("ca_file", certificates.ca_file, problem) from problem
    if certificates.client_cert:
        try:
            # Without an answer of ours OpenSSL would ask at the terminal for the key's password.
            context.load_cert_chain(certificates.client_cert, certificates.client_key or None, password=str)
        except OSError as problem:
            names = " and ".join(filter(None, (certificates.client_cert, certificates.client_key)))
            raise _unusable("client_cert", names, problem) from problem
    return context


def _unusable(key: str, path: str, problem: OSError) -> McpHopeless:
    why = problem.strerror or str(problem)
    if isinstance(problem, ssl.SSLError):
        why = f"it is no such file in PEM form, or its key has a password ({problem.reason or why})"
    return McpHopeless(f"Its {key} {path} cannot be used: {why}. Correct it in mcp_servers.")
