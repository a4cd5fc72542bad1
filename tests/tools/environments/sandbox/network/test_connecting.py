"""What a command may connect to by itself, with real processes behind a real filter."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.host_gate import ScriptedGate
from tests.support.notified import WHY_NOT
from tests.tools.environments.sandbox.network.conftest import MakeNetwork, run_python, start_python
from tools.environments.sandbox.network.hosts import NetworkRules

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

# Prints what connecting comes to: family, address, port or path.
CONNECT = """
import errno, socket, sys
family = getattr(socket, sys.argv[1])
where = sys.argv[2] if len(sys.argv) == 3 else (sys.argv[2], int(sys.argv[3]))
if isinstance(where, str) and where.startswith("@"):
    where = b"\\0" + where[1:].encode()
connection = socket.socket(family)
try:
    connection.connect(where)
    print("connected", connection.recv(100).decode())
except OSError as problem:
    print(errno.errorcode[problem.errno])
"""
# Listens, says where, and greets everybody until its input ends.
SERVE = """
import os, socket, sys, threading
family, where = getattr(socket, sys.argv[1]), sys.argv[2]
server = socket.socket(family)
server.bind((where, 0) if family != socket.AF_UNIX else where.replace("@", "\\0"))
server.listen()
print(server.getsockname()[1] if family != socket.AF_UNIX else where, flush=True)
def greet():
    while True:
        server.accept()[0].send(b"own")
