"""Certificates for loopback servers, made with the `openssl` command."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

OPENSSL = shutil.which("openssl")
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True, slots=True)
class Certificates:
    """A CA, and a server's certificate from it for 127.0.0.1 and model.example; not for localhost."""

    ca: Path
    chain: Path
    key: Path

    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.chain, self.key)
        return context


def make_certificates(directory: Path) -> Certificates:
    """Valid for a day."""
    ca, ca_key = directory / "ca.pem", directory / "ca-key.pem"
    chain, key, request = directory / "server.pem", directory / "server-key.pem", directory / "server.csr"
    names = directory / "names.txt"
    names.write_text("subjectAltName=IP:127.0.0.1,DNS:model.example\n", encoding="utf-8")
    # From Python 3.13 on an authority must say what its key is for.
    authority = ("-days", "1", "-subj", "/CN=Test CA", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    _openssl("req", "-x509", *_KEY, "-keyout", ca_key, "-out", ca, *authority)
    _openssl("req", *_KEY, "-keyout", key, "-out", request, "-subj", "/CN=Test server")
    signing = ("-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-days", "1", "-extfile", names)
    _openssl("x509", "-req", "-in", request, "-out", chain, *signing)
    return Certificates(ca, chain, key)


def _openssl(*arguments: str | Path) -> None:
    assert OPENSSL is not None
    subprocess.run([OPENSSL, *map(str, arguments)], check=True, capture_output=True)
