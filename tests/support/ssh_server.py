"""A real sshd on loopback, for one user with one key, as another machine that shares this one's disk."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.waiting import wait_until
from tools.environments.remote.ssh import SshTarget

_CONFIG = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/authorized
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
MaxSessions 10
AcceptEnv LANG LC_*
# So bash does not read the .bashrc of who runs the tests.
SetEnv SHLVL=2 PATH={path}
"""


@dataclass(slots=True)
class SshServer:
    """Attributes:
    known: the file of known hosts that has its key.
    """

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def known(self) -> Path:
        return self.folder / "known"

    def target(self, **other: str) -> SshTarget:
        """How it is reached; `other` are further options of the client, in place of the usual ones."""
        options = {
            "UserKnownHostsFile": str(self.known),
            "GlobalKnownHostsFile": "/dev/null",
            "IdentityAgent": "none",
        } | other
        return SshTarget(
            "127.0.0.1",
            getpass.getuser(),
            self.port,
            self.folder / "key",
            ("PreferredAuthentications=publickey", *(f"{name}={value}" for name, value in options.items())),
        )

    def cut(self) -> None:
        """Break off all connections, as a network that goes away does; the server goes on."""
        _kill(_connections(self.process.pid))

    def stop(self) -> None:
        """Go away."""
        connections = _connections(self.process.pid)
        self.process.kill()
        self.process.wait()
        _kill(connections)


def _sshd() -> str | None:
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def why_no_sshd() -> str:
    """Why there is none, for a skip; '' where there is one."""
    if shutil.which("ssh") is None or _sshd() is None:
        return "There is no sshd here; install it with: apt-get install openssh-server openssh-client"
    return ""


needs_sshd = pytest.mark.skipif(bool(why_no_sshd()), reason=why_no_sshd() or "there is one")


def why_no_other_disk() -> str:
    """Why it cannot have other files than this machine, for a skip; '' where it can."""
    if why := why_no_sshd():
        return why
    if os.getuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        return "Only root may give a server other files than this machine's, in a mount namespace of its own"
    return ""


needs_other_disk = pytest.mark.skipif(bool(why_no_other_disk()), reason=why_no_other_disk() or "it can")


@contextmanager
def ssh_server(folder: Path, over: tuple[Path, Path] | None = None) -> Iterator[SshServer]:
    """Run one.

    Args:
        over: for its users the first directory stands in the place of the second.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("host", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    shutil.copy(folder / "key.pub", folder / "authorized")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    (folder / "config").write_text(_CONFIG.format(port=port, folder=folder, path=_path()))
    key = (folder / "host.pub").read_text().split()
    (folder / "known").write_text(f"[127.0.0.1]:{port} {key[0]} {key[1]}\n")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    with (folder / "log").open("wb") as log:
        command = [_sshd() or "", "-D", "-e", "-f", str(folder / "config")]
        if over is not None:
            # The mount is seen in this namespace alone, and goes with it.
            inside = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
            command = ["unshare", "-m", "sh", "-c", inside, "sshd", *map(str, over), *command]
        process = subprocess.Popen(command, stderr=log)
    server = SshServer(folder, port, process)
    try:
        wait_until(lambda: _listens(port))
        yield server
    finally:
        server.stop()


def _path() -> str:
    """With the ripgrep that comes with the tests' interpreter."""
    return f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def _listens(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def _connections(pid: int) -> list[int]:
    """The server's processes that serve somebody: each may have started another for the user's rights."""
    found = subprocess.run(
        ["ps", "-o", "pid=,comm=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    ).stdout.splitlines()
    own = [int(line.split()[0]) for line in found if line.split()[1].startswith("sshd")]
    return [*own, *(below for each in own for below in _connections(each))]


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
