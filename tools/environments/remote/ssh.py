"""`terminal.backend: ssh`: the session works on another machine, through the system's OpenSSH client.

One connection carries all (ControlMaster), up to the ten sessions that servers allow. The user's own configuration
holds (`~/.ssh/config`, the agent, known hosts). Nobody can be asked here: an unknown host key is an error, never
accepted, and so is a sign-in that wants to be typed.
"""

from __future__ import annotations

import os
import re
import string
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.environments.backends import Elsewhere, Wanted
from tools.environments.child_env import client_environment
from tools.environments.program_finder import PROGRAMS
from tools.environments.remote.connection import NotConnected, Streams
from tools.environments.remote.session import side_of, with_places_there
from tools.environments.temp_directories import OwnDirectory
from tools.errors import CommandError
from tools.light_dataclass import dataclass

_CONNECT_SECONDS = 15
_ALWAYS = (
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    f"ConnectTimeout={_CONNECT_SECONDS}",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=3",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "Tunnel=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "EscapeChar=none",
    "LogLevel=ERROR",
)
# A short path: the name of a socket is limited to about a hundred characters.
_SHORT = "/tmp"  # noqa: S108 - a directory in it, for us alone
_FOLDERS = "hermes-acp-ssh-"
_PLAIN = frozenset(string.ascii_letters + string.digits + " _-./:=,+@%")
_WORDS: Sequence[tuple[str, str]] = (
    (r"Host key verification failed|No .* host key is known|REMOTE HOST IDENTIFICATION", (
        "its host key is not known here, or is not the one that was. Connect once by hand, as {by_hand}, and compare "
        "the key with one from a source that you trust; nothing is accepted unseen"
    )),
    (r"Permission denied|Too many authentication failures|no mutual signature", (
        "it does not let us sign in. Only keys and agents work here, as nobody can type a password: see that "
        "{by_hand} needs none (ssh-copy-id, ssh-add), and look at terminal.ssh_user and terminal.ssh_key"
    )),
    (r"Could not resolve hostname", "the name is not known. Look at terminal.ssh_host"),
    (r"Connection refused", "nothing listens there. Look at terminal.ssh_port, and whether the server runs"),
    (r"timed out|No route to host|Network is unreachable|Connection reset|kex_exchange|Connection closed", (
        "it cannot be reached at the moment. See that it is up and that {by_hand} works"
    )),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SshTarget:
    """Where to connect to. `host` may be a name of the user's `~/.ssh/config`; empty values are its own.

    Attributes:
        options: further options of the client, each as `Name=value`.
    """

    host: str
    user: str = ""
    port: int | None = None
    key: Path | None = None
    options: tuple[str, ...] = ()

    @property
    def arguments(self) -> list[str]:
        """As the client takes them, the host last."""
        words = [f"-o{option}" for option in self.options]
        words += [f"-p{self.port}"] if self.port is not None else []
        words += [f"-i{self.key}", "-oIdentitiesOnly=yes"] if self.key is not None else []
        words += [f"-l{self.user}"] if self.user else []
        return [*words, "--", self.host]


def remote_command(script: str) -> str:
    """What the user's shell there is given, whichever it is.

    Shells of other families (fish, csh) know `exec` and plain text in single quotes, but neither backslashes nor
    quotes nor line ends in it as a POSIX shell does: so none stands in it but a backslash before digits.
    """
    plain = "".join(
        chr(byte) if chr(byte) in _PLAIN else f"\\0{byte:03o}" for byte in script.encode("utf-8", "surrogateescape")
    )
    # `exec`: the script leads its process group.
    return f"""exec sh -c 'eval "$(printf %b "{plain}")"'"""


def _surroundings(own: Mapping[str, str]) -> dict[str, str]:
    """The variables of ssh, so that it speaks English; many send their LC_ALL there, where it must stay."""
    variables = client_environment(own)
    if everything := variables.pop("LC_ALL", ""):
        variables |= {"LANG": everything, "LC_CTYPE": everything}
    return {**variables, "LC_MESSAGES": "C"}


class SshMachine:
    """Implements `Machine` over ssh; safe to use from several threads.

    Raises:
        CommandError: there is no ssh here, or the target is no host.
    """

    def __init__(self, target: SshTarget, program: str = "ssh", variables: Mapping[str, str] = os.environ) -> None:
        found = PROGRAMS.find(program)
        if found is None:
            raise CommandError(
                f"terminal.backend is ssh, which needs the OpenSSH client. {PROGRAMS.missing(program)}"
            )
        if not target.host or target.host.startswith("-") or any(sign.isspace() for sign in target.host):
            raise CommandError(f"terminal.ssh_host is {target.host!r}, which is no host. Correct it in the settings.")
        self._program = found
        self._target = target
        self._variables = variables
        self._lock = threading.Lock()
        self._folder: OwnDirectory | None = None
        self._master: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        """As `ssh` would be told it."""
        user = f"{self._target.user}@" if self._target.user else ""
        return f"{user}{self._target.host}"

    def connect(self, script: str, streams: Streams) -> subprocess.Popen[bytes]:
        """Open the connection; the script's program carries all others."""
        with self._lock:
            self._end()
            self._folder = OwnDirectory(_FOLDERS, _SHORT)
            self._master = self._popen(["-oControlMaster=yes", "-oControlPersist=no", "-T"], script, streams)
            return self._master

    def start(self, script: str, streams: Streams, *, terminal: bool = False) -> subprocess.Popen[bytes]:
        """Start a script over the connection; where that carries as many as it may, ssh makes another for it."""
        with self._lock:
            if self._master is None or self._master.poll() is not None:
                raise NotConnected(f"The connection to {self.name} has broken off. Try again: it is made anew.")
            return self._popen(["-oControlMaster=no", "-tt" if terminal else "-T"], script, streams)

    def why(self, complaint: str) -> str:
        """What the client's words mean."""
        plain = " ".join(complaint.split())
        by_hand = f"`ssh {' '.join(self._target.arguments)}`".replace(" --", "")
        said = f" (ssh says: {plain[-300:]})" if plain else ""
        for pattern, meaning in _WORDS:
            if re.search(pattern, complaint):
                return f"Could not connect to {self.name}: {meaning.format(by_hand=by_hand)}.{said}"
        return f"Could not connect to {self.name}: see that {by_hand} works.{said}"

    def never_started(self, complaint: str, /) -> bool:
        """Whether it got no session of the shared connection, and no connection of its own."""
        return any(re.search(pattern, complaint) for pattern, _ in _WORDS)

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            self._end()

    def _popen(self, words: Sequence[str], script: str, streams: Streams) -> subprocess.Popen[bytes]:
        socket = f"-S{self._folder.path / 'master'}" if self._folder is not None else "-Snone"
        options = [socket, *words, *(f"-o{option}" for option in _ALWAYS)]
        command = [self._program, *options, *self._target.arguments, remote_command(script)]
        return streams.popen(command, _surroundings(self._variables))

    def _end(self) -> None:
        master, self._master = self._master, None
        if master is not None and master.poll() is None:
            master.kill()
            master.wait()
        if self._folder is not None:
            self._folder.close()
            self._folder = None


def ssh_backend(wanted: Wanted) -> Elsewhere:
    """Connect to `ssh_host`; where that fails, the session is opened all the same, and its tools say why.

    Raises:
        CommandError: there is no ssh here, or the settings name no host.
    """
    options = wanted.options
    key = str(options.get("ssh_key") or "")
    port = options.get("ssh_port")
    target = SshTarget(
        str(options.get("ssh_host") or ""),
        str(options.get("ssh_user") or ""),
        int(port) if port else None,
        Path(key).expanduser() if key else None,
        tuple(options.get("ssh_options") or ()),
    )
    side = side_of(SshMachine(target, variables=wanted.variables), wanted)
    return with_places_there(
        "ssh",
        side,
        wanted,
        f"it runs on {side.link.machine.name}, where this program has no sandbox",
        extra=wanted.extra_roots,
        start=str(options.get("cwd") or ""),
        wall="machine",
    )
