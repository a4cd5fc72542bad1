"""Containers to work in, through the program of an engine: Docker and Podman (`terminal.backend: docker`), Apptainer.

A container belongs to one session. It ends with the session, unless it is to be kept; what a process that was killed
has left behind is removed when the next one starts its first container.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import ClassVar

from tools.environments.backends import Elsewhere, Rescue, Wanted
from tools.environments.child_env import client_environment
from tools.environments.program_finder import PROGRAMS
from tools.environments.remote.connection import Streams, ended
from tools.environments.remote.scripts import PREFIX, is_left, leading, owned_name
from tools.environments.remote.session import shared_places, side_of, with_places_there, with_shared_places
from tools.errors import CommandError
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

_ASK_SECONDS = 30.0
# The first container of an image has to fetch it, and perhaps to convert it.
_RUN_SECONDS = 600.0
_REMOVE_SECONDS = 3.0
_MOST_COMPLAINT = 2_000
_SILENT = Streams(subprocess.DEVNULL, subprocess.DEVNULL, subprocess.DEVNULL)


@dataclass(frozen=True, slots=True)
class Box:
    """What a container is made with.

    Attributes:
        image: as the engine takes it.
        mounts: directories of this machine that are there under the same name.
        volumes: more of them, as the engine takes them.
        network: none, bridge or host.
        forwarded: names of variables that it gets from this process.
        user: `auto`, `image` or what the engine takes.
        cpus: processors; `memory` in megabytes. None: no limit.
        arguments: further ones of the command that makes it.
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

    @property
    def given(self) -> dict[str, str]:
        """The variables that it gets."""
        return {name: os.environ[name] for name in self.forwarded if name in os.environ}


