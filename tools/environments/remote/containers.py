"""Containers to work in: Docker and Podman (`terminal.backend: docker`), and Apptainer."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tools.environments.backends import Elsewhere, Rescue, Wanted
from tools.environments.child_env import client_environment
from tools.environments.program_finder import PROGRAMS
from tools.environments.remote.connection import Streams, ended
from tools.environments.remote.scripts import PREFIX, is_left, leading, owned_name
from tools.environments.remote.session import shared_places, side_of, with_places_there, with_shared_places
from tools.errors import CommandError
from tools.light_dataclass import dataclass

# The program by which containers are made and used, whichever it is.

log = logging.getLogger(__name__)

_ASK_SECONDS = 30.0
# The first container of an image has to fetch it, and perhaps to convert it.
_RUN_SECONDS = 600.0
_REMOVE_SECONDS = 3.0
_MOST_COMPLAINT = 2_000
_SILENT = Streams(subprocess.DEVNULL, subprocess.DEVNULL, subprocess.DEVNULL)

Meanings = Sequence[tuple[str, str]]
"""Patterns of a program's words, and what they mean."""


@dataclass(frozen=True, slots=True)
class _Client:
    """One such program.

    Attributes:
        path: of the program.
        image: what containers are made of, for its errors.
        meanings: of its errors.
        check: a command that shows whether it works.
        environment: its variables.
    """

    path: str
    image: str
    meanings: Meanings
    check: str
    environment: Callable[[], dict[str, str]]

    def start(self, words: Sequence[str], streams: Streams = _SILENT) -> subprocess.Popen[bytes]:
        """Start it, as the leader of a group.

        Raises:
            CommandError: it cannot be.
        """
        try:
            return subprocess.Popen(
                [self.path, *words],
                stdin=streams.stdin,
                stdout=streams.stdout,
                stderr=streams.stderr,
                env=self.environment(),
                close_fds=True,
                start_new_session=True,
            )
        except OSError as problem:
            raise CommandError(f"Could not start {self.path}: {problem.strerror}.") from problem

    def asked(self, *words: str) -> str:
        """What it answers; '' where it knows nothing, or does not answer."""
        try:
            done = self._run(words, _ASK_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.decode(errors="replace") if done.returncode == 0 else ""

    def make(self, words: Sequence[str], name: str) -> None:
        """Have it make or start what people call `name`.

        Raises:
            CommandError: it did not.
        """
        try:
            done = self._run(words, _RUN_SECONDS)
        except subprocess.TimeoutExpired as problem:
            raise CommandError(
                f"Could not start {name} within {_RUN_SECONDS:.0f} seconds. Pull {self.image} by hand."
            ) from problem
        if done.returncode:
            raise CommandError(self.why(name, done.stderr[-_MOST_COMPLAINT:].decode(errors="replace")))

    def end(self, words: Sequence[str], name: str) -> None:
        """Have it end that. It goes on if it takes longer than a moment."""
        try:
            process = self.start(words)
        except CommandError:
            log.warning("%s could not be ended", name, exc_info=True)
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_REMOVE_SECONDS)

    def end_left(self, words: Sequence[str]) -> None:
        """Have it end what somebody has left, without waiting for it."""
        removal = self.start(words)
        threading.Thread(target=removal.wait, name="end of containers that were left", daemon=True).start()

    def why(self, name: str, complaint: str) -> str:
        """What its words mean."""
        plain = " ".join(complaint.split())
        said = f" ({Path(self.path).name} says: {plain[-300:]})" if plain else ""
        for pattern, meaning in self.meanings:
            if re.search(pattern, complaint, re.IGNORECASE):
                return f"Could not use {name}: {meaning.format(program=self.path, image=self.image)}.{said}"
        return f"Could not use {name}: see that `{self.path} {self.check}` works.{said}"

    def _run(self, words: Sequence[str], seconds: float) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [self.path, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=self.environment(),
            timeout=seconds,
            check=False,
        )


def _found(names: Sequence[str], missing: str) -> str:
    """The first of these programs that is here; raises CommandError, with `missing`."""
    for name in names:
        if found := PROGRAMS.find(name):
            return found
    raise CommandError(missing)


