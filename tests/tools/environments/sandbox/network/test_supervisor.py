"""Calls that a filter hands over: answered as the kernel would, by whom they are for, and not at all in the end."""

from __future__ import annotations

import errno
import os
import socket
import threading
from pathlib import Path

import pytest

from tests.support.notified import WHY_NOT
from tests.support.waiting import wait_until
from tests.tools.environments.sandbox.network.conftest import MakeNetwork, run_python, start_python
from tests.tools.environments.sandbox.network.test_connecting import CONNECT
from tools.environments.sandbox.seccomp import Notification

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("connect(999, address, 16)", "EBADF"),
        ("connect(0, address, 16)", "ENOTSOCK"),
        ("connect(fd, 1, 16)", "EFAULT"),
        ("connect(fd, address, 4000)", "EINVAL"),
        ("connect(fd, address, 1)", "EINVAL"),
        ("connect(fd, address, 6)", "EINVAL"),
        ("listen(999, 1)", "EBADF"),
    ],
)
def test_mistakes_end_as_the_kernel_has_them(make_network: MakeNetwork, call: str, code: str) -> None:
    script = f"""
import ctypes, errno, socket, struct
libc = ctypes.CDLL(None, use_errno=True); connect, listen = libc.connect, libc.listen
fd, address = socket.socket().detach(), struct.pack("=HH12x", socket.AF_INET, 80)
print({call}, errno.errorcode[ctypes.get_errno()])
"""
    assert run_python(make_network(), script).output == f"-1 {code}\n"


def test_other_calls_are_answered_by_whoever_was_named_for_them(make_network: MakeNetwork, tmp_path: Path) -> None:
    number = {"x86_64": 258, "aarch64": 34}[os.uname().machine]
    heard: list[str] = []

    def others(notice: Notification) -> int:
        path = notice.memory(notice.args[1], 4096).partition(b"\0")[0].decode()
        heard.append(path)
        assert notice.valid()
        return errno.EDQUOT if path.endswith("no") else 0

    script = f"""
import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
for name in sys.argv[1:]:
    print(libc.syscall({number}, -100, name.encode(), 0o777), errno.errorcode.get(ctypes.get_errno()))
"""
    wanted = [str(tmp_path / "yes"), str(tmp_path / "no")]
    network = make_network()
    ran = run_python(network, script, *wanted, others=others, also=(number,))
    assert ran.output == "0 None\n-1 EDQUOT\n"
    assert heard == wanted
    assert run_python(network, script, wanted[0], also=(number,)).output == "-1 EACCES\n"
    assert list(tmp_path.iterdir()) == []


def test_when_the_session_ends_what_is_still_there_reaches_nothing(make_network: MakeNetwork) -> None:
    script = f"import sys; sys.stdin.readline()\n{CONNECT}"
    network = make_network()
    with socket.create_server(("127.0.0.1", 0)) as server:
        process, _ = start_python(network, script, "AF_INET", "127.0.0.1", server.getsockname()[1])
        with process:
            network.close()
            output, _ = process.communicate(b"go on\n", timeout=10)
    assert output == b"ENOSYS\n"


def test_nothing_is_left_when_commands_have_ended(make_network: MakeNetwork) -> None:
    network = make_network()
    network.variables()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        run_python(network, CONNECT, "AF_INET", "203.0.113.7", 443)
    wait_until(lambda: not any(thread.name.startswith("sandbox-network") for thread in threading.enumerate()))
    assert len(list(Path("/proc/self/fd").iterdir())) == before
