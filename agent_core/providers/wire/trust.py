"""Which certificates are trusted: the system's, or those of a CA that the user or the environment names."""

from __future__ import annotations

import functools
import os
import ssl
from collections.abc import Mapping
from pathlib import Path

import httpx2

from agent_core.errors import ProviderConnectionError
from tools.light_dataclass import dataclass

_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
_ADVICE = "give the path of a PEM file with the CA's certificate, or of a directory that `openssl rehash` prepared"


@dataclass(frozen=True, slots=True)
class _Source:
    name: str
    path: str
    changed: int
    """When, so that a file that was put right is read again."""


def trusted_certificates(ca_bundle: str | None = None, environ: Mapping[str, str] | None = None) -> ssl.SSLContext:
    """The TLS settings for model servers; what is named replaces the system's certificates.

    The first of these that is set counts: `ca_bundle`; OpenSSL's own SSL_CERT_FILE and SSL_CERT_DIR, together; and
    REQUESTS_CA_BUNDLE.

    Raises:
        ProviderConnectionError: what is named is not there, or holds no certificate; variable and path are named.
    """
    return _context(_sources(ca_bundle, os.environ if environ is None else environ))


def _sources(ca_bundle: str | None, environ: Mapping[str, str]) -> tuple[_Source, ...]:
    if ca_bundle:
        return (_source("the configured CA bundle", ca_bundle),)
    named = {name: path for name in _VARIABLES if (path := environ.get(name))}
    if "SSL_CERT_FILE" in named and not _directories(named.get("SSL_CERT_DIR", "")):
        return (_source("SSL_CERT_FILE", named["SSL_CERT_FILE"]),)
    if "SSL_CERT_FILE" in named or "SSL_CERT_DIR" in named:
        named.pop("REQUESTS_CA_BUNDLE", None)
    return tuple(_source(name, path) for name, path in named.items())


def _source(name: str, path: str) -> _Source:
    try:
        return _Source(name, path, Path(path).stat().st_mtime_ns)
    except (OSError, ValueError):  # what is wrong is told when it is loaded
        return _Source(name, path, 0)


@functools.lru_cache(maxsize=8)
def _context(sources: tuple[_Source, ...]) -> ssl.SSLContext:
    # Kept: to read hundreds of certificates takes longer than all else that a client needs.
    if not sources:
        return httpx2.create_ssl_context(trust_env=False)
    # Not ssl.create_default_context: it is strict about forms that the CAs of many companies do not keep.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    for source in sources:
        _load(context, source)
    return context


def _load(context: ssl.SSLContext, source: _Source) -> None:
    try:
        for directory in _directories(source.path):
            context.load_verify_locations(capath=directory)
        if not _directories(source.path):
            context.load_verify_locations(cafile=source.path)
    except (OSError, ValueError) as problem:  # SSLError is an OSError; ValueError: no path at all
        missing = isinstance(problem, FileNotFoundError)
        what = "does not exist" if missing else f"cannot be used as certificates ({_reason(problem)})"
        raise ProviderConnectionError(
            f"No secure connection can be made: {source.path}, named by {source.name}, {what}. Set {source.name} "
            f"right: {_ADVICE}.",
            "tls",
        ) from problem


def _directories(paths: str) -> list[str]:
    # OpenSSL takes several, separated as in PATH.
    return [path for path in paths.split(os.pathsep) if Path(path).is_dir()]


def _reason(problem: Exception) -> str:
    if isinstance(problem, ssl.SSLError):
        return "it holds no PEM certificate"
    return getattr(problem, "strerror", None) or str(problem)