# Docker and Podman: a container as the machine that a session works on, through the engine's program.
# A container belongs to one session. It ends with the session, unless it is to be kept; what a process that was
# killed has left behind is removed when the next one starts its first container.

LABEL = "hermes-acp.session"
# It must not end by itself, and end at once when it is told to. As the first process it also reaps orphans, as a
# shell that waits does: so no `--init` is needed, for which not every engine has a program.
_IDLE = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"
_CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID", "KILL")
_CONTAINER_GONE = r"No such container|is not running|no container with"
_ENGINE_WORDS: Meanings = (
    (r"permission denied while trying to connect|dial unix.*permission denied", (
        "you may not use it. Add yourself to its group (docker), or set terminal.docker_program to podman"
    )),
    (r"Cannot connect to|Is the docker daemon running|no such host|connection refused", (
        "the engine does not run. Start it, and see that `{program} info` works"
    )),
    (r"pull access denied|manifest unknown|repository does not exist|No such image|short-name|unauthorized", (
        "the image {image} cannot be fetched. Look at terminal.docker_image, or build or pull it by hand"
    )),
    (_CONTAINER_GONE, (
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
        wanted = program or "docker or podman"
        path = _found(
            (program,) if program else ("docker", "podman"),
            f"There is no program {wanted!r} here. Install an engine, or set terminal.docker_program; "
            "terminal.backend: local works without one.",
        )
        self._client = _Client(path, box.image, _ENGINE_WORDS, "info", self.environment)
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
        return self._client.start(
            ["exec", "-i", *(["-t"] if terminal else []), self._name, "sh", "-c", script], streams
        )

    def why(self, complaint: str) -> str:
        """What the engine's words mean."""
        return self._client.why(self.name, complaint)

    def never_started(self, complaint: str) -> bool:
        """Whether there was no container to start it in."""
        return re.search(_CONTAINER_GONE, complaint, re.IGNORECASE) is not None

    def close(self) -> None:
        """Remove the container, or stop it where it is kept. Its removal goes on if it takes longer than a moment."""
        if not self._is_used:
            return
        self._is_used = False
        words = ["stop", "-t", "1", self._name] if self._is_kept else ["rm", "-f", "-v", self._name]
        self._client.end(words, self.name)

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
        if "podman" in Path(self._client.path).name:
            return [] if os.getuid() == 0 else ["--userns=keep-id"]
        if os.getuid() == 0 or "rootless" in self._client.asked("info", "--format", "{{.SecurityOptions}}"):
            return []  # who is root there is who this process is here
        return [f"--user={os.getuid()}:{os.getgid()}", "--env=HOME=/tmp"]

    def _bring_up(self) -> None:
        state = self._client.asked("container", "inspect", "--format", "{{.State.Running}}", self._name).strip()
        if state == "true":
            return
        words = ["start", self._name] if state == "false" else self.run_arguments()
        self._client.make(words, self.name)
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
        self._client.asked(
            "exec", "--user=0", self._name, "sh", "-c", script, "sh", str(own), user.removeprefix("--user=")
        )

    def _remove_leftovers(self) -> None:
        """Remove the containers of processes of this machine's that are gone."""
        names = self._client.asked("ps", "-a", f"--filter=label={LABEL}", "--format", "{{.Names}}").split()
        left = [name for name in names if is_left(name)]
        for name in left:
            if self._rescue is not None and self._rescue.is_wanted(called(name)):
                self._rescue.save(called(name), partial(self._within, name))
        if left:
            log.info("containers of processes that are gone are removed: %s", ", ".join(left))
            self._client.end_left(["rm", "-f", "-v", *left])

    @contextmanager
    def _within(self, name: str, script: str, streams: Streams) -> Iterator[subprocess.Popen[bytes]]:
        """A script in a container that need not be this session's."""
        with ended(process := self._client.start(["exec", "-i", name, "sh", "-c", script], streams)):
            yield process

    def environment(self) -> dict[str, str]:
        """The engine's program takes what the settings forward from its own variables."""
        forwarded = {name: os.environ[name] for name in self._box.forwarded if name in os.environ}
        return client_environment(self._variables, forwarded)

    def _named(self) -> str:
        if self._is_kept:
            # What was made under other settings, as with a network, is not what these mean.
            meant = f"{self._session} {self._box}"
            return f"{PREFIX}kept-{hashlib.sha256(meant.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
        return owned_name()


def called(name: str) -> str:
    """A container, as people call it."""
    return f"the container {name}"


def mount_field(name: str, place: Path) -> str:
    """A field of a mount: these are a line of comma-separated values, where a directory's name ends none."""
    text = f"{name}={place}"
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\n\r') else text


# `terminal.backend: docker`: the session's commands run in a container that has its directories.

_WITHOUT_MOUNT = "/workspace"


def docker_backend(wanted: Wanted) -> Elsewhere:
    """Start a container when something is first asked of it; where that fails, the session's tools say why.

    Raises:
        CommandError: there is no engine's program here.
    """
    options = wanted.options
    is_shared = bool(options.get("docker_mount", True))
    is_copied = options.get("sync", "off") != "off"
    start = str(options.get("cwd") or (os.path.realpath(wanted.cwd) if is_copied else _WITHOUT_MOUNT))
    box = Box(
        image=str(options.get("docker_image") or "debian:stable-slim"),
        mounts=shared_places(wanted) if is_shared else (),
        volumes=tuple(options.get("docker_volumes") or ()),
        network=str(options.get("docker_network") or "none"),
        forwarded=tuple(options.get("docker_forward_env") or ()),
        user=str(options.get("docker_user") or "auto"),
        cpus=options.get("container_cpu"),
        memory=options.get("container_memory"),
        processes=options.get("container_processes"),
        arguments=tuple(options.get("docker_args") or ()),
        kept=bool(options.get("container_persistent")),
        own=None if is_shared else Path(start),
    )
    machine = DockerMachine(
        box, wanted.session_id, str(options.get("docker_program") or ""), wanted.rescue, wanted.variables
    )
    side = side_of(machine, wanted, box.forwarded)
    why_not = f"it runs in {machine.name}, whose walls are the engine's and not this program's"
    if is_shared:
        return with_shared_places("docker", side, wanted, why_not)
    return with_places_there("docker", side, wanted, why_not, start=start, outlives=box.kept)


# Apptainer (or Singularity): an instance as the machine that a session works on, through its program.
# An instance belongs to one session and ends with it; what a process that was killed has left behind is stopped when
# the next one starts its first. Nobody needs to be root for one, and who is in it is who runs it.

_NAMES = ("apptainer", "singularity")
# Both programs read variables for the inside from such names: so no value stands in a list of processes.
_FORWARDING = ("APPTAINERENV_", "SINGULARITYENV_")
_INSTALL = "apt-get install apptainer, dnf install apptainer, or your cluster's module"
_INSTANCE_GONE = r"no instance found|instance .*not found|instance .*does not exist"
_APPTAINER_WORDS: Meanings = (
    (_INSTANCE_GONE, "the instance is gone. Try again: another one is started"),
    (r"user namespace|setuid|not permitted|permission denied", (
        "this user may start none here. See that `{program} exec {image} true` works, and ask who runs this machine"
    )),
    (r"could not open image|no such file|unable to (?:pull|fetch)|unauthorized|manifest unknown|while pulling", (
        "the image {image} cannot be had. Look at terminal.singularity_image, or pull it by hand: "
        "{program} pull {image}"
    )),
    (r"cgroup", (
        "limits need cgroups that this user may change. Leave out terminal.container_cpu and container_memory"
    )),
    (r"network|cni", "the network cannot be set up. Set terminal.container_network to open, or ask for the right"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Instance:
    """What an instance is made with.

    Attributes:
        image: a .sif file, a directory, or what the program can fetch, as `docker://debian:stable-slim`.
        mounts: directories of this machine that are there under the same name.
        has_network: it has this machine's network; otherwise none.
        forwarded: names of variables that it gets from this process.
        cpus: processors; `memory` in megabytes. None: no limit, as limits need rights that few have.
        arguments: further ones of `instance start`.
    """

    image: str
    mounts: tuple[Path, ...] = ()
    has_network: bool = False
    forwarded: tuple[str, ...] = ()
    cpus: float | None = None
    memory: int | None = None
    arguments: tuple[str, ...] = ()


class ApptainerMachine:
    """Implements `Machine` in an instance; safe to use from several threads.

    Raises:
        CommandError: there is no such program.
    """

    def __init__(self, instance: Instance, program: str = "", variables: Mapping[str, str] = os.environ) -> None:
        wanted = program or " or ".join(_NAMES)
        path = _found(
            (program,) if program else _NAMES,
            f"terminal.backend is apptainer, and there is no program {wanted!r} here. Install it ({_INSTALL}), or "
            "set terminal.singularity_program; terminal.backend: local works without one.",
        )
        check = f"exec {instance.image} true"
        self._client = _Client(path, instance.image, _APPTAINER_WORDS, check, self._environment)
        self._instance = instance
        self._variables = variables
        self._lock = threading.Lock()
        self._name = owned_name()
        self._is_used = False

    @property
    def name(self) -> str:
        """For people."""
        return f"the instance {self._name}"

    def connect(self, script: str, streams: Streams) -> subprocess.Popen[bytes]:
        """Have the instance running, and the script in it."""
        with self._lock:
            if not self._is_used:
                self._stop_leftovers()
            self._is_used = True
            if self._name not in self._running():
                self._client.make(self.start_arguments(), self.name)
        return self.start(script, streams)

    def start(self, script: str, streams: Streams, *, terminal: bool = False) -> subprocess.Popen[bytes]:
        """Start a script in the instance."""
        words = ["exec", "--cleanenv", "--pwd", "/", f"instance://{self._name}"]
        return self._client.start([*words, "sh", "-c", leading(script, terminal=terminal)], streams)

    def why(self, complaint: str) -> str:
        """What the program's words mean."""
        return self._client.why(self.name, complaint)

    def never_started(self, complaint: str) -> bool:
        """Whether there was no instance to start it in."""
        return re.search(_INSTANCE_GONE, complaint, re.IGNORECASE) is not None

    def close(self) -> None:
        """Stop the instance, and what it has on its own disk goes. It goes on if it takes longer than a moment."""
        if not self._is_used:
            return
        self._is_used = False
        self._client.end(["instance", "stop", "--force", self._name], self.name)

    def start_arguments(self) -> list[str]:
        """What `instance start` is told."""
        made = self._instance
        words = ["instance", "start", "--containall", "--cleanenv", "--no-privs", "--writable-tmpfs"]
        words += [] if made.has_network else ["--net", "--network", "none"]
        for place in made.mounts:
            words += ["--mount", f"type=bind,{mount_field('source', place)},{mount_field('destination', place)}"]
        words += ["--cpus", f"{made.cpus:g}"] if made.cpus is not None else []
        words += ["--memory", f"{made.memory}M"] if made.memory is not None else []
        return [*words, *made.arguments, made.image, self._name]

    def _stop_leftovers(self) -> None:
        """Stop the instances of processes of this machine's that are gone."""
        for name in (name for name in self._running() if is_left(name)):
            log.info("the instance %s of a process that is gone is stopped", name)
            self._client.end_left(["instance", "stop", "--force", name])

    def _running(self) -> list[str]:
        """The user's instances; none where the program does not answer."""
        try:
            told = json.loads(self._client.asked("instance", "list", "--json"))
        except ValueError:
            return []
        found = told.get("instances") if isinstance(told, dict) else None
        return [str(each.get("instance", "")) for each in found or [] if isinstance(each, dict)]

    def _environment(self) -> dict[str, str]:
        given = {name: os.environ[name] for name in self._instance.forwarded if name in os.environ}
        named = {f"{before}{name}": value for before in _FORWARDING for name, value in given.items()}
        return client_environment(self._variables, named)
