"""An instance of apptainer (or singularity) as the machine that a session works on, through its program.

An instance belongs to one session and ends with it; what a process that was killed has left behind is stopped when
the next one starts its first. Nobody needs to be root for one, and who is in it is who runs it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.environments.child_env import client_environment
from tools.environments.far.docker import mount_field
from tools.environments.far.leading import leading
from tools.environments.far.machine import Streams
from tools.environments.far.owning import is_left, owned_name
from tools.environments.own_programs import PROGRAMS
from tools.errors import CommandError
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

_ASK_SECONDS = 30.0
# The first instance of an image has to fetch and convert it.
_START_SECONDS = 600.0
_STOP_SECONDS = 3.0
_MOST_COMPLAINT = 2_000
_NAMES = ("apptainer", "singularity")
# Both programs read variables for the inside from such names: so no value stands in a list of processes.
_FORWARDING = ("APPTAINERENV_", "SINGULARITYENV_")
_INSTALL = "apt-get install apptainer, dnf install apptainer, or your cluster's module"
_GONE = r"no instance found|instance .*not found|instance .*does not exist"
_WORDS: Sequence[tuple[str, str]] = (
    (_GONE, "the instance is gone. Try again: another one is started"),
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
        self._program = _found(program)
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
                self._bring_up()
        return self.start(script, streams)

    def start(self, script: str, streams: Streams, *, terminal: bool = False) -> subprocess.Popen[bytes]:
        """Start a script in the instance."""
        words = ["exec", "--cleanenv", "--pwd", "/", f"instance://{self._name}"]
        try:
            return subprocess.Popen(
                [self._program, *words, "sh", "-c", leading(script, terminal=terminal)],
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
        """What the program's words mean."""
        plain = " ".join(complaint.split())
        said = f" ({Path(self._program).name} says: {plain[-300:]})" if plain else ""
        for pattern, meaning in _WORDS:
            if re.search(pattern, complaint, re.IGNORECASE):
                told = meaning.format(program=self._program, image=self._instance.image)
                return f"Could not use {self.name}: {told}.{said}"
        return f"Could not use {self.name}: see that `{self._program} exec {self._instance.image} true` works.{said}"

    def never_started(self, complaint: str) -> bool:
        """Whether there was no instance to start it in."""
        return re.search(_GONE, complaint, re.IGNORECASE) is not None

    def close(self) -> None:
        """Stop the instance, and what it has on its own disk goes. It goes on if it takes longer than a moment."""
        if not self._is_used:
            return
        self._is_used = False
        try:
            process = self._popen(["instance", "stop", "--force", self._name])
        except OSError:
            log.warning("%s could not be ended", self.name, exc_info=True)
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)

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

    def _bring_up(self) -> None:
        try:
            done = subprocess.run(
                [self._program, *self.start_arguments()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=self._environment(),
                timeout=_START_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as problem:
            raise CommandError(
                f"Could not start {self.name} within {_START_SECONDS:.0f} s. Pull {self._instance.image} by hand."
            ) from problem
        if done.returncode:
            raise CommandError(self.why(done.stderr[-_MOST_COMPLAINT:].decode(errors="replace")))

    def _stop_leftovers(self) -> None:
        """Stop the instances of processes of this machine's that are gone."""
        for name in (name for name in self._running() if is_left(name)):
            log.info("the instance %s of a process that is gone is stopped", name)
            removal = self._popen(["instance", "stop", "--force", name])
            threading.Thread(target=removal.wait, name="stop of an instance", daemon=True).start()

    def _running(self) -> list[str]:
        """The user's instances; none where the program does not answer."""
        try:
            done = subprocess.run(
                [self._program, "instance", "list", "--json"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._environment(),
                timeout=_ASK_SECONDS,
                check=False,
            )
            told = json.loads(done.stdout)
        except (OSError, subprocess.TimeoutExpired, ValueError):
            return []
        found = told.get("instances") if isinstance(told, dict) else None
        return [str(each.get("instance", "")) for each in found or [] if isinstance(each, dict)]

    def _environment(self) -> dict[str, str]:
        given = {name: os.environ[name] for name in self._instance.forwarded if name in os.environ}
        named = {f"{before}{name}": value for before in _FORWARDING for name, value in given.items()}
        return client_environment(self._variables, named)

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


def _found(program: str) -> str:
    for name in (program,) if program else _NAMES:
        if found := PROGRAMS.find(name):
            return found
    wanted = program or " or ".join(_NAMES)
    raise CommandError(
        f"terminal.backend is apptainer, and there is no program {wanted!r} here. Install it ({_INSTALL}), or set "
        "terminal.singularity_program; terminal.backend: local works without one."
    )
