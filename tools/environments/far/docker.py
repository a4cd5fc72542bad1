"""A container as the machine that a session works on, through the engine's program (docker or podman).

A container belongs to one session. It ends with the session, unless it is to be kept; what a process that was killed
has left behind is removed when the next one starts its first container.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tools.environments.backends import Rescue
from tools.environments.child_env import client_environment
from tools.environments.far.machine import Streams, ended
from tools.environments.far.owning import PREFIX, is_left, owned_name
from tools.environments.own_programs import PROGRAMS
from tools.errors import CommandError
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

LABEL = "hermes-acp.session"
_ASK_SECONDS = 30.0
# The first container of an image has to fetch it.
_RUN_SECONDS = 600.0
_REMOVE_SECONDS = 3.0
_MOST_COMPLAINT = 2_000
# It must not end by itself, and end at once when it is told to. As the first process it also reaps orphans, as a
# shell that waits does: so no `--init` is needed, for which not every engine has a program.
_IDLE = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"
_CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID", "KILL")
_GONE = r"No such container|is not running|no container with"
_WORDS: Sequence[tuple[str, str]] = (
    (r"permission denied while trying to connect|dial unix.*permission denied", (
        "you may not use it. Add yourself to its group (docker), or set terminal.docker_program to podman"
    )),
    (r"Cannot connect to|Is the docker daemon running|no such host|connection refused", (
        "the engine does not run. Start it, and see that `{program} info` works"
    )),
    (r"pull access denied|manifest unknown|repository does not exist|No such image|short-name|unauthorized", (
        "the image {image} cannot be fetched. Look at terminal.docker_image, or build or pull it by hand"
    )),
    (_GONE, (
        "the container is gone. Try again: another one is started"
    )),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Box:
    """What a container is made with.

    Attributes:
        mounts: directories of this machine that are there under the same name.
        volumes: more of them, as the engine takes them.
        network: none, bridge or host.
        forwarded: names of variables that it gets from this process.
        user: `auto`, `image` or what the engine takes.
        cpus: processors; `memory` in megabytes.
        kept: it is stopped and not removed, for when the session is opened again.
        own: a directory of its own for the session to work in.
    """

    image: str
    mounts: tuple[Path, ...] = ()
    volumes: tuple[str, ...] = ()
    network: str = "none"
    forwarded: tuple[str, ...] = ()
    user: str = "auto"
    cpus: float | None = None
    memory: int | None = None
    processes: int | None = 1024
    arguments: tuple[str, ...] = ()
    kept: bool = False
    own: Path | None = None


class DockerMachine:
    """Implements `Machine` in a container; safe to use from several threads.

    Args:
        session_id: whose container it is; '' for one that nobody opens again.
        program: the engine's; docker, or else podman, when ''.
        rescue: saves what is in containers that were left behind.
        variables: what the environment of its program is made from.

    Raises:
        CommandError: there is no engine's program.
    """

    def __init__(
        self,
        box: Box,
        session_id: str = "",
        program: str = "",
        rescue: Rescue | None = None,
        variables: Mapping[str, str] = os.environ,
    ) -> None:
        self._program = _engine(program)
        self._box = box
        self._rescue = rescue
        self._variables = variables
        self._session = session_id
        self._is_kept = box.kept and bool(session_id)
        self._lock = threading.Lock()
        self._name = self._named()
        self._is_used = False

    @property
    def name(self) -> str:
        """For people."""
        return called(self._name)

    def connect(self, script: str, streams: Streams) -> subprocess.Popen[bytes]:
        """Have the container running, and the script in it."""
        with self._lock:
            if not self._is_used:
                self._remove_leftovers()
            self._is_used = True
            self._bring_up()
        return self.start(script, streams)

    def start(self, script: str, streams: Streams, *, terminal: bool = False) -> subprocess.Popen[bytes]:
        """Start a script in the container."""
        words = ["exec", "-i", *(["-t"] if terminal else []), self._name, "sh", "-c", script]
        try:
            return subprocess.Popen(
                [self._program, *words],
                stdin=streams.stdin,
                stdout=streams.stdout,
                stderr=streams.stderr,
                env=self._environment(),
                close_fds=True,
                start_new_session=True,
            )
        except OSError as problem:
            raise CommandError(f"Could not start {self._program}: {problem.strerror}.") from problem

    def why(self, complaint: str) -> str:
        """What the engine's words mean."""
        plain = " ".join(complaint.split())
        said = f" ({Path(self._program).name} says: {plain[-300:]})" if plain else ""
        for pattern, meaning in _WORDS:
            if re.search(pattern, complaint, re.IGNORECASE):
                told = meaning.format(program=self._program, image=self._box.image)
                return f"Could not use {self.name}: {told}.{said}"
        return f"Could not use {self.name}: see that `{self._program} info` works.{said}"

    def never_started(self, complaint: str) -> bool:
        """Whether there was no container to start it in."""
        return re.search(_GONE, complaint, re.IGNORECASE) is not None

    def close(self) -> None:
        """Remove the container, or stop it where it is kept. Its removal goes on if it takes longer than a moment."""
        if not self._is_used:
            return
        self._is_used = False
        words = ["stop", "-t", "1", self._name] if self._is_kept else ["rm", "-f", "-v", self._name]
        try:
            process = self._popen(words)
        except OSError:
            log.warning("%s could not be ended", self.name, exc_info=True)
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_REMOVE_SECONDS)

    def run_arguments(self) -> list[str]:
        """What `run` is told."""
        box = self._box
        words = ["run", "-d", "--name", self._name, f"--label={LABEL}={self._session}"]
        words += [f"--network={box.network}", "--security-opt=no-new-privileges", "--cap-drop=ALL"]
        words += [f"--cap-add={name}" for name in _CAPABILITIES]
        for place in box.mounts:
            words.append(f"--mount=type=bind,{mount_field('source', place)},{mount_field('target', place)}")
        words += [f"--volume={volume}" for volume in box.volumes]
        words += [f"--env={name}" for name in box.forwarded if name in os.environ]
        words += self._user()
        words += [f"--cpus={box.cpus:g}"] if box.cpus is not None else []
        words += [f"--memory={box.memory}m"] if box.memory is not None else []
        words += [f"--pids-limit={box.processes}"] if box.processes is not None else []
        return [*words, *box.arguments, "--entrypoint=sh", box.image, "-c", _IDLE]

    def _user(self) -> list[str]:
        """So that what is written into this machine's directories is the user's."""
        user = self._box.user
        if user == "image":
            return []
        if user != "auto":
            return [f"--user={user}"]
        if "podman" in Path(self._program).name:
            return [] if os.getuid() == 0 else ["--userns=keep-id"]
        if os.getuid() == 0 or "rootless" in self._asked("info", "--format", "{{.SecurityOptions}}"):
            return []  # who is root there is who this process is here
        return [f"--user={os.getuid()}:{os.getgid()}", "--env=HOME=/tmp"]

    def _bring_up(self) -> None:
        state = self._asked("container", "inspect", "--format", "{{.State.Running}}", self._name).strip()
        if state == "true":
            return
        words = ["start", self._name] if state == "false" else self.run_arguments()
        try:
            done = subprocess.run(
                [self._program, *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=self._environment(),
                timeout=_RUN_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as problem:
            raise CommandError(
                f"Could not start {self.name} within {_RUN_SECONDS:.0f} seconds. Pull {self._box.image} by hand."
            ) from problem
        if done.returncode:
            raise CommandError(self.why(done.stderr[-_MOST_COMPLAINT:].decode(errors="replace")))
        if state != "false":
            self._give_own()

    def _give_own(self) -> None:
        """The directory belongs to who works there: the engine would make it root's, or not at all."""
        own = self._box.own
        if own is None or not own.is_absolute():
            return
        options = self._user()
        user = next((word for word in options if word.startswith("--user=")), f"--user={os.getuid()}")
        script = 'mkdir -p "$1" && chown "$2" "$1"' if options else 'mkdir -p "$1"'
        self._asked("exec", "--user=0", self._name, "sh", "-c", script, "sh", str(own), user.removeprefix("--user="))

    def _remove_leftovers(self) -> None:
        """Remove the containers of processes of this machine's that are gone."""
        names = self._asked("ps", "-a", f"--filter=label={LABEL}", "--format", "{{.Names}}").split()
        left = [name for name in names if is_left(name)]
        for name in left:
            if self._rescue is not None and self._rescue.is_wanted(called(name)):
                self._rescue.save(called(name), partial(self._within, name))
        if left:
            log.info("containers of processes that are gone are removed: %s", ", ".join(left))
            removal = self._popen(["rm", "-f", "-v", *left])
            threading.Thread(target=removal.wait, name="removal of containers", daemon=True).start()

    @contextmanager
    def _within(self, name: str, script: str, streams: Streams) -> Iterator[subprocess.Popen[bytes]]:
        """A script in a container that need not be this session's."""
        process = subprocess.Popen(
            [self._program, "exec", "-i", name, "sh", "-c", script],
            stdin=streams.stdin,
            stdout=streams.stdout,
            stderr=streams.stderr,
            env=self._environment(),
            close_fds=True,
            start_new_session=True,
        )
        with ended(process):
            yield process

    def _asked(self, *words: str) -> str:
        """What the engine answers; '' where it knows nothing, or does not answer."""
        try:
            done = subprocess.run(
                [self._program, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._environment(),
                timeout=_ASK_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.decode(errors="replace") if done.returncode == 0 else ""

    def _popen(self, words: Sequence[str]) -> subprocess.Popen[bytes]:
        null = subprocess.DEVNULL
        return subprocess.Popen(
            [self._program, *words],
            stdin=null,
            stdout=null,
            stderr=null,
            env=self._environment(),
            close_fds=True,
            start_new_session=True,
        )

    def _environment(self) -> dict[str, str]:
        """The engine's program takes what the settings forward from its own variables."""
        forwarded = {name: os.environ[name] for name in self._box.forwarded if name in os.environ}
        return client_environment(self._variables, forwarded)

    def _named(self) -> str:
        if self._is_kept:
            # What was made under other settings, as with a network, is not what these mean.
            meant = f"{self._session} {self._box}"
            return f"{PREFIX}kept-{hashlib.sha256(meant.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
        return owned_name()


def _engine(program: str) -> str:
    for name in (program,) if program else ("docker", "podman"):
        if found := PROGRAMS.find(name):
            return found
    raise CommandError(
        f"There is no program {program or 'docker or podman'!r} here. Install an engine, or set "
        "terminal.docker_program; terminal.backend: local works without one."
    )


def called(name: str) -> str:
    """A container, as people call it."""
    return f"the container {name}"


def mount_field(name: str, place: Path) -> str:
    """A field of a mount: these are a line of comma-separated values, where a directory's name ends none."""
    text = f"{name}={place}"
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\n\r') else text
