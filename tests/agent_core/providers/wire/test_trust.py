"""Which certificates are trusted, and what the user reads where they are not."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess

import httpx2
import pytest

from agent_core.errors import ProviderConnectionError
from agent_core.providers.base import TextDelta
from agent_core.providers.transport import make_client, trusted_certificates
from tests.support.agents import in_background
from tests.support.certificates import OPENSSL
from tests.support.forwarder import Forwarder
from tests.support.model_server import Reply

VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")

needs_openssl = pytest.mark.skipif(OPENSSL is None, reason="the openssl command is not installed")


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def secure(model_server, certificates):
    """The fake model server behind TLS."""
    with Forwarder(model_server.port, tls=certificates.server_context()) as front:
        yield front


@needs_openssl
@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
@pytest.mark.parametrize("trusted", ["ca", "chain"], ids=["the CA", "the server's own certificate"])
def test_a_certificate_that_a_variable_names_is_trusted(
    model_server, secure, certificates, connect, ask, monkeypatch, variable, trusted
):
    model_server.add(Reply("over TLS"))
    monkeypatch.setenv(variable, str(getattr(certificates, trusted)))
    assert ask(connect(f"{secure.origin}/v1"))[0] == TextDelta("over TLS")


@needs_openssl
def test_a_directory_of_certificates_is_trusted(
    model_server, secure, certificates, connect, ask, monkeypatch, tmp_path
):
    model_server.add(Reply("over TLS"))
    command = [OPENSSL, "x509", "-hash", "-noout", "-in", certificates.ca]
    name = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    (tmp_path / f"{name}.0").write_bytes(certificates.ca.read_bytes())
    monkeypatch.setenv("SSL_CERT_DIR", f"/srv/no-such-directory:{tmp_path}")
    assert ask(connect(f"{secure.origin}/v1"))[0] == TextDelta("over TLS")


@needs_openssl
def test_what_the_caller_names_counts_before_the_environment(secure, certificates, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", "/srv/no-such-file.pem")
    with make_client(ca_bundle=str(certificates.ca)) as client:
        assert client.get(f"{secure.origin}/v1/models").status_code == 200


@needs_openssl
def test_openssls_variables_count_before_the_other(secure, certificates, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.ca))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/srv/no-such-file.pem")
    with make_client() as client:
        assert client.get(f"{secure.origin}/v1/models").status_code == 200


@needs_openssl
def test_a_certificate_that_nobody_vouches_for_is_told_of_with_what_to_set(model_server, secure, connect, ask):
    with pytest.raises(ProviderConnectionError, match=r"SSL_CERT_FILE") as caught:
        ask(connect(f"{secure.origin}/v1"))
    assert caught.value.fault == "tls"
    assert secure.origin in caught.value.public
    assert model_server.requests == []


@needs_openssl
def test_a_certificate_for_another_name_is_not_trusted(secure, certificates, connect, ask, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.ca))
    with pytest.raises(ProviderConnectionError) as caught:
        ask(connect(f"https://localhost:{secure.port}/v1"))
    assert caught.value.fault == "tls"


def test_a_server_without_tls_behind_https_is_told_of(connect, ask):
    with socket.create_server(("127.0.0.1", 0)) as plain:

        def refuse() -> None:
            connection, _ = plain.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        refusing = in_background(refuse)
        with pytest.raises(ProviderConnectionError, match="not TLS") as caught:
            ask(connect(f"https://127.0.0.1:{plain.getsockname()[1]}/v1"))
        refusing.result(5)
    assert caught.value.fault == "tls"


@needs_openssl
def test_a_trusted_connection_that_breaks_later_is_only_cut(certificates, connect, ask, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.ca))
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def spoil() -> None:
            plain, _ = listener.accept()
            with certificates.server_context().wrap_socket(plain, server_side=True) as secure:
                secure.recv(65536)
                # Past the encryption: what arrives is no TLS any more.
                os.write(secure.fileno(), b"garbage" * 10)
                with contextlib.suppress(OSError):
                    while secure.recv(65536):
                        pass

        spoiling = in_background(spoil)
        with pytest.raises(ProviderConnectionError) as caught:
            ask(connect(f"https://127.0.0.1:{listener.getsockname()[1]}/v1"))
        spoiling.result(5)
    assert caught.value.fault == "cut"
    assert "SSL_CERT_FILE" not in caught.value.public


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("content", [None, "", "no certificate"], ids=["missing", "empty", "something else"])
def test_a_ca_that_cannot_be_used_is_one_error_that_names_the_variable_and_the_path(
    connect, ask, monkeypatch, tmp_path, variable, content
):
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv(variable, str(path))
    with pytest.raises(ProviderConnectionError) as caught:
        ask(connect("https://model.example/v1"))
    said = "does not exist" if content is None else "it holds no PEM certificate"
    for part in (variable, str(path), said):
        assert part in caught.value.public
    assert caught.value.fault == "tls"


def test_a_ca_that_the_caller_names_and_that_is_missing_is_named(tmp_path):
    with pytest.raises(ProviderConnectionError, match="the configured CA bundle, does not exist"):
        make_client(ca_bundle=str(tmp_path / "ca.pem"))


@needs_openssl
def test_a_ca_that_was_put_right_is_read_again(certificates, tmp_path):
    path = tmp_path / "ca.pem"
    environ = {"SSL_CERT_FILE": str(path)}
    with pytest.raises(ProviderConnectionError):
        trusted_certificates(environ=environ)
    path.write_bytes(certificates.ca.read_bytes())
    assert trusted_certificates(environ=environ).cert_store_stats()["x509_ca"] == 1


def test_a_missing_directory_beside_a_file_is_passed_over_as_openssl_does(tmp_path):
    environ = {"SSL_CERT_FILE": str(tmp_path / "ca.pem"), "SSL_CERT_DIR": str(tmp_path / "none")}
    with pytest.raises(ProviderConnectionError, match="SSL_CERT_FILE"):
        trusted_certificates(environ=environ)


def test_a_model_in_the_clear_needs_no_certificates_and_its_client_trusts_no_other_server(
    secure, certificates, monkeypatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.ca))
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with make_client(base_url="http://localhost:11434/v1") as client, pytest.raises(httpx2.ConnectError):
        client.get(f"{secure.origin}/v1/models")
    with make_client(base_url=f"{secure.origin}/v1") as client:
        assert client.get(f"{secure.origin}/v1/models").status_code == 200


def test_a_model_in_the_clear_behind_a_proxy_has_the_certificates_that_the_proxy_may_need(monkeypatch):
    monkeypatch.setenv("http_proxy", "https://proxy.example:3128")
    monkeypatch.setenv("SSL_CERT_FILE", "/srv/no-such-file.pem")
    with pytest.raises(ProviderConnectionError, match=r"SSL_CERT_FILE"):
        make_client(base_url="http://models.example/v1")
