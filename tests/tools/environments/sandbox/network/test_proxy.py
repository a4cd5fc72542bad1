"""The proxy, with clients that know its password: whom it lets out, where to, and what it passes on."""

from __future__ import annotations

import base64
import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.certificates import OPENSSL, Certificates, make_certificates
from tests.support.forwarder import Forwarder
from tests.support.host_gate import ScriptedGate
from tests.support.web_server import Exchange, WebServer
from tests.tools.environments.sandbox.network.conftest import MakeNetwork
from tests.tools.environments.sandbox.network.test_client_hello import (
    RETRY,
    client_hello,
    encrypted_hello,
    record,
    server_hello,
    split,
    with_extensions,
)
from tools.environments.sandbox.network.hosts import NetworkRules
from tools.environments.sandbox.network.session_network import SessionNetwork

PUBLIC = "93.184.215.14"


def finding(known: Mapping[str, str]) -> Callable[[str, int], list[str]]:
    def find(host: str, _port: int) -> list[str]:
        if host not in known:
            raise OSError(f"this test does not know {host}")
        return [known[host]]

    return find


class Client:
    """Talks to a network's proxy."""

    def __init__(self, network: SessionNetwork, login: str | None = None) -> None:
        parts = urlsplit(network.variables()["HTTPS_PROXY"])
        self.port = parts.port or 0
        login = f"{parts.username}:{parts.password}" if login is None else login
        self.login = "Basic " + base64.b64encode(login.encode()).decode()

    def get(self, url: str, method: str = "GET", **options: object) -> tuple[int, str, bytes]:
        """Status, its words, and the body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        headers = {"Proxy-Authorization": self.login, **options.pop("headers", {})}  # type: ignore[dict-item]
        try:
            connection.request(method, url, headers=headers, **options)  # type: ignore[arg-type]
            response = connection.getresponse()
            return response.status, response.reason, response.read()
        finally:
            connection.close()

    def tunnel(self, place: str) -> tuple[socket.socket, bytes]:
        """The connection, and the head of the answer."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        connection.sendall(f"CONNECT {place} HTTP/1.1\r\nProxy-Authorization: {self.login}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            if not (byte := connection.recv(1)):
                break
            head += byte
        return connection, head


@pytest.fixture
def server():
    with WebServer({"/a": b"page"}) as found:
        yield found


def test_a_host_that_no_rule_knows_is_asked_about(make_network: MakeNetwork, server: WebServer) -> None:
    gate = ScriptedGate("docs.example")
    network = make_network(gate, find=finding({"docs.example": "127.0.0.1"}))
    url = f"http://docs.example:{server.port}/a"
    assert Client(network).get(url)[::2] == (200, b"page")
    assert Client(network).get(url)[0] == 200
    assert gate.asked == [("docs.example", server.port, ""), ("docs.example", server.port, "this machine")]
    assert network.refusals() == ()


def test_a_no_is_told_in_the_first_line_in_the_body_and_to_the_session(
    make_network: MakeNetwork, server: WebServer
) -> None:
    network = make_network(find=finding({}))
    status, reason, body = Client(network).get(f"http://docs.example:{server.port}/a")
    told = f"The sandbox does not let this command reach docs.example:{server.port}: the answer was no."
    assert (status, reason, body.decode()) == (403, told, f"{told}\n")
    assert network.refusals() == (f"docs.example:{server.port}: the answer was no",)
    assert server.requests == []


def test_a_name_is_looked_up_after_the_yes_only(make_network: MakeNetwork) -> None:
    looked: list[str] = []

    def find(host: str, _port: int) -> list[str]:
        looked.append(host)
        return ["127.0.0.1"]

    Client(make_network(find=find)).get("http://secret-data.evil.example/")
    assert looked == []


def test_what_the_settings_allow_is_reached_without_a_question(make_network: MakeNetwork, server: WebServer) -> None:
    gate = ScriptedGate()
    rules = NetworkRules(allow=(f"registry.example:{server.port}",))
    network = make_network(gate, rules, find=finding({"registry.example": "127.0.0.1"}))
    assert Client(network).get(f"http://registry.example:{server.port}/a")[0] == 200
    assert gate.asked == []
    assert gate.were_reached == 1, "what it printed may be anybody's words"


