"""Runs what searches: held to what was asked about, without stdin, and killed at the time-out or cancel."""

from __future__ import annotations

import functools
import os
import re
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from tools.environments.atomic_writes import open_resolved
from tools.environments.child_env import bare_environment
from tools.environments.git import IGNORE_FILES, ignore_files
from tools.environments.guardian import UNSEEN, signal_group
from tools.environments.program_finder import PROGRAMS
from tools.environments.sandbox import kernel
from tools.environments.sandbox.landlock_rules import FileRules
from tools.environments.temp_directories import own_directory
from tools.errors import PatternRejected, ToolError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.os_compat import O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, SIGKILL
from tools.ports import Interrupt

# The program and its run.

# The user's own rg settings must not change what a search means.
_ALWAYS = ("--no-config", "--no-ignore-messages", "--hidden", "--no-require-git", "--color=never")
GLOB_HINT = "Globs look like *.py, src/**/*.ts or *.{js,ts}."
_MAX_COMPLAINT_CHARS = 1000
_MAX_COMPLAINT_BYTES = 1 << 20
# A file or directory that could not be opened; what else stands on stderr is about the arguments.
_UNREADABLE = re.compile(r"^(?:rg: \./(?s:.*?)\(os error \d+\)|(?:find|grep): .*)\n?", re.MULTILINE)
_WHY = re.compile(r"^error: (.+)$|^PCRE2: .* at offset \d+: (.+)$", re.MULTILINE)
_GREPS = ("find", "grep", "sed", "tr", "head")


@dataclass(frozen=True, slots=True)
class Program:
    """What searches.

    Attributes:
        words: the command before its arguments.
        probe: arguments with which it tells nothing of an empty directory, and complains of nothing.
        files: programs that it starts itself.
    """

    words: tuple[str, ...]
    probe: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def rg_program() -> Program | None:
    """`rg` next to this interpreter, else on PATH."""
    # The one that came with us: an older one knows fewer types, and reads some expressions in another way.
    beside = Path(sys.executable).parent / "rg"
    found = str(beside) if beside.is_file() else PROGRAMS.find("rg")
    return Program((found,), ("--no-config", "--no-ignore", "--files", "--null", "--", "./")) if found else None


def grep_program() -> Program:
    """A shell, for a script of find and grep."""
    files = (PROGRAMS.find(name, _environment()["PATH"]) for name in _GREPS)
    return Program(("/bin/sh", "-c"), ("find . -type f -exec grep x {} +",), tuple(filter(None, files)))


def _environment() -> dict[str, str]:
    """With the system's own programs on PATH in any case."""
    variables = bare_environment(os.environ)
    return variables | {"PATH": f"{variables.get('PATH', '')}{os.pathsep}{os.defpath}"}


class OutOfTime(ToolError):
    """The deadline came before the search was through; what was found until then was handed out."""


class Ground(Protocol):
    """Where a search runs; `SearchGround` is that of this machine."""

    def popen(self, program: Program, arguments: Sequence[str], **popen: Any) -> subprocess.Popen[bytes]:
        """Start what searches, as the leader of a process group; raises OSError or ValueError."""
        ...


