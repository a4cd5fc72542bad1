"""Loopback endpoints that give out the clouds' tokens, and the settings with which their libraries find them."""

from __future__ import annotations

import functools
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import pytest

TOKEN = "cloud-token-0123456789abcdef"
PROJECT = "signed-in-project"
KEY_ID, SECRET, SESSION = "AKIDSIGNEDIN", "aws/secret/0123456789", "aws-session-0123456789"
IDENTITY_HEADER = "header-of-the-machine"
_LATER = 4_000_000_000


class FakeSignIns:
    """Gives each asker a token: Azure's managed identity, Google's service account, AWS's container credentials.

    `refusal` is answered instead, with its status, and `gate` is waited for before any answer.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.refusal: tuple[int, Any] | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.reached = threading.Event()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer()

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", "0")))
                self._answer()

            def _answer(self) -> None:
                fake.asked.append(self.path)
                fake.reached.set()
                fake.gate.wait(20)
                status, content = fake.refusal or (200, _content(self.path))
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def scopes(self) -> list[str]:
        """What Azure's tokens were asked for."""
        queries = (parse_qs(urlsplit(path).query) for path in self.asked)
        return [query["resource"][0] for query in queries if "resource" in query]

    def entra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A machine of Azure with an identity of its own."""
        monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{self.url}/msi/token")
        monkeypatch.setenv("IDENTITY_HEADER", IDENTITY_HEADER)

    def google(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        """A service account's file."""
        account = {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": "1",
            "private_key": _private_key(),
            "client_email": "agent@example.com",
            "token_uri": f"{self.url}/google/token",
        }
        file = folder / "service-account.json"
        file.write_text(json.dumps(account))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
        monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)

    def aws(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A container of AWS with a role."""
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("botocore.utils.ContainerMetadataFetcher.SLEEP_TIME", 0)  # between its tries
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{self.url}/aws/credentials")

    def close(self) -> None:
        self.gate.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _content(path: str) -> dict[str, Any]:
    if path.startswith("/aws/"):
        expires = "2100-01-01T00:00:00Z"
        return {"AccessKeyId": KEY_ID, "SecretAccessKey": SECRET, "Token": SESSION, "Expiration": expires}
    if path.startswith("/msi/"):
        return {"access_token": TOKEN, "expires_on": str(_LATER), "resource": "r", "token_type": "Bearer"}
    return {"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"}


@functools.cache
def _private_key() -> str:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - for these tests only
    from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return key.private_bytes(*form).decode()
