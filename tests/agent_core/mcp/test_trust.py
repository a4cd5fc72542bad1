"""Servers with certificates of their own, which want one of us too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from agent_core.mcp import specs
from agent_core.mcp.connection import trust_of
from agent_core.mcp.specs import McpHopeless, ServerSpec
from tests.agent_core.mcp.conftest import Open
from tests.support.certificates import OPENSSL, Certificates, make_certificates
from tests.support.mcp_servers import KEY, sdk_on_a_port

pytestmark = pytest.mark.skipif(OPENSSL is None, reason="the command openssl makes the certificates")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def origin(made: Certificates) -> Iterator[str]:
    with sdk_on_a_port(certificates=made) as origin:
        yield origin


def trust(**files: Path) -> specs.Certificates:
    return specs.Certificates(**{key: str(path) for key, path in files.items()})


def test_a_server_with_a_ca_of_its_own_that_wants_a_certificate_is_used(
    open_servers: Open, made: Certificates, origin: str
) -> None:
    known = trust(ca_file=made.ca, client_cert=made.chain, client_key=made.key)
    kinds = (("http", "/mcp"), ("sse", "/events/sse"))
    servers = open_servers(
        *(ServerSpec(kind, kind, url=f"{origin}{path}", headers=(KEY,), certificates=known) for kind, path in kinds)
    )
    assert [status.error for status in servers.status()] == ["", ""]
    for kind, _ in kinds:
        assert servers.call(kind, "add", {"a": 1, "b": 2}, CancelToken(), lambda _: None).text == "3"


def test_without_them_it_is_not_trusted_and_says_so(open_servers: Open, made: Certificates, origin: str) -> None:
    url = f"{origin}/mcp"
    servers = open_servers(
        ServerSpec("stranger", "http", url=url, headers=(KEY,)),
        ServerSpec("nobody", "http", url=url, headers=(KEY,), certificates=trust(ca_file=made.ca)),
    )
    stranger, nobody = servers.status()
    assert "is not trusted" in stranger.error
    assert nobody.state == "failed"


def test_files_that_cannot_be_used_are_named(made: Certificates, tmp_path: Path) -> None:
    (tmp_path / "a.pem").write_text("rubbish")
    for files, told in (
        ({"ca_file": tmp_path / "no.pem"}, "Its ca_file .*no.pem cannot be used: No such file"),
        ({"ca_file": tmp_path / "a.pem"}, "Its ca_file .*a.pem cannot be used: it is no such file in PEM form"),
        ({"client_cert": made.ca}, "Its client_cert .*ca.pem cannot be used"),
        ({"client_key": made.key}, "a client_key without a client_cert"),
    ):
        with pytest.raises(McpHopeless, match=told):
            trust_of(trust(**files))
    assert trust_of(specs.Certificates()) is None