@dataclass(slots=True)
class Runner:
    """Runs searches in `folder`; none goes on after `deadline`, a `time.monotonic()`.

    Attributes:
        unreadable: files and directories that could not be opened, the most that one run has met.
        program: what searches.
        ground: `folder`, held open, and what may be read in it.
    """

    folder: Path
    ground: Ground
    deadline: float
    program: Program
    interrupt: Interrupt | None = None
    unreadable: int = 0

    def rg(self, *arguments: str) -> Generator[bytes]:
        """As `run`, with the options that every search by ripgrep has."""
        return self.run(*_ALWAYS, *_without_pipes(self.folder), *arguments)

    def run(self, *arguments: str) -> Generator[bytes]:
        """What the program prints, line by line. Closing the iterator early ends the process.

        Raises:
            OutOfTime: the deadline came. ToolInterrupted: the turn is over.
            ToolError: it could not be started, or rejected its pattern.
        """
        if time.monotonic() >= self.deadline:
            raise OutOfTime("There was no time left to search.")
        with tempfile.TemporaryFile() as complaints:
            process = self._start(arguments, complaints)
            late = threading.Event()
            timer = _kill_at(self.deadline, process, late)
            forget = self.interrupt.on_cancel(functools.partial(_kill, process)) if self.interrupt else _nothing
            try:
                if process.stdout is not None:
                    yield from process.stdout
                process.wait()
            finally:
                forget()
                timer.cancel()
                _end(process)
            if self.interrupt is not None and self.interrupt.is_set():
                raise ToolInterrupted
            complaints.seek(0)
            self._heed(complaints.read(_MAX_COMPLAINT_BYTES).decode(errors="replace"))
            if late.is_set():
                raise OutOfTime("The search was stopped when its time was over.")

    def _start(self, arguments: Sequence[str], complaints: IO[bytes]) -> subprocess.Popen[bytes]:
        try:
            return self.ground.popen(
                self.program,
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
                close_fds=True,
                process_group=0,
                **UNSEEN,
                env=_environment(),
            )
        except (OSError, ValueError) as problem:
            raise ToolError(f"The search in {self.folder} could not be started: {problem}.") from problem

    def _heed(self, complaints: str) -> None:
        rest, count = _UNREADABLE.subn("", complaints)
        self.unreadable = max(self.unreadable, count)
        _raise_if_rejected(rest.strip())


def _without_pipes(folder: Path) -> tuple[str, ...]:
    """The option to pass over ignore files, where one of them is a pipe that nobody writes to."""
    for path in (*(folder / name for name in IGNORE_FILES), *ignore_files(folder)):
        try:
            if not stat.S_ISREG(mode := path.stat().st_mode) and not stat.S_ISDIR(mode):
                return ("--no-ignore",)
        except OSError:
            continue
    return ()


def _kill_at(deadline: float, process: subprocess.Popen[bytes], late: threading.Event) -> threading.Timer:
    def give_up() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), give_up)
    timer.daemon = True
    timer.start()
    return timer


