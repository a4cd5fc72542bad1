"""Who listens where, as the kernel tells it."""

from __future__ import annotations

import ipaddress
import os
import socket
from pathlib import Path

import pytest

from tests.support.each import each
from tests.support.notified import WHY_NOT
from tools.environments.sandbox.network import sockets
from tools.environments.sandbox.network.sockets import OwnListeners, is_of_this_machine

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


def number_of(connection: socket.socket) -> int:
    return os.fstat(connection.fileno()).st_ino


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_the_sockets_of_a_port_are_found(family: int, address: str) -> None:
    with socket.create_server((address, 0), family=family) as server:
        port = server.getsockname()[1]
        assert sockets.listening_on(port) == {number_of(server)}
    assert sockets.listening_on(port) == frozenset()


def test_a_port_that_is_shared_with_somebody_else_is_not_the_sessions_own() -> None:
    own = OwnListeners()
    with socket.socket() as first, socket.socket() as second:
        for server in (first, second):
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        first.bind(("127.0.0.1", 0))
        port = first.getsockname()[1]
        assert own.have_port(port) is None
        own.note(first)
        first.listen()
        assert own.have_port(port) is True
        second.bind(("127.0.0.1", port))
        second.listen()
        assert own.have_port(port) is False


def test_a_path_that_was_taken_over_by_somebody_else_is_not_the_sessions_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # paths of sockets are short
    own, path = OwnListeners(), Path("a.sock")
    with socket.socket(socket.AF_UNIX) as mine, socket.socket(socket.AF_UNIX) as theirs:
        mine.bind(str(path))
        own.note(mine)
        mine.listen()
        assert own.have_path(path.stat()) is True
        path.rename("moved.sock")
        theirs.bind(str(path))
        theirs.listen()
        assert own.have_path(path.stat()) is False
        assert own.have_path(Path("moved.sock").stat()) is True


@each(
    ("address", "is_here"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("0.0.0.0", True),
        ("::1", True),
        ("::", True),
        ("203.0.113.7", False),
    ],
)
def test_what_stays_on_this_machine_is_known(address: str, is_here: bool) -> None:
    assert is_of_this_machine(ipaddress.ip_address(address)) is is_here


def test_an_address_of_its_own_interfaces_stays_on_this_machine() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unused:
        try:
            unused.connect(("203.0.113.7", 9))
        except OSError:
            pytest.skip("needs an interface beside loopback")
        assert is_of_this_machine(ipaddress.ip_address(unused.getsockname()[0]))
