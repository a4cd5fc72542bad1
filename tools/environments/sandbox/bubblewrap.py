"""A sandbox of namespaces, made by bubblewrap: for kernels without Landlock. It has no network at all."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.environments.program_finder import PROGRAMS
from tools.environments.sandbox import kernel
from tools.environments.sandbox.places import Scratch
from tools.environments.sandbox.port import Confinement, Limits
from tools.environments.sandbox.seccomp import MACHINES, call_filter

_PROGRAM = "bwrap"
# Files are the namespaces' affair: the filter has nothing to make up for.
_COVERED_BY_MOUNTS = 7
_KEPT_BY_ROOT = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETFCAP")
_KIB, _BLOCK = 1024, 512
_PROC = Path("/proc")
# What container runtimes hide of the kernel's own files, and what shows where pages are: root could read it.
_MASKED = (
    *("acpi", "asound", "kcore", "keys", "kmsg", "kpagecgroup", "kpagecount", "kpageflags"),
    *("latency_stats", "sched_debug", "scsi", "timer_list", "timer_stats", "vmcore"),
)


class BubblewrapSandbox:
    """Implements `tools.environments.sandbox.port.Sandbox`; one for a session, safe to use from several threads.

    Args:
        program: bubblewrap; found on the PATH when None.

    Raises:
        OSError: it is not installed.
    """

    def __init__(self, program: str | None = None) -> None:
        found = program or PROGRAMS.find(_PROGRAM)
        if found is None:
            raise OSError(PROGRAMS.missing(_PROGRAM))
        self._program = found
        self._scratch = Scratch()

    @property
    def name(self) -> str:
        """What it is made of."""
        return "bubblewrap"

    @property
    def hides_beside_changes(self) -> bool:
        """Whether a file can be hidden where commands make files: a file is mounted over it."""
        return True

    def popen(self, arguments: Sequence[str], confinement: Confinement, **popen: Any) -> subprocess.Popen[bytes]:
        """Start a process in namespaces of its own.

        Raises:
            OSError: it could not be started.
        """
        popen.pop("apart", None)  # each is
        at_terminal = _is_terminal(popen.get("stderr"))
        walls = bubblewrap_arguments(confinement, (self._scratch.path(),), terminals=at_terminal)
        if kernel.machine() not in MACHINES:
            return subprocess.Popen([self._program, *walls, "--", *_limited(arguments, confinement.limits)], **popen)
        program = call_filter(
            kernel.machine(),
            "off",
            notify=frozenset(),
            landlock=_COVERED_BY_MOUNTS,
            own_pid=os.getpid(),
            own_ipc=True,
            own_processes=True,
        )
        with _readable(program) as descriptor:
            given = [self._program, *walls, "--seccomp", str(descriptor), "--"]
            popen["pass_fds"] = (*popen.get("pass_fds", ()), descriptor)
            return subprocess.Popen([*given, *_limited(arguments, confinement.limits)], **popen)

    def variables(self, confinement: Confinement) -> Mapping[str, str]:
        """Directories for what is not kept.

        Raises:
            OSError: there is none.
        """
        return {} if confinement.level == "full" else self._scratch.variables(confinement.level)

    def end_left(self, process: subprocess.Popen[bytes]) -> bool:  # noqa: ARG002 - the port's signature
        """Nothing: what a process leaves behind is in its namespace, which ends with its group."""
        return False

    def refusals(self, process: subprocess.Popen[bytes]) -> tuple[str, ...]:  # noqa: ARG002 - the port's
        """Nobody looks at its connections: there are none."""
        return ()

    def any_left(self) -> bool:
        """Not known here: what is in the namespaces keeps the group of their first process alive."""
        return False

    def close(self) -> None:
        """The session has ended."""
        self._scratch.close()


def bubblewrap_arguments(
    confinement: Confinement, own: Sequence[Path] = (), *, terminals: bool = False
) -> tuple[str, ...]:
    """The options of bubblewrap that keep a command to its confinement.

    Args:
        own: the sandbox's own directories, which any command may change.
        terminals: the command has one of this machine's; then it sees the others, too.
    """
    writable = confinement.writable if confinement.level == "workspace-write" else ()
    is_full = confinement.level == "full"
    found = ["--bind" if is_full or Path("/") in writable else "--ro-bind", "/", "/", "--dev", "/dev"]
    found += ["--proc", str(_PROC)]
    if terminals:
        found += ["--dev-bind", "/dev/pts", "/dev/pts"]
    # Sockets there can be talked to through any mount.
    found += ["--tmpfs", "/run"]
    for place in (*writable, *own):
        # What holds /proc would bring this machine's own, and lay it over the new one.
        if _PROC.is_relative_to(place) or place.is_relative_to(_PROC):
            continue
        # bubblewrap follows links; they were resolved, so one that is there now was put there by a command.
        if os.path.realpath(place) == str(place):
            found += ["--bind-try", str(place), str(place)]
    for place in (*confinement.protected, *confinement.held):
        found += ["--ro-bind-try", str(place), str(place)]
    for place in (*confinement.hidden, *(() if is_full else (_PROC / name for name in _MASKED))):
        if place.is_dir():
            found += ["--tmpfs", str(place), "--remount-ro", str(place)]
        elif place.exists():
            found += ["--ro-bind", os.devnull, str(place)]
    if not is_full:
        # Root in here is root for the kernel's settings. bubblewrap covers some, but not /proc/sys: asked about the
        # directory, access(2) says that nobody may write. Under Landlock nothing in /proc can be changed, either.
        found += ["--remount-ro", str(_PROC)]
    found += ["--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts"]
    if os.geteuid() == 0:
        found += ["--cap-drop", "ALL"]
        for name in _KEPT_BY_ROOT:
            found += ["--cap-add", f"CAP_{name}"]
    return tuple(found)


def _limited(arguments: Sequence[str], limits: Limits) -> list[str]:
    """Limits that a shell sets inside: from outside nobody knows when the first process is there."""
    settings = {
        "-t": limits.cpu_seconds,
        "-d": None if limits.memory is None else limits.memory // _KIB,
        "-f": None if limits.file_size is None else limits.file_size // _BLOCK,
    }
    lines = [f"ulimit {option} {value}" for option, value in settings.items() if value is not None]
    if limits.processes is not None:
        lines.append(f"ulimit -u {limits.processes} 2>/dev/null || ulimit -p {limits.processes}")
    if not lines:
        return list(arguments)
    return ["/bin/sh", "-c", " && ".join([*(f"{{ {line}; }}" for line in lines), 'exec "$@"']), "sh", *arguments]


@contextlib.contextmanager
def _readable(program: bytes) -> Iterator[int]:
    """A descriptor from which a program of the kernel's is read; a pipe takes all of it at once."""
    reader, writer = os.pipe()
    try:
        with os.fdopen(writer, "wb") as stream:
            stream.write(program)
        yield reader
    finally:
        os.close(reader)


def _is_terminal(output: object) -> bool:
    return isinstance(output, int) and output >= 0 and os.isatty(output)
