"""A world around a sandbox: files outside, a secret, a neighbour, services; and who tries to reach them."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support import breakouts
from tools.environments.sandbox.port import Confinement, Sandbox


@dataclass
class World:
    """Where things are, and how to see whether they are what they were."""

    base: Path
    neighbour: subprocess.Popen[bytes]
    places: dict[str, Any]
    tcp: socket.socket
    streams: list[socket.socket]
    datagrams: list[socket.socket]
    before: dict[str, object] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.base / "root"

    @property
    def outside(self) -> Path:
        return self.base / "outside"

    @property
    def hidden(self) -> Path:
        return self.base / "hidden"

    def confinement(self, level="workspace-write", **fields: Any) -> Confinement:
        return Confinement(level, (self.root,), (self.hidden,), **fields)

    def look(self) -> dict[str, object]:
        """All that lies outside the root: content, mode, owner; and how the neighbour is scheduled and limited."""
        found: dict[str, object] = {"neighbour": scheduling_of(self.places["neighbour"])}
        for place in (self.outside, self.hidden):
            for path in (place, *sorted(place.rglob("*"))):
                facts = path.lstat()
                content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
                found[str(path)] = (content, facts.st_mode, facts.st_uid, facts.st_gid, facts.st_nlink)
        return found

    def heard(self) -> list[str]:
        """Which services have heard of somebody since the world was made."""
        found = []
        for listening in (self.tcp, *self.streams):
            try:
                listening.accept()[0].close()
                found.append(str(listening.getsockname()))
            except BlockingIOError:
                continue
        for receiving in self.datagrams:
            try:
                receiving.recv(10)
                found.append(str(receiving.getsockname()))
            except BlockingIOError:
                continue
        return found


def scheduling_of(pid: int) -> tuple[object, ...]:
    """How a process is scheduled, and what it may use."""
    disk = ctypes.CDLL(None).syscall(ctypes.c_long(252 if platform.machine() == "x86_64" else 31), 1, pid)
    return (
        os.getpriority(os.PRIO_PROCESS, pid),
        os.sched_getscheduler(pid),
        frozenset(os.sched_getaffinity(pid)),
        disk,
        Path(f"/proc/{pid}/limits").read_text(),
    )


def break_out(sandbox: Sandbox, confinement: Confinement, world: World, seconds: float = 60.0) -> dict[str, str]:
    """Run the program of all attempts confined; what came of each."""
    ours = str(Path(breakouts.__file__).parents[2])
    code = f"import sys; sys.path.insert(0, {ours!r}); from tests.support.breakouts import main; main()"
    process = sandbox.popen(
        [sys.executable, "-I", "-S", "-c", code, json.dumps(world.places)],
        confinement,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd=world.root,
        env={**os.environ, **sandbox.variables(confinement)},
        pass_fds=(world.places["typing"],),
    )
    printed, complaints = process.communicate(b"go\n", seconds)
    assert printed, complaints.decode()
    return json.loads(printed)


@pytest.fixture
def world(tmp_path) -> Iterator[World]:
    with made_world(tmp_path.resolve()) as made:
        yield made


@contextmanager
def _shared(key: int) -> Iterator[int]:
    """Memory of another program's, which holds something."""
    library = ctypes.CDLL(None)
    library.shmat.restype = ctypes.c_void_p
    number = library.shmget(key, 4096, 0o1600)  # IPC_CREAT, for the user
    try:
        place = library.shmat(number, None, 0)
        ctypes.memmove(place, b"planted", 7)
        library.shmdt(ctypes.c_void_p(place))
        yield number
    finally:
        library.shmctl(number, 0, None)  # IPC_RMID


@contextmanager
def made_world(tmp_path: Path) -> Iterator[World]:
    """A world in an empty directory."""
    for name in ("root", "outside", "hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "outside" / "target").write_text("as it was")
    (tmp_path / "outside" / "target").chmod(0o644)
    (tmp_path / "hidden" / "secret").write_text("planted")
    with ExitStack() as stack:
        neighbour = stack.enter_context(subprocess.Popen(["sleep", "60"], start_new_session=True))
        stack.callback(neighbour.kill)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(str(tmp_path / "outside" / "s"))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0hermes-test-{os.getpid()}")
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(tcp.getsockname())
        letters = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        letters.bind(str(tmp_path / "outside" / "d"))
        for each in (unix, abstract):
            each.listen()
        for each in (tcp, unix, abstract, udp, letters):
            each.setblocking(False)
        master, slave = os.openpty()
        descriptor = os.open(tmp_path / "outside" / "target", os.O_RDWR)
        for each in (master, slave, descriptor):
            stack.callback(os.close, each)
        places = {
            "root": str(tmp_path / "root"),
            "outside": str(tmp_path / "outside"),
            "hidden": str(tmp_path / "hidden"),
            "parent": os.getpid(),
            "neighbour": neighbour.pid,
            "descriptor": descriptor,
            "port": tcp.getsockname()[1],
            "socket": str(tmp_path / "outside" / "s"),
            "abstract": f"hermes-test-{os.getpid()}",
            "datagrams": str(tmp_path / "outside" / "d"),
            "terminal": os.ttyname(slave),
            "typing": slave,
            "shared": stack.enter_context(_shared(key := 0x48000000 | os.getpid())),
            "shared_key": key,
        }
        made = World(tmp_path, neighbour, places, tcp, [unix, abstract], [udp, letters])
        made.before = made.look()
        yield made