@pytest.mark.parametrize("entry", ["bad.example", "127.0.0.1"])
def test_what_the_settings_deny_is_not_by_name_and_not_by_address(
    make_network: MakeNetwork, server: WebServer, entry: str
) -> None:
    gate = ScriptedGate("*")
    network = make_network(gate, NetworkRules(deny=(entry,)), find=finding({"bad.example": "127.0.0.1"}))
    status, reason, _ = Client(network).get(f"http://bad.example:{server.port}/a")
    assert status == 403
    assert "the settings deny" in reason
    assert server.requests == []


@pytest.mark.parametrize(
    ("host", "address", "inside"),
    [
        ("pypi.org", "10.0.0.9", "in a private network"),
        ("code.example.org", "127.0.0.1", "this machine"),
        ("code.example.org", "100.64.3.4", "in a carrier's or VPN's private network"),
    ],
)
def test_a_listed_name_that_leads_inside_is_asked_about(
    make_network: MakeNetwork, host: str, address: str, inside: str
) -> None:
    gate = ScriptedGate()
    network = make_network(gate, remotes=["code.example.org"], find=finding({host: address}))
    connection, head = Client(network).tunnel(f"{host}:443")
    connection.close()
    assert head.startswith(b"HTTP/1.1 403 ")
    assert gate.asked == [(host, 443, inside)]


@pytest.mark.parametrize("host", ["169.254.169.254", "[fd00:ec2::254]", "0.0.0.0", "meta.example"])
def test_nobody_can_allow_a_metadata_service(make_network: MakeNetwork, host: str) -> None:
    gate = ScriptedGate("*")
    rules = NetworkRules(allow=("meta.example", "169.254.169.254"))
    network = make_network(gate, rules, find=finding({"meta.example": "169.254.169.254"}))
    status, reason, _ = Client(network).get(f"http://{host}/latest/meta-data/")
    assert status == 403
    assert "nobody can allow" in reason
    assert gate.asked == []


def test_services_of_this_machine_are_asked_about_through_the_proxy_too(
    make_network: MakeNetwork, server: WebServer
) -> None:
    gate = ScriptedGate()
    assert Client(make_network(gate)).get(server.url("/a"))[0] == 403
    assert gate.asked == [("localhost", server.port, "this machine")]


def test_the_proxy_does_not_lead_to_itself(make_network: MakeNetwork) -> None:
    client = Client(make_network(ScriptedGate("*"), find=finding({"me.example": "127.0.0.1"})))
    assert client.get(f"http://127.0.0.1:{client.port}/")[0] == 502
    assert client.get(f"http://me.example:{client.port}/")[0] == 502


@pytest.mark.parametrize("login", ["", "sandbox:", "sandbox:wrong", "root:root"])
def test_without_the_password_nothing_is_served(make_network: MakeNetwork, server: WebServer, login: str) -> None:
    gate = ScriptedGate("*")
    assert Client(make_network(gate), login).get(server.url("/a"))[0] == 407
    assert (gate.asked, server.requests) == ([], [])


def test_each_session_has_a_password_of_its_own(make_network: MakeNetwork) -> None:
    assert Client(make_network()).login != Client(make_network()).login


def test_a_program_that_hangs_up_withdraws_its_question(make_network: MakeNetwork) -> None:
    gate = ScriptedGate("*", holds=True)
    client = Client(make_network(gate))
    with socket.create_connection(("127.0.0.1", client.port)) as connection:
        connection.sendall(f"CONNECT a.example:443 HTTP/1.1\r\nProxy-Authorization: {client.login}\r\n\r\n".encode())
        assert gate.was_asked.wait(10)
    assert gate.withdrawn.wait(10)


def test_the_end_of_the_session_cuts_every_connection(make_network: MakeNetwork) -> None:
    others = set(threading.enumerate())  # of tests before this one
    with WebServer({"/hold": Exchange.hold}) as server:
        network = make_network(ScriptedGate("*"))
        connection, head = Client(network).tunnel(f"127.0.0.1:{server.port}")
        with connection:
            assert head.startswith(b"HTTP/1.1 200 ")
            connection.sendall(b"GET /hold HTTP/1.1\r\nHost: a\r\n\r\n")
            assert server.heard.wait(10)
            network.close()
            # The kernel tells an end, or a reset where something was not read any more.
            with suppress(ConnectionResetError):
                assert connection.recv(1) == b""
    assert not [one for one in threading.enumerate() if one.name == "sandbox-proxy" and one not in others]
    with pytest.raises(OSError, match="ended"):
        network.variables()