class ContainerMachine:
    """Implements `Machine` in a container; safe to use from several threads. How its engine is told is a subclass's.

    Args:
        session_id: whose container it is; '' for one that nobody opens again.
        program: the engine's; the first of `programs` that is here, when ''.
        rescue: saves what is in containers that were left behind.
        variables: what the environment of its program is made from.

    Raises:
        CommandError: there is no engine's program.
    """

    programs: ClassVar[tuple[str, ...]]
    missing: ClassVar[str]
    """What to do where there is none of them."""
    kind: ClassVar[str]
    """What people call a container."""
    check: ClassVar[str]
    """The command that shows whether the engine works."""
    gone: ClassVar[str]
    """What its words say of a container that is not there."""
    meanings: ClassVar[Sequence[tuple[str, str]]]
    """Patterns of its other words, and what they mean."""

    def __init__(
        self,
        box: Box,
        session_id: str = "",
        program: str = "",
        rescue: Rescue | None = None,
        variables: Mapping[str, str] = os.environ,
    ) -> None:
        names = (program,) if program else self.programs
        found = next(filter(None, map(PROGRAMS.find, names)), None)
        if found is None:
            raise CommandError(f"There is no program {' or '.join(names)!r} here. {self.missing}")
        self._program = found
        self._box = box
        self._session = session_id
        self._rescue = rescue
        self._variables = variables
        self._is_kept = box.kept and bool(session_id)
        self._lock = threading.Lock()
        self._name = self._named()
        self._is_used = False

    @property
    def name(self) -> str:
        """For people."""
        return self._called(self._name)

    def connect(self, script: str, streams: Streams) -> subprocess.Popen[bytes]:
        """Have the container running, and the script in it."""
        with self._lock:
            if not self._is_used:
                self._remove_leftovers()
            self._is_used = True
            self.bring_up()
        return self.start(script, streams)

    def start(self, script: str, streams: Streams, *, terminal: bool = False) -> subprocess.Popen[bytes]:
        """Start a script in the container."""
        return self._popen(self.exec_arguments(self._name, script, terminal=terminal), streams)

    def why(self, complaint: str) -> str:
        """What the engine's words mean."""
        plain = " ".join(complaint.split())
        said = f" ({Path(self._program).name} says: {plain[-300:]})" if plain else ""
        words = {"program": self._program, "image": self._box.image}
        for pattern, meaning in (
            (self.gone, f"{self.kind} is gone. Try again: another one is started"),
            *self.meanings,
        ):
            if re.search(pattern, complaint, re.IGNORECASE):
                return f"Could not use {self.name}: {meaning.format(**words)}.{said}"
        return f"Could not use {self.name}: see that `{self._program} {self.check.format(**words)}` works.{said}"

    def never_started(self, complaint: str, /) -> bool:
        """Whether there was no container to start it in."""
        return re.search(self.gone, complaint, re.IGNORECASE) is not None

    def close(self) -> None:
        """Remove the container, or stop it where it is kept. That goes on if it takes longer than a moment."""
        if not self._is_used:
            return
        self._is_used = False
        try:
            process = self._popen(self.end_arguments(self._name))
        except CommandError:
            log.warning("%s could not be ended", self.name, exc_info=True)
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_REMOVE_SECONDS)

    def environment(self) -> dict[str, str]:
        """The variables of the engine's program, from which it takes what the settings forward."""
        return client_environment(self._variables, self._box.given)

    # How an engine is told.

    def run_arguments(self) -> list[str]:
        """What makes the container."""
        raise NotImplementedError

    def exec_arguments(self, name: str, script: str, *, terminal: bool = False) -> list[str]:
        """What runs a script in it."""
        raise NotImplementedError

    def end_arguments(self, name: str) -> list[str]:
        """What ends a container."""
        raise NotImplementedError

    def bring_up(self) -> None:
        """Make the container, or start it again; nothing where it runs."""
        raise NotImplementedError

    def all_names(self) -> list[str]:
        """The user's containers that may be ours; none where the engine does not answer."""
        raise NotImplementedError

    # For subclasses.

    def make(self, words: Sequence[str]) -> None:
        """Have the engine make or start the container.

        Raises:
            CommandError: it did not.
        """
        try:
            done = self._run(words, _RUN_SECONDS)
        except subprocess.TimeoutExpired as problem:
            raise CommandError(
                f"Could not start {self.name} within {_RUN_SECONDS:.0f} seconds. Pull {self._box.image} by hand."
            ) from problem
        if done.returncode:
            raise CommandError(self.why(done.stderr[-_MOST_COMPLAINT:].decode(errors="replace")))

    def asked(self, *words: str) -> str:
        """What the engine answers; '' where it knows nothing, or does not answer."""
        try:
            done = self._run(words, _ASK_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.decode(errors="replace") if done.returncode == 0 else ""

    def _called(self, name: str) -> str:
        return f"{self.kind} {name}"

    def _run(self, words: Sequence[str], seconds: float) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [self._program, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=self.environment(),
            timeout=seconds,
            check=False,
        )

    def _popen(self, words: Sequence[str], streams: Streams = _SILENT) -> subprocess.Popen[bytes]:
        return streams.popen([self._program, *words], self.environment())

    def _remove_leftovers(self) -> None:
        """Remove the containers of processes of this machine's that are gone."""
        for name in filter(is_left, self.all_names()):
            if self._rescue is not None and self._rescue.is_wanted(self._called(name)):
                self._rescue.save(self._called(name), partial(self._within, name))
            log.info("%s of a process that is gone is removed", self._called(name))
            removal = self._popen(self.end_arguments(name))
            threading.Thread(target=removal.wait, name="end of containers that were left", daemon=True).start()

    @contextmanager
    def _within(self, name: str, script: str, streams: Streams) -> Iterator[subprocess.Popen[bytes]]:
        """A script in a container that need not be this session's."""
        with ended(process := self._popen(self.exec_arguments(name, script), streams)):
            yield process

    def _named(self) -> str:
        if not self._is_kept:
            return owned_name()
        # What was made under other settings, as with a network, is not what these mean.
        meant = f"{self._session} {self._box}"
        return f"{PREFIX}kept-{hashlib.sha256(meant.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"


def _mounts(box: Box, target: str) -> list[str]:
    """Each directory as a mount, which is a line of comma-separated values, where a directory's name ends none."""

    def field(name: str, place: Path) -> str:
        text = f"{name}={place}"
        return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\n\r') else text

    return [f"type=bind,{field('source', place)},{field(target, place)}" for place in box.mounts]


# Docker and Podman.

LABEL = "hermes-acp.session"
# It must not end by itself, and end at once when it is told to. As the first process it also reaps orphans, as a
# shell that waits does: so no `--init` is needed, for which not every engine has a program.
_IDLE = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"
_CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID", "KILL")


class DockerMachine(ContainerMachine):
    """A container of docker or podman."""

    programs = ("docker", "podman")
    missing = "Install an engine, or set terminal.docker_program; terminal.backend: local works without one."
    kind = "the container"
    check = "info"
    gone = r"No such container|is not running|no container with"
    meanings = (
        (r"permission denied while trying to connect|dial unix.*permission denied", (
            "you may not use it. Add yourself to its group (docker), or set terminal.docker_program to podman"
        )),
        (r"Cannot connect to|Is the docker daemon running|no such host|connection refused", (
            "the engine does not run. Start it, and see that `{program} info` works"
        )),
        (r"pull access denied|manifest unknown|repository does not exist|No such image|short-name|unauthorized", (
            "the image {image} cannot be fetched. Look at terminal.docker_image, or build or pull it by hand"
        )),
    )  # fmt: skip

    def run_arguments(self) -> list[str]:
        """What `run` is told."""
        box = self._box
        return [
            *("run", "-d", "--name", self._name, f"--label={LABEL}={self._session}", f"--network={box.network}"),
            *("--security-opt=no-new-privileges", "--cap-drop=ALL", *(f"--cap-add={name}" for name in _CAPABILITIES)),
            *(f"--mount={mount}" for mount in _mounts(box, "target")),
            *(f"--volume={volume}" for volume in box.volumes),
            *(f"--env={name}" for name in box.given),
            *self._user(),
            *([f"--cpus={box.cpus:g}"] if box.cpus is not None else []),
            *([f"--memory={box.memory}m"] if box.memory is not None else []),
            *([f"--pids-limit={box.processes}"] if box.processes is not None else []),
            *(*box.arguments, "--entrypoint=sh", box.image, "-c", _IDLE),
        ]

    def exec_arguments(self, name: str, script: str, *, terminal: bool = False) -> list[str]:
        """What `exec` is told."""
        return ["exec", "-i", *(["-t"] if terminal else []), name, "sh", "-c", script]

    def end_arguments(self, name: str) -> list[str]:
        """Its own is only stopped where it is kept."""
        return ["stop", "-t", "1", name] if self._is_kept and name == self._name else ["rm", "-f", "-v", name]

    def bring_up(self) -> None:
        """Make the container, or start it again."""
        state = self.asked("container", "inspect", "--format", "{{.State.Running}}", self._name).strip()
        if state == "false":
            self.make(["start", self._name])
        elif state != "true":
            self.make(self.run_arguments())
            self._give_own()

    def all_names(self) -> list[str]:
        """Those with our label."""
        return self.asked("ps", "-a", f"--filter=label={LABEL}", "--format", "{{.Names}}").split()

    def _user(self) -> list[str]:
        """So that what is written into this machine's directories is the user's."""
        user = self._box.user
        if user == "image":
            return []
        if user != "auto":
            return [f"--user={user}"]
        if "podman" in Path(self._program).name:
            return [] if os.getuid() == 0 else ["--userns=keep-id"]
        if os.getuid() == 0 or "rootless" in self.asked("info", "--format", "{{.SecurityOptions}}"):
            return []  # who is root there is who this process is here
        return [f"--user={os.getuid()}:{os.getgid()}", "--env=HOME=/tmp"]

    def _give_own(self) -> None:
        """The directory belongs to who works there: the engine would make it root's, or not at all."""
        own = self._box.own
        if own is None or not own.is_absolute():
            return
        options = self._user()
        user = next((word for word in options if word.startswith("--user=")), f"--user={os.getuid()}")
        script = 'mkdir -p "$1" && chown "$2" "$1"' if options else 'mkdir -p "$1"'
        words = ("sh", "-c", script, "sh", str(own), user.removeprefix("--user="))
        self.asked("exec", "--user=0", self._name, *words)


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
    program = str(options.get("docker_program") or "")
    machine = DockerMachine(box, wanted.session_id, program, wanted.rescue, wanted.variables)
    side = side_of(machine, wanted, box.forwarded)
    why_not = f"it runs in {machine.name}, whose walls are the engine's and not this program's"
    if is_shared:
        return with_shared_places("docker", side, wanted, why_not)
    return with_places_there("docker", side, wanted, why_not, start=start, outlives=box.kept)


# Apptainer, or Singularity. Nobody needs to be root for an instance, and who is in it is who runs it.

# Both programs read variables for the inside from such names: so no value stands in a list of processes.
_FORWARDING = ("APPTAINERENV_", "SINGULARITYENV_")


class ApptainerMachine(ContainerMachine):
    """An instance of apptainer or singularity; its image is a .sif file, a directory, or what the program fetches."""

    programs = ("apptainer", "singularity")
    missing = (
        "Install it (apt-get install apptainer, dnf install apptainer, or your cluster's module), or set "
        "terminal.singularity_program; terminal.backend: local works without one."
    )
    kind = "the instance"
    check = "exec {image} true"
    gone = r"no instance found|instance .*not found|instance .*does not exist"
    meanings = (
        (r"user namespace|setuid|not permitted|permission denied", (
            "this user may start none here. See that `{program} exec {image} true` works, and ask who runs this "
            "machine"
        )),
        (r"could not open image|no such file|unable to (?:pull|fetch)|unauthorized|manifest unknown|while pulling", (
            "the image {image} cannot be had. Look at terminal.singularity_image, or pull it by hand: "
            "{program} pull {image}"
        )),
        (r"cgroup", (
            "limits need cgroups that this user may change. Leave out terminal.container_cpu and container_memory"
        )),
        (r"network|cni", (
            "the network cannot be set up. Set terminal.container_network to open, or ask for the right"
        )),
    )  # fmt: skip

    def run_arguments(self) -> list[str]:
        """What `instance start` is told."""
        box = self._box
        return [
            *("instance", "start", "--containall", "--cleanenv", "--no-privs", "--writable-tmpfs"),
            *(["--net", "--network", "none"] if box.network == "none" else []),
            *(word for mount in _mounts(box, "destination") for word in ("--mount", mount)),
            *(["--cpus", f"{box.cpus:g}"] if box.cpus is not None else []),
            *(["--memory", f"{box.memory}M"] if box.memory is not None else []),
            *(*box.arguments, box.image, self._name),
        ]

    def exec_arguments(self, name: str, script: str, *, terminal: bool = False) -> list[str]:
        """What `exec` is told."""
        words = ["exec", "--cleanenv", "--pwd", "/", f"instance://{name}"]
        return [*words, "sh", "-c", leading(script, terminal=terminal)]

    def end_arguments(self, name: str) -> list[str]:
        """What is on its own disk goes."""
        return ["instance", "stop", "--force", name]

    def bring_up(self) -> None:
        """Start the instance."""
        if self._name not in self.all_names():
            self.make(self.run_arguments())

    def all_names(self) -> list[str]:
        """The user's instances."""
        try:
            told = json.loads(self.asked("instance", "list", "--json"))
        except ValueError:
            return []
        found = told.get("instances") if isinstance(told, dict) else None
        return [str(each.get("instance", "")) for each in found or [] if isinstance(each, dict)]

    def environment(self) -> dict[str, str]:
        """The variables of the program, with those for the inside."""
        given = self._box.given.items()
        return client_environment(
            self._variables, {f"{p}{name}": value for p in _FORWARDING for name, value in given}
        )