def _kill(process: subprocess.Popen[bytes]) -> None:
    # A shell's programs are in its group.
    if process.poll() is None:
        signal_group(process.pid, SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    _kill(process)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    process.wait()


def _raise_if_rejected(complaint: str) -> None:
    if not complaint:
        return
    hint = (
        "The pattern is a regular expression: set fixed=true to find it as it stands, "
        "or escape ( ) [ ] { } . * + ? ^ $ | \\."
    )
    if "unrecognized file type" in complaint:
        hint = "Known are py, js, ts, rust, go, java, c, cpp, md, json, yaml and more; or use file_glob, as *.py."
    elif "glob" in complaint:
        hint = GLOB_HINT
    elif "not supported" in complaint or "not available" in complaint:
        hint = "Look-around and back-references are not known here: search for less, and choose from what is found."
    told = f"The search was not understood: {complaint[:_MAX_COMPLAINT_CHARS]}\n{hint}"
    if (why := _no_regex(complaint)) is not None:
        raise PatternRejected(told, why)
    raise ToolError(told)


def _no_regex(complaint: str) -> str | None:
    """Why a pattern is no regular expression; None where it may be one that only this engine does not know."""
    if "regex parse error" not in complaint or "not available" in complaint:
        return None
    return next((found[1] or found[2] for found in _WHY.finditer(complaint) if "supported" not in found[0]), "")


def _nothing() -> None:
    """Forget nothing: there was no interrupt to listen to."""


# Where it runs: in a directory that is held open, and nothing outside can be read.
# A name that becomes a link after the look at it would lead the program elsewhere. So its start does not go by names,
# and where the kernel has Landlock, the program's reading ends at that directory (and at system files, for itself).

_NAME_ONLY = getattr(os, "O_PATH", os.O_RDONLY | O_NONBLOCK)
_SYSTEM = (
    "/usr",
    "/bin",
    "/lib",
    "/lib64",
    "/lib32",
    "/etc/ld.so.cache",
    "/dev/null",
    "/sys/fs/cgroup",
    "/nix/store",
)
_ELF = b"\x7fELF"
_READ_FILE, _READ_DIR, _TCP = 1 << 2, 1 << 3, (1 << 0) | (1 << 1)
_NETWORK_SINCE = 4
_PROBE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class SearchGround:
    """Where a search runs.

    Attributes:
        path: of the directory that it starts in.
        folder: descriptor of the directory that it starts in.
        target: descriptor of what it may read: that directory, or one file in it.
    """

    path: Path
    folder: int
    target: int

    def popen(self, program: Program, arguments: Sequence[str], **popen: Any) -> subprocess.Popen[bytes]:
        """Start it with these arguments in the held directory, as `subprocess.Popen` would.

        Raises:
            OSError, ValueError: it could not be started.
        """
        if not _can_confine(program):
            return subprocess.Popen([*program.words, *arguments], cwd=_start_of(self), **popen)
        return _confined(self, program, arguments, **popen)


@contextmanager
def held_for_search(path: Path, *, is_file: bool) -> Iterator[SearchGround]:
    """Hold what is searched open, so that no link that comes later can take its place.

    Args:
        path: absolute, with no symbolic link in it.

    Raises:
        OSError: as in `open_resolved`.
    """
    kind = 0 if is_file else O_DIRECTORY
    target = open_resolved(path, _NAME_ONLY | O_NOFOLLOW | kind)
    try:
        if not is_file:
            yield SearchGround(path, target, target)
            return
        folder = open_resolved(path.parent, _NAME_ONLY | O_DIRECTORY)
        try:
            yield SearchGround(path.parent, folder, target)
        finally:
            os.close(folder)
    finally:
        os.close(target)


def _start_of(ground: SearchGround) -> str:
    """On Linux a name that leads to the open directory: the new process has the descriptor when it goes there."""
    return f"/proc/self/fd/{ground.folder}" if sys.platform == "linux" else str(ground.path)


def _confined(
    ground: SearchGround, program: Program, arguments: Sequence[str], **popen: Any
) -> subprocess.Popen[bytes]:
    ruleset = _ruleset(ground, program)

    def confine() -> int:
        kernel.give_up_privileges()
        kernel.restrict_thread(ruleset)
        return -1

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen([*program.words, *arguments], cwd=_start_of(ground), **popen)

    try:
        return kernel.start_confined(confine, start)[0]
    finally:
        os.close(ruleset)


def _ruleset(ground: SearchGround, program: Program) -> int:
    version, handled = kernel.landlock_version(), _READ_FILE | _READ_DIR
    ruleset = kernel.create_ruleset(handled, _TCP if version >= _NETWORK_SINCE else 0, 0, version)
    try:
        rules = FileRules(ruleset, handled)
        # The names in the one directory on the way to a file are not read, so they need no rule.
        rules.allow_opened(ground.target, handled)
        own = (os.path.realpath(place) for place in (*_SYSTEM, program.words[0], *program.files))
        # A link in a workspace must not make anything readable: none is followed.
        for place in (*map(Path, own), *ignore_files(ground.path)):
            rules.allow(place, handled)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


@functools.lru_cache(maxsize=8)
def _can_confine(program: Program) -> bool:
    """Whether the program works so, found out by use. A script may read whatever it likes, and is only held."""
    if sys.platform != "linux":
        return False
    try:
        with open(program.words[0], "rb") as start:  # noqa: PTH123 - plain and quick
            if start.read(len(_ELF)) != _ELF or not kernel.landlock_version():
                return False
        with (
            own_directory("hermes-search-") as empty,
            held_for_search(empty, is_file=False) as ground,
            _confined(
                ground,
                program,
                program.probe,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=_environment(),
            ) as tried,
        ):
            complaint = tried.communicate(timeout=_PROBE_SECONDS)[1]
    except (OSError, subprocess.SubprocessError):
        return False
    # 1: it went well, and there was nothing.
    return tried.returncode in {0, 1} and not complaint