threading.Thread(target=greet, daemon=True).start()
sys.stdin.read()
"""


class Foreign:
    """A server outside the sandbox; `count` is how many have connected."""

    def __init__(self, server: socket.socket) -> None:
        self.server = server
        self.count = 0
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self.server.getsockname()[1])

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self.server.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.server.accept()
                self.count += 1
                with connection:
                    connection.sendall(b"foreign")


@pytest.fixture
def foreign() -> Iterator[Foreign]:
    server = Foreign(socket.create_server(("127.0.0.1", 0)))
    yield server
    server.close()


def unix_server(path: Path) -> Foreign:
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    return Foreign(server)


@pytest.mark.parametrize(
    ("family", "where"),
    [("AF_INET", "127.0.0.1"), ("AF_INET6", "::1"), ("AF_UNIX", "own.sock"), ("AF_UNIX", "@own-of-the-session")],
)
@pytest.mark.parametrize("online", [True, False])
def test_what_one_command_serves_another_one_of_the_session_reaches(
    make_network: MakeNetwork, tmp_path: Path, family: str, where: str, online: bool
) -> None:
    gate = ScriptedGate()
    network = make_network(gate)
    address = str(tmp_path / where) if where.endswith(".sock") else where
    server, _ = start_python(network, SERVE, family, address, online=online)
    with server:
        said = server.stdout.readline().decode().strip()
        place = (address, said) if said.isdigit() else (address,)
        assert run_python(network, CONNECT, family, *place, online=online).output == "connected own\n"
        server.stdin.close()
    assert gate.asked == []


def test_a_service_of_this_machine_is_asked_about_once_a_command(make_network: MakeNetwork, foreign: Foreign) -> None:
    gate = ScriptedGate("localhost")
    network = make_network(gate)
    twice = f"{CONNECT}\nsocket.socket().connect(where)"
    ran = run_python(network, twice, "AF_INET", "127.0.0.1", foreign.port)
    assert ran.output == "connected foreign\n"
    assert gate.asked == [("localhost", foreign.port, "this machine")]
    run_python(network, CONNECT, "AF_INET", "127.0.0.1", foreign.port)
    assert len(gate.asked) == 2


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "0.0.0.0"])
def test_after_a_no_a_service_of_this_machine_is_not_reached(
    make_network: MakeNetwork, foreign: Foreign, address: str
) -> None:
    ran = run_python(make_network(), CONNECT, "AF_INET", address, foreign.port)
    assert ran.output == "EACCES\n"
    assert ran.refusals == (f"localhost:{foreign.port}: a service of this machine, and the answer was no",)
    assert foreign.count == 0


def test_a_mapped_address_is_the_address_in_it(make_network: MakeNetwork, foreign: Foreign) -> None:
    ran = run_python(make_network(), CONNECT, "AF_INET6", "::ffff:127.0.0.1", foreign.port)
    assert ran.output == "EACCES\n"
    assert foreign.count == 0


def test_without_network_nobody_is_asked(make_network: MakeNetwork, foreign: Foreign) -> None:
    gate = ScriptedGate("*")
    ran = run_python(make_network(gate), CONNECT, "AF_INET", "127.0.0.1", foreign.port, online=False)
    assert ran.output == "EACCES\n"
    assert (gate.asked, foreign.count) == ([], 0)


def test_without_network_the_proxy_is_not_reached(make_network: MakeNetwork) -> None:
    network = make_network()
    port = network.variables()["HTTP_PROXY"].rpartition(":")[2]
    assert run_python(network, CONNECT, "AF_INET", "127.0.0.1", port, online=False).output == "EACCES\n"


@pytest.mark.parametrize("port_form", ["localhost:{}", "127.0.0.1:{}"])
def test_the_settings_decide_about_services_of_this_machine(
    make_network: MakeNetwork, foreign: Foreign, port_form: str
) -> None:
    gate = ScriptedGate("*")
    entry = port_form.format(foreign.port)
    denied = run_python(
        make_network(gate, NetworkRules(deny=(entry,))), CONNECT, "AF_INET", "127.0.0.1", foreign.port
    )
    assert (denied.output, foreign.count) == ("EACCES\n", 0)
    allowed = make_network(gate, NetworkRules(allow=(entry,)))
    assert run_python(allowed, CONNECT, "AF_INET", "127.0.0.1", foreign.port).output == "connected foreign\n"
    assert gate.asked == []


def test_where_nothing_listens_nobody_is_asked(make_network: MakeNetwork, refused_port: int) -> None:
    gate = ScriptedGate("*")
    assert run_python(make_network(gate), CONNECT, "AF_INET", "127.0.0.1", refused_port).output == "ECONNREFUSED\n"
    assert gate.asked == []


@pytest.mark.parametrize(
    ("family", "address", "shown"),
    [
        ("AF_INET", "203.0.113.7", "203.0.113.7:443"),
        ("AF_INET", "169.254.169.254", "169.254.169.254:443"),
        ("AF_INET6", "2001:db8::7", "[2001:db8::7]:443"),
        ("AF_INET6", "::ffff:203.0.113.7", "203.0.113.7:443"),
    ],
)
def test_nothing_outside_is_reached_directly(
    make_network: MakeNetwork, family: str, address: str, shown: str
) -> None:
    gate = ScriptedGate("*")
    ran = run_python(make_network(gate), CONNECT, family, address, 443)
    assert ran.output == "EACCES\n"
    assert [refusal.partition(": ")[0] for refusal in ran.refusals] == [shown]
    assert gate.asked == []


def test_sockets_of_other_kinds_are_not_connected(make_network: MakeNetwork, foreign: Foreign) -> None:
    script = CONNECT.replace("socket.socket(family)", "socket.socket(family, socket.SOCK_DGRAM)")
    assert run_python(make_network(), script, "AF_INET", "127.0.0.1", foreign.port).output == "EACCES\n"


def test_programs_outside_are_not_reached_through_their_sockets(make_network: MakeNetwork, tmp_path: Path) -> None:
    server = unix_server(tmp_path / "agent.sock")
    (tmp_path / "link.sock").symlink_to("agent.sock")
    (tmp_path / "hard.sock").hardlink_to(tmp_path / "agent.sock")
    network = make_network(ScriptedGate("*"))
    names = ("agent.sock", "link.sock", "hard.sock", f"../{tmp_path.name}/agent.sock", "/proc/self/cwd/agent.sock")
    try:
        for name in names:
            ran = run_python(network, CONNECT, "AF_UNIX", name, cwd=tmp_path)
            assert ran.output in {"EACCES\n", "ENOENT\n"}
            if not name.startswith("/proc"):  # where «self» is not the program
                assert ran.refusals == (f"the socket {name}: a program outside the sandbox listens there",)
    finally:
        server.close()
    assert server.count == 0


def test_an_abstract_name_of_a_program_outside_is_not_reached(make_network: MakeNetwork) -> None:
    name = f"outside-{os.getpid()}"
    server = socket.socket(socket.AF_UNIX)
    server.bind(f"\0{name}")
    server.listen()
    with server:
        assert run_python(make_network(), CONNECT, "AF_UNIX", f"@{name}").output == "EACCES\n"


def test_what_stands_at_a_path_when_the_call_is_made_counts(make_network: MakeNetwork, tmp_path: Path) -> None:
    server = unix_server(tmp_path / "agent.sock")
    # Two threads swap its own socket and the foreign one while a third connects.
    script = """
