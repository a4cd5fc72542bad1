"""What is left of a session's commands is found by the kernel's own knowledge of who may signal whom."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from tests.support.waiting import wait_until
from tests.tools.environments.sandbox.conftest import World
from tests.tools.environments.sandbox.test_breakouts import needs_landlock
from tests.tools.environments.sandbox.test_left_behind import has_domains
from tools.environments.sandbox.landlock_sandbox import LandlockSandbox

pytestmark = [needs_landlock, pytest.mark.skipif(not has_domains(), reason="needs Linux 6.12")]


@pytest.fixture
def sandboxes() -> Iterator[tuple[LandlockSandbox, LandlockSandbox]]:
    made = (LandlockSandbox(), LandlockSandbox())
    yield made
    for each in made:
        each.close()


def _start(sandbox: LandlockSandbox, world: World, script: str) -> subprocess.Popen[bytes]:
    process = sandbox.popen(
        ["sh", "-c", f"IFS= read -r go; {script}"],
        world.confinement(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=world.root,
    )
    assert process.stdin is not None
    process.stdin.write(b"go\n")
    process.stdin.flush()
    return process


def test_a_session_ends_with_all_that_it_left_and_no_other_session_does(
    sandboxes: tuple[LandlockSandbox, LandlockSandbox], world: World
) -> None:
    ended, other = sandboxes
    # Started by nobody's group, session and environment, twice over.
    left = _start(ended, world, "env -i setsid -f setsid sh -c 'echo here; sleep 1000'")
    going = _start(other, world, "echo here; exec sleep 1000")
    with left, going:
        for each in (left, going):
            assert each.stdout is not None
            assert each.stdout.readline() == b"here\n"
        ended.close()
        assert left.stdout is not None
        assert left.stdout.read() == b""  # nobody holds the other end any more
        assert going.poll() is None
        assert world.neighbour.poll() is None
        going.kill()


_OLD_SESSION = """
import subprocess, sys
from tools.environments.sandbox.landlock_sandbox import LandlockSandbox
from tools.environments.sandbox.port import Confinement

code = "import ctypes; ctypes.CDLL(None).prctl(38, 1, 0, 0, 0); print('here', flush=True); input()"
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
other = subprocess.Popen([sys.executable, "-I", "-S", "-c", code], **pipes)
other.stdout.readline()
sandbox = LandlockSandbox(version=5)
sandbox.popen(["true"], Confinement("read-only")).wait(20)
sandbox.close()
print(other.poll())
other.kill()
"""


def test_an_old_kernels_session_ends_without_the_users_other_processes() -> None:
    """There its thread could signal them all; so they are few, and in a namespace of their own."""
    apart = ["unshare", *(() if os.geteuid() == 0 else ("-r",)), "-p", "-f", "--mount-proc"]
    if subprocess.run([*apart, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no namespaces here")
    ran = subprocess.run(
        [*apart, sys.executable, "-c", _OLD_SESSION], check=False, capture_output=True, text=True, timeout=40
    )
    assert (ran.stdout, ran.stderr) == ("None\n", "")


def test_its_thread_ends_with_the_session(sandboxes: tuple[LandlockSandbox, LandlockSandbox], world: World) -> None:
    before = threading.active_count()
    process = _start(sandboxes[0], world, "mkdir -p a b && touch a/x && mv a/x b/x && echo moved")
    with process:
        assert process.stdout is not None
        assert process.stdout.read() == b"moved\n"
    assert threading.active_count() == before + 1
    sandboxes[0].close()
    wait_until(lambda: threading.active_count() == before)


_SHARE = "import ctypes; print(ctypes.CDLL(None).shmget({key}, 4096, {flags}) >= 0)"


@pytest.mark.skipif(os.geteuid() != 0, reason="others cannot be given memory of their own: it is refused")
@pytest.mark.parametrize("version", [None, 1], ids=["now", "old"])
def test_commands_of_a_session_share_memory_with_each_other_and_nobody_else(
    world: World, version: int | None
) -> None:
    key = 0x49000000 | os.getpid() | (version or 0) << 23
    found = []
    first, second = LandlockSandbox(version=version), LandlockSandbox(version=version)
    for sandbox, flags in ((first, 0o1600), (first, 0), (second, 0)):
        script = _SHARE.format(key=key, flags=flags)
        with _start(sandbox, world, f'exec {sys.executable} -I -S -c "{script}"') as process:
            assert process.stdout is not None
            found.append(process.stdout.read())
    first.close()
    second.close()
    if found[0] == b"False\n":
        pytest.skip("no namespaces here")
    assert found == [b"True\n", b"True\n", b"False\n"]
    assert ctypes.CDLL(None).shmget(key, 4096, 0) == -1
