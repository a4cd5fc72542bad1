"""`terminal.backend: ssh`: the session works on another machine, through the system's OpenSSH client.

One connection carries all sessions (ControlMaster). The user's own configuration holds (`~/.ssh/config`, the agent,
known hosts). Nobody can be asked here: an unknown host key is an error, never accepted, and so is a sign-in that
wants to be typed.
"""

from __future__ import annotations

import os
import re
import string
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from tools.environments.backends import Elsewhere, Wanted
from tools.environments.child_env import client_environment
from tools.environments.program_finder import PROGRAMS
from tools.environments.remote.connection import NotConnected, Streams, line_from
from tools.environments.remote.session import side_of, with_places_there
from tools.environments.temp_directories import OwnDirectory
from tools.errors import CommandError
from tools.light_dataclass import dataclass

# Servers allow ten sessions to a connection (MaxSessions), the keeper's among them.
MOST_SESSIONS = 9
_CONNECT_SECONDS = 15
FURTHER_SECONDS = 20.0
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
# Without the shared connection a program of ours must not make one of its own.
_ONLY_SHARED = ("ControlMaster=no", "ProxyCommand=false")
# A short path: the name of a socket is limited to about a hundred characters.
_SHORT = "/tmp"  # noqa: S108 - a directory in it, for us alone
_FOLDERS = "hermes-acp-ssh-"
# What a program says that tries to connect by itself: nobody is behind `false`.
_OF_ITS_OWN = r"(?:kex|ssh)_exchange_identification|UNKNOWN port 65535|banner exchange"
_PLAIN = frozenset(string.ascii_letters + string.digits + " _-./:=,+@%")
_READY = b"ready\n"
_HOLD = "echo ready; exec cat >/dev/null"
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


@dataclass(slots=True)
class _Master:
    """A connection, and the programs that use it."""

    socket: Path
    process: subprocess.Popen[bytes]
    users: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def has_room(self) -> bool:
        self.users = [user for user in self.users if user.poll() is None]
        return self.process.poll() is None and len(self.users) < MOST_SESSIONS


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
        self._masters: list[_Master] = []
        self._folder: OwnDirectory | None = None
        self._made = 0

    @property
    def connections(self) -> int:
        """How many are held."""
        return len(self._masters)

    @property
    def name(self) -> str:
        """As `ssh` would be told it."""
        user = f"{self._target.user}@" if self._target.user else ""
        return f"{user}{self._target.host}"

    def connect(self, script: str, streams: Streams) -> subprocess.Popen[bytes]:
        """Open the connection; the script's program carries all others."""
        with self._lock:
            self._forget_masters()
            return self._master(script, streams).process

    def start(self, script: str, streams: Streams, *, terminal: bool = False) -> subprocess.Popen[bytes]:
        """Start a script over the connection; where it carries as many as it may, over a further one."""
        with self._lock:
            master = next((master for master in self._masters if master.has_room()), None)
            if master is None:
                if not self._masters or self._masters[0].process.poll() is not None:
                    raise NotConnected(f"The connection to {self.name} has broken off. Try again: it is made anew.")
                master = self._further()
            words = [f"-S{master.socket}", *(f"-o{option}" for option in _ONLY_SHARED)]
            process = self._popen([*words, "-tt" if terminal else "-T"], script, streams)
            master.users.append(process)
            return process

    def why(self, complaint: str) -> str:
        """What the client's words mean."""
        plain = " ".join(complaint.split())
        by_hand = f"`ssh {' '.join(self._target.arguments)}`".replace(" --", "")
        said = f" (ssh says: {plain[-300:]})" if plain else ""
        for pattern, meaning in _WORDS:
            if re.search(pattern, complaint):
                return f"Could not connect to {self.name}: {meaning.format(by_hand=by_hand)}.{said}"
        return f"Could not connect to {self.name}: see that {by_hand} works.{said}"

    def never_started(self, complaint: str) -> bool:
        """Whether it got no session of the shared connection, and none of its own, which it may not have."""
        return re.search(_OF_ITS_OWN, complaint) is not None

    def close(self) -> None:
        """End all connections."""
        with self._lock:
            self._forget_masters()
            if self._folder is not None:
                self._folder.close()
                self._folder = None

    def _further(self) -> _Master:
        streams = Streams(subprocess.PIPE, subprocess.PIPE, subprocess.DEVNULL)
        master = self._master(_HOLD, streams)
        until = time.monotonic() + FURTHER_SECONDS
        # What the shell there prints of its own comes first.
        while (line := line_from(master.process, until - time.monotonic())) != _READY:
            if not line:
                self._forget(self._masters.pop())
                why = (
                    "allows no further connection" if line is not None else "does not answer for a further connection"
                )
                raise CommandError(f"{self.name} carries {MOST_SESSIONS} commands at once and {why}. End some.")
        return master

    def _master(self, script: str, streams: Streams) -> _Master:
        if self._folder is None:
            self._folder = OwnDirectory(_FOLDERS, _SHORT)
        self._made += 1
        socket = self._folder.path / str(self._made)
        process = self._popen([f"-S{socket}", "-oControlMaster=yes", "-oControlPersist=no", "-T"], script, streams)
        master = _Master(socket, process)
        self._masters.append(master)
        return master

    def _popen(self, words: Sequence[str], script: str, streams: Streams) -> subprocess.Popen[bytes]:
        options = [f"-o{option}" for option in _ALWAYS]
        command = remote_command(script)
        try:
            return subprocess.Popen(
                [self._program, *words, *options, *self._target.arguments, command],
                stdin=streams.stdin,
                stdout=streams.stdout,
                stderr=streams.stderr,
                env=_surroundings(self._variables),
                close_fds=True,
                start_new_session=True,
            )
        except OSError as problem:
            raise CommandError(f"Could not start ssh: {problem.strerror}.") from problem

    def _forget_masters(self) -> None:
        # The streams of the first are the keeper's.
        for number, master in enumerate(self._masters):
            self._forget(master, closes=number > 0)
        self._masters = []

    @staticmethod
    def _forget(master: _Master, *, closes: bool = True) -> None:
        if master.process.poll() is None:
            master.process.kill()
            master.process.wait()
        for stream in (master.process.stdin, master.process.stdout) if closes else ():
            if stream is not None:
                stream.close()


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