def test_a_plain_request_goes_to_the_host_of_its_url_and_to_no_other(
    make_network: MakeNetwork, server: WebServer
) -> None:
    network = make_network(ScriptedGate("*"), find=finding({"docs.example": "127.0.0.1"}))
    client = Client(network)
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
        second = f"GET http://other.example:{server.port}/b HTTP/1.1\r\nHost: other.example\r\n\r\n"
        first = f"GET http://docs.example:{server.port}/a HTTP/1.1\r\nHost: other.example\r\n"
        connection.sendall(f"{first}Proxy-Authorization: {client.login}\r\nX: 1\r\n\r\n{second}".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.count(b"HTTP/1.1 ") == 1
    (request,) = server.requests
    assert request.headers["Host"] == f"docs.example:{server.port}"
    assert request.headers["x"] == "1"
    assert "Proxy-Authorization" not in request.headers


def _raw_server(requests: list[bytes]) -> tuple[socket.socket, threading.Thread]:
    """Takes down all that one connection sends, up to a body's end, and answers."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            data = b""
            while not data.endswith((b"0\r\n\r\n", b"the body")):
                data += connection.recv(65536)
            requests.append(data)
            connection.sendall(
                b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Made\r\nConnection: x\r\nX: 1\r\n\r\nanswer"
            )

    thread = threading.Thread(target=serve)
    thread.start()
    return listener, thread


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        (
            {"body": b"the body", "headers": {"Expect": "100-continue"}},
            b"content-length: 8\r\nConnection: close\r\n\r\nthe body",
        ),
        (
            {"body": iter([b"one", b"two"]), "encode_chunked": True, "headers": {"Transfer-Encoding": "chunked"}},
            b"transfer-encoding: chunked\r\nConnection: close\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n",
        ),
    ],
)
def test_bodies_are_passed_on_as_long_as_they_say(
    make_network: MakeNetwork, options: dict[str, object], sent: bytes
) -> None:
    requests: list[bytes] = []
    listener, thread = _raw_server(requests)
    with listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/up"
        status, reason, body = Client(make_network(ScriptedGate("*"))).get(url, "POST", **options)
        thread.join(10)
    assert (status, reason, body) == (201, "Made", b"answer")
    assert requests[0].endswith(sent)


@pytest.mark.parametrize("size", ["-3", "0x3", "+3", "0_3", " 3", "", "3\t3"])
def test_a_body_whose_parts_have_no_clear_length_is_not_passed_on(make_network: MakeNetwork, size: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        parts = f"{size}\r\none\r\n0\r\n\r\nGET /second HTTP/1.1\r\n\r\n".encode()
        client = Client(make_network(ScriptedGate("*")))
        answers: list[int] = []
        headers = {"Transfer-Encoding": "chunked"}
        asking = threading.Thread(
            target=lambda: answers.append(
                client.get(f"http://{host}:{port}/up", "POST", body=iter([parts]), headers=headers)[0]
            )
        )
        asking.start()
        there, _ = listener.accept()
        with there:
            there.settimeout(10)
            received = b""
            while data := there.recv(65536):
                received += data
        asking.join(10)
    assert answers == [502]
    assert received.endswith(b"Connection: close\r\n\r\n")


def test_a_server_that_is_not_there_is_told(make_network: MakeNetwork, refused_port: int) -> None:
    network = make_network(ScriptedGate("*"), find=finding({"docs.example": "127.0.0.1"}))
    assert Client(network).get(f"http://docs.example:{refused_port}/")[0] == 502
    assert Client(network).get("http://unknown.example/")[0] == 502
    assert network.refusals() == ()


def test_what_is_no_request_to_a_proxy_is_told(make_network: MakeNetwork) -> None:
    assert Client(make_network()).get("/path")[0] == 400
    assert Client(make_network()).get("http://a.example/", headers={"X": "a" * 300_000})[0] == 400


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    if OPENSSL is None:
        pytest.skip("needs openssl")
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def test_a_listed_host_is_reached_through_the_users_own_proxy(
    make_network: MakeNetwork, certificates: Certificates, tmp_path: Path
) -> None:
    gate = ScriptedGate()
    with (
        WebServer({"/simple/": b"index"}, tls=certificates.server_context()) as server,
        Forwarder(server.port, tunnel=True) as upstream,
    ):
        network = make_network(
            gate,
            find=finding({"pypi.org": PUBLIC, "127.0.0.1": "127.0.0.1"}),
            proxies={"https": f"http://me:secret@127.0.0.1:{upstream.port}"},
        )
        connection, head = Client(network).tunnel("pypi.org:443")
        assert head.startswith(b"HTTP/1.1 200 ")
        context = ssl.create_default_context(cafile=str(certificates.ca))
        context.check_hostname = False
        with context.wrap_socket(connection, server_hostname="pypi.org") as secure:
            secure.sendall(b"GET /simple/ HTTP/1.1\r\nHost: pypi.org\r\nConnection: close\r\n\r\n")
            answer = b"".join(iter(lambda: secure.recv(65536), b""))
    assert answer.endswith(b"index")
    assert upstream.connects == ["CONNECT pypi.org:443 HTTP/1.1"]
    assert "Proxy-Authorization: Basic bWU6c2VjcmV0" in upstream.heads[0]
    assert gate.asked == []


@contextmanager
def tunnel_to(
    make_network: MakeNetwork, place: str, gate: ScriptedGate | None = None, remotes: Sequence[str] = ()
) -> Iterator[tuple[socket.socket, socket.socket, SessionNetwork]]:
    """A tunnel to a host of the internet: the program's end, the server's, and the network."""
    with socket.create_server(("127.0.0.1", 0)) as arrived, Forwarder(arrived.getsockname()[1], tunnel=True) as way:
        network = make_network(
            gate,
            remotes=remotes,
            find=lambda host, _port: ["127.0.0.1" if host == "127.0.0.1" else PUBLIC],
            proxies={"https": f"http://127.0.0.1:{way.port}"},
        )
        connection, head = Client(network).tunnel(place)
        assert head.startswith(b"HTTP/1.1 200 ")
        there, _ = arrived.accept()
        there.settimeout(10)
        with connection, there:
            yield connection, there, network


def _received(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := connection.recv(size - len(data))):
        data += more
    return data


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (client_hello("evil.example"), "asks for another host, 'evil.example'"),
        (split(client_hello("evil.example"), 5), "asks for another host, 'evil.example'"),
        (client_hello("pypi.org.evil.example"), "asks for another host, 'pypi.org.evil.example'"),
        (client_hello("www.pypi.org"), "asks for another host, 'www.pypi.org'"),
        (client_hello(None), "TLS without a server name (SNI)"),
        (split(client_hello(None), 1), "TLS without a server name (SNI)"),
        (with_extensions(b""), "TLS without a server name (SNI)"),
        (encrypted_hello("pypi.org"), "encrypted client hello (ECH)"),
        (split(encrypted_hello("pypi.org", 0xFFCE), 20), "encrypted client hello (ECH)"),
        (encrypted_hello("cloud.example"), "asks for another host, 'cloud.example'"),
        (record(client_hello("pypi.org")[5:] + client_hello("evil.example")[5:]), "not encrypted"),
        (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "not encrypted"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "not encrypted"),
        (b"\x16\3\1\0\0", "not encrypted"),
    ],
    ids=[
        *("another host", "another host in pieces", "a host that begins so", "a host below"),
        *("no name", "no name in pieces", "no extension", "a hidden name", "an older hidden name", "a public name"),
        *("two client hellos", "plain HTTP", "ssh", "an empty record"),
    ],
)
def test_a_tunnel_to_a_listed_host_carries_tls_for_that_host(
    make_network: MakeNetwork, first: bytes, why: str
) -> None:
    for place, remotes in (("pypi.org:443", ()), ("pypi.org:443", ("pypi.org",))):
        with tunnel_to(make_network, place, remotes=remotes) as (connection, there, network):
            connection.sendall(first)
            assert connection.recv(1) == b""
            assert there.recv(100) == b""
        (refusal,) = network.refusals()
        assert refusal.startswith("pypi.org:443: ")
        assert why in refusal


@pytest.mark.parametrize("pieces", [517, 11, 1])
def test_tls_that_names_its_listed_host_passes_whole_and_in_pieces(make_network: MakeNetwork, pieces: int) -> None:
    hello = split(client_hello("pypi.org"), pieces)
    with tunnel_to(make_network, "pypi.org:443") as (connection, there, network):
        connection.sendall(hello)
        assert _received(there, len(hello)) == hello
        there.sendall(server_hello(bytes(32)))
        assert connection.recv(1) == b"\x16"
        connection.sendall(b"the rest")
        assert _received(there, 8) == b"the rest"
    assert network.refusals() == ()


def test_a_listed_host_that_is_an_address_needs_no_name_in_tls(make_network: MakeNetwork) -> None:
    hello = client_hello(None)
    with tunnel_to(make_network, f"{PUBLIC}:443", remotes=[PUBLIC]) as (connection, there, network):
        connection.sendall(hello)
        assert _received(there, len(hello)) == hello
    with tunnel_to(make_network, f"{PUBLIC}:443", remotes=[PUBLIC]) as (connection, there, network):
        connection.sendall(client_hello("evil.example"))
        assert there.recv(1) == b""
    assert "asks for another host" in network.refusals()[0]


@pytest.mark.parametrize("early", [True, False], ids=["before it is asked for", "when it is asked for"])
@pytest.mark.parametrize(
    "between", [b"", record(b"\1", 20), record(b"\1", 20) * 2 + record(b"early", 23)], ids=["", "change", "more"]
)
@pytest.mark.parametrize(
    ("name", "refusal"),
    [("pypi.org", ""), ("evil.example", "another host, 'evil.example'"), (None, "TLS without a server name (SNI)")],
)
def test_a_second_client_hello_is_for_the_same_listed_host(
    make_network: MakeNetwork, name: str | None, refusal: str, between: bytes, early: bool
) -> None:
    first, second = client_hello("pypi.org"), client_hello(name)
    with tunnel_to(make_network, "pypi.org:443") as (connection, there, network):
        connection.sendall(first + (between + second if early else b""))
        assert _received(there, len(first)) == first
        there.sendall(RETRY)
        assert _received(connection, len(RETRY)) == RETRY
        if not early:
            connection.sendall(between + second)
        assert _received(there, len(between)) == between
        assert _received(there, len(second)) == (b"" if refusal else second)
    assert [refusal in told for told in network.refusals()] == [True] * bool(refusal)


def test_a_server_that_asks_for_a_second_client_hello_is_reached(
    make_network: MakeNetwork, certificates: Certificates
) -> None:
    """With real TLS on both sides: the server wants a curve that the client has not tried."""
    there = certificates.server_context()
    there.set_ecdh_curve("secp521r1")
    context = ssl.create_default_context(cafile=str(certificates.ca))
    with WebServer({"/a": b"page"}, tls=there) as server:
        network = make_network(ScriptedGate("*"), find=finding({"model.example": "127.0.0.1"}))
        connection, _ = Client(network).tunnel(f"model.example:{server.port}")
        with context.wrap_socket(connection, server_hostname="model.example") as secure:
            secure.sendall(b"GET /a HTTP/1.1\r\nHost: model.example\r\nConnection: close\r\n\r\n")
            assert b"".join(iter(lambda: secure.recv(65536), b"")).endswith(b"page")
    assert network.refusals() == ()


def test_a_host_that_the_person_allowed_may_speak_first_and_in_its_own_protocol(make_network: MakeNetwork) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = f"data.example:{listener.getsockname()[1]}"
        network = make_network(ScriptedGate("*"), find=finding({"data.example": "127.0.0.1"}))
        connection, _ = Client(network).tunnel(place)
        there, _ = listener.accept()
        with connection, there:
            there.sendall(b"hello")
            assert connection.recv(5) == b"hello"
            connection.sendall(b"QUIT\r\n")
            connection.shutdown(socket.SHUT_WR)
            assert b"".join(iter(lambda: there.recv(100), b"")) == b"QUIT\r\n"
            there.sendall(b"bye")
            there.close()
            assert connection.recv(5) == b"bye"


@pytest.mark.parametrize("name", ["evil.example", None], ids=["another host", "no name"])
def test_even_there_tls_is_for_the_host_that_was_asked_for(make_network: MakeNetwork, name: str | None) -> None:
    with tunnel_to(make_network, "data.example:8443", ScriptedGate("*")) as (connection, there, network):
        connection.sendall(client_hello(name))
        assert connection.recv(1) == b""
        assert there.recv(1) == b""
    assert network.refusals()[0].startswith("data.example:8443: ")


def test_browsers_that_encrypt_a_part_of_their_client_hello_reach_what_the_person_allowed(
    make_network: MakeNetwork,
) -> None:
    hello = encrypted_hello("data.example")
    with tunnel_to(make_network, "data.example:443", ScriptedGate("*")) as (connection, there, network):
        connection.sendall(hello)
        assert _received(there, len(hello)) == hello
    assert network.refusals() == ()


def test_a_big_answer_arrives_whole(make_network: MakeNetwork) -> None:
    body = bytes(range(256)) * 20_000
    with WebServer({"/big": body}) as server:
        assert Client(make_network(ScriptedGate("*"))).get(server.url("/big"))[::2] == (200, body)
