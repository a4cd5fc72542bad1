"""Servers of confined commands: reached from this machine at each of its addresses, and from no other."""

from __future__ import annotations

import pytest

from tests.support.notified import WHY_NOT
from tests.support.two_machines import HERE, HERE_6, OtherMachine, on_one_of_two
from tests.tools.environments.sandbox.network.conftest import MakeNetwork, run_python, start_python
from tests.tools.environments.sandbox.network.test_connecting import CONNECT
from tools.environments.sandbox.network.session_network import SessionNetwork

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

_SERVE = """
import socket, sys, threading
server = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
server.bind((sys.argv[1], 0)); server.listen(); server.listen(-1)
for call in (
    lambda: server.setsockopt(socket.SOL_SOCKET, 27, 0),  # SO_DETACH_FILTER
    lambda: server.setsockopt(socket.SOL_SOCKET, 44, 0),  # SO_LOCK_FILTER
):
    try:
        call()
    except OSError:
        continue
print(server.getsockname()[1], flush=True)
def greet():
    while True:
        server.accept()[0].send(b"own")
threading.Thread(target=greet, daemon=True).start()
sys.stdin.readline()
"""


@pytest.mark.parametrize("address", ["0.0.0.0", "::", HERE, HERE_6])
def test_another_machine_does_not_reach_it_and_this_one_does(make_network: MakeNetwork, address: str) -> None:
    far, near = (HERE_6, "::1") if ":" in address else (HERE, "127.0.0.1")

    def work(other: OtherMachine) -> None:
        network = make_network()
        for everywhere in (True, False):
            process, _ = start_python(network, _SERVE, address, online=False, everywhere=everywhere)
            with process:
                port = int(process.stdout.readline())
                if everywhere:
                    assert other.connect(far, port, 20) == "reached"
                    process.communicate(b"\n")
                    continue
                assert other.connect(far, port, 0.3) == "TimeoutError"
                own = {far} if address in {HERE, HERE_6} else {far, near}
                for each in own:
                    family = "AF_INET6" if ":" in each else "AF_INET"
                    assert run_python(network, CONNECT, family, each, port, online=False).output == "connected own\n"
                process.communicate(b"\n")

    if why_not := on_one_of_two(work):
        pytest.skip(why_not)


def _ends(network: SessionNetwork, script: str) -> tuple[str, tuple[str, ...]]:
    ran = run_python(network, f"import errno, socket\n{script}", online=False)
    return ran.output, ran.refusals


def test_a_socket_with_a_locked_filter_of_its_own_does_not_listen(make_network: MakeNetwork) -> None:
    script = """
server = socket.socket(); server.setsockopt(socket.SOL_SOCKET, 44, 1)
try:
    server.listen()
except OSError as problem:
    print(errno.errorcode[problem.errno])
"""
    output, refusals = _ends(make_network(), script)
    assert output == "EACCES\n"
    assert "other machines" in refusals[0]


def test_what_is_no_tcp_does_not_listen(make_network: MakeNetwork) -> None:
    script = """
try:
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
except OSError:
    print("none here"); raise SystemExit
try:
    server.listen()
except OSError as problem:
    print(errno.errorcode[problem.errno])
"""
    output, refusals = _ends(make_network(), script)
    if output == "none here\n":
        pytest.skip("the kernel has no MPTCP")
    assert output == "EACCES\n"
    assert "not TCP" in refusals[0]


def test_a_unix_socket_listens(make_network: MakeNetwork) -> None:
    script = 'server = socket.socket(socket.AF_UNIX); server.bind(""); server.listen(1); print("listens")'
    assert _ends(make_network(), script)[0] == "listens\n"