import os, socket, sys, threading
os.chdir(sys.argv[1])
own = socket.socket(socket.AF_UNIX); own.bind("own.sock"); own.listen(1000)
os.symlink("own.sock", "way"); stop = threading.Event()
def swap():
    at = 0
    while not stop.is_set():
        at += 1
        os.symlink(("own.sock", "agent.sock")[at % 2], "next"); os.replace("next", "way")
threading.Thread(target=swap).start()
made = refused = 0
for _ in range(60):
    try:
        socket.socket(socket.AF_UNIX).connect("way"); made += 1
    except PermissionError:
        refused += 1
stop.set()
print(made + refused)
"""
    try:
        ran = run_python(make_network(), script, tmp_path)
    finally:
        server.close()
    assert ran.output == "60\n"
    assert server.count == 0


def test_an_address_that_changes_under_the_call_leads_nowhere_else(
    make_network: MakeNetwork, foreign: Foreign
) -> None:
    script = """
import ctypes, socket, struct, sys, threading
own = socket.create_server(("127.0.0.1", 0), backlog=1000)
ports = [struct.pack("!H", own.getsockname()[1]), struct.pack("!H", int(sys.argv[1]))]
address = ctypes.create_string_buffer(struct.pack("=H", socket.AF_INET) + ports[0] + bytes([127, 0, 0, 1]) + bytes(8))
libc = ctypes.CDLL(None, use_errno=True); stop = threading.Event()
def swap():
    at = 0
    while not stop.is_set():
        at += 1
        ctypes.memmove(ctypes.addressof(address) + 2, ports[at % 2], 2)
threading.Thread(target=swap).start()
for _ in range(60):
    connection = socket.socket()
    libc.connect(connection.fileno(), address, 16)
stop.set()
"""
    assert run_python(make_network(), script, foreign.port).code == 0
    assert foreign.count == 0


def test_a_socket_that_does_not_block_is_connected_in_its_own_way(make_network: MakeNetwork) -> None:
    script = """
import errno, select, socket
server = socket.create_server(("127.0.0.1", 0))
connection = socket.socket(); connection.setblocking(False)
code = connection.connect_ex(server.getsockname())
select.select([], [connection], [], 10)
print(code in (0, errno.EINPROGRESS), connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
print(server.accept()[1][0])
"""
    assert run_python(make_network(), script).output == "True 0\n127.0.0.1\n"


def test_a_question_holds_up_no_other_connection_of_the_command(make_network: MakeNetwork, foreign: Foreign) -> None:
    gate = ScriptedGate("*", holds=True)
    script = """
import socket, sys, threading
server = socket.create_server(("127.0.0.1", 0))
waiting = socket.socket()
asked = threading.Thread(target=waiting.connect, args=(("127.0.0.1", int(sys.argv[1])),))
asked.start()
sys.stdin.readline()
socket.create_connection(server.getsockname())
print("own", flush=True)
asked.join()
print("foreign", flush=True)
"""
    process, _ = start_python(make_network(gate), script, foreign.port)
    with process:
        assert gate.was_asked.wait(10)
        process.stdin.write(b"go on\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"own\n"
        gate.release()
        assert process.stdout.readline() == b"foreign\n"


def test_a_program_that_is_killed_withdraws_its_question(make_network: MakeNetwork, foreign: Foreign) -> None:
    gate = ScriptedGate("*", holds=True)
    process, _ = start_python(make_network(gate), CONNECT, "AF_INET", "127.0.0.1", foreign.port)
    with process:
        assert gate.was_asked.wait(10)
        process.kill()
        assert gate.withdrawn.wait(10)
    assert foreign.count == 0


def test_everywhere_means_every_address_and_still_no_foreign_socket(
    make_network: MakeNetwork, foreign: Foreign, tmp_path: Path
) -> None:
    server = unix_server(tmp_path / "agent.sock")
    gate = ScriptedGate()
    network = make_network(gate)
    try:
        reached = run_python(network, CONNECT, "AF_INET", "127.0.0.1", foreign.port, everywhere=True)
        refused = run_python(network, CONNECT, "AF_UNIX", tmp_path / "agent.sock", everywhere=True)
    finally:
        server.close()
    assert (reached.output, refused.output) == ("connected foreign\n", "EACCES\n")
    assert gate.asked == []


def test_a_connection_can_be_taken_back(make_network: MakeNetwork) -> None:
    script = """
import ctypes, socket
server = socket.create_server(("127.0.0.1", 0))
connection = socket.create_connection(server.getsockname())
print(ctypes.CDLL(None).connect(connection.fileno(), bytes(16), 16))
connection.connect(server.getsockname())
"""
    ran = run_python(make_network(), script)
    assert (ran.code, ran.output) == (0, "0\n")
