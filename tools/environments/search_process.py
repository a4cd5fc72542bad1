"""Runs the program that searches, held to what was asked about: no shell, no stdin, killed at the time-out or cancel.

Where there is no `rg`, a program of ours takes its place (`python_search`): it knows the options that are used here,
prints the same, and is killed the same way. (In this process an endless regular expression would hold all threads.)
"""

from __future__ import annotations

import functools
import os
import re
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import IO, Any, Protocol

from tools.environments.atomic_writes import open_resolved
from tools.environments.child_env import bare_environment
from tools.environments.guardian import UNSEEN, signal_group
from tools.environments.program_finder import PROGRAMS
from tools.environments.temp_directories import own_directory
from tools.errors import PatternRejected, ToolError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.os_compat import O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, SIGKILL
from tools.ports import Interrupt

# The files outside of a directory that say what a search in it passes over.

IGNORE_FILES = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")
_EXCLUDES = re.compile(rb"""(?im)^\s*excludesfile\s*=\s*"?\s*(\S+?)\s*"?\s*$""")
_MOST_BYTES = 1 << 20


def ignore_files(folder: Path) -> Iterator[Path]:
    """The paths where they may be, in its parents and in the user's home, the latter resolved; most are not there."""
    for parent in folder.parents:
        yield from (parent / name for name in IGNORE_FILES)
    for config, names in _of_home():
        yield _resolved(config)
        yield from map(_resolved, names)


def ignored_everywhere() -> list[Path]:
    """The ignore files of the user's own that are there: they hold in every repository."""
    return [path for _, names in _of_home() for path in names if path.is_file()]


def _of_home() -> Iterator[tuple[Path, list[Path]]]:
    """Git's settings in the user's home, each with the ignore files that it names; first the usual one."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - a home that is not known is no error
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    yield settings / "ignore", [settings / "ignore"]
    for config in (home / ".gitconfig", settings / "config"):
        try:
            with config.open("rb") as stream:
                written = _EXCLUDES.findall(stream.read(_MOST_BYTES))
        except OSError:
            written = []
        yield config, [Path(os.path.expanduser(os.fsdecode(name))) for name in written]  # noqa: PTH111 - as above


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))


# The program and its run.

# The user's own rg settings must not change what a search means.
_ALWAYS = ("--no-config", "--no-ignore-messages", "--hidden", "--no-require-git", "--color=never")
GLOB_HINT = "Globs look like *.py, src/**/*.ts or *.{js,ts}."
_MAX_COMPLAINT_CHARS = 1000
_MAX_COMPLAINT_BYTES = 1 << 20
# A file or directory that could not be opened; what else stands on stderr is about the arguments.
_UNREADABLE = re.compile(r"^rg: \./.*?\(os error \d+\)\n?", re.MULTILINE | re.DOTALL)
_WHY = re.compile(r"^error: (.+)$|^PCRE2: .* at offset \d+: (.+)$", re.MULTILINE)
_OURS = Path(__file__).parents[2]
_CODE = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from tools.environments.python_search import main
main()
"""


class OutOfTime(ToolError):
    """The deadline came before the search was through; what was found until then was handed out."""


class Ground(Protocol):
    """Where a search runs; `SearchGround` is that of this machine."""

    def popen(self, command: Sequence[str], arguments: Sequence[str], **popen: Any) -> subprocess.Popen[bytes]:
        """Start what searches, as the leader of a process group; raises OSError or ValueError."""
        ...


@dataclass(slots=True)
class Runner:
    """Runs searches in `folder`; none goes on after `deadline`, a `time.monotonic()`.

    Attributes:
        unreadable: files and directories that could not be opened, the most that one run has met.
        command: what searches; empty for what `search_program` finds.
        ground: `folder`, held open, and what may be read in it.
    """

    folder: Path
    ground: Ground
    deadline: float
    interrupt: Interrupt | None = None
    unreadable: int = 0
    command: list[str] = field(default_factory=list)

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
                self.command or search_program(),
                (*_ALWAYS, *_without_pipes(self.folder), *arguments),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
                close_fds=True,
                process_group=0,
                **UNSEEN,
                env=bare_environment(os.environ),
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


def search_program() -> list[str]:
    """The command that searches: `rg` next to this interpreter, else on PATH, else the substitute."""
    # The one that came with us: an older one knows fewer types, and reads some expressions in another way.
    beside = Path(sys.executable).parent / "rg"
    found = str(beside) if beside.is_file() else PROGRAMS.find("rg")
    return [found] if found else substitute()


def substitute() -> list[str]:
    """The command for where there is no `rg`."""
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", _CODE, str(_OURS)]


def _kill_at(deadline: float, process: subprocess.Popen[bytes], late: threading.Event) -> threading.Timer:
    def give_up() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), give_up)
    timer.daemon = True
    timer.start()
    return timer


def _kill(process: subprocess.Popen[bytes]) -> None:
    # The substitute shares its work with processes of its own, in its group.
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
    if "regex parse error" not in complaint or "without ripgrep" in complaint or "not available" in complaint:
        return None
    return next((found[1] or found[2] for found in _WHY.finditer(complaint) if "supported" not in found[0]), "")


def _nothing() -> None:
    """Forget nothing: there was no interrupt to listen to."""


# Where it runs: in a directory that is held open, and nothing outside can be read.
# A name that becomes a link after the look at it would lead the program elsewhere. So its start does not go by names,
# and where the kernel has Landlock, the program's reading ends at that directory (and at system files, for itself).

_NAME_ONLY = getattr(os, "O_PATH", os.O_RDONLY | O_NONBLOCK)
_SYSTEM = ("/usr", "/lib", "/lib64", "/lib32", "/etc/ld.so.cache", "/dev/null", "/sys/fs/cgroup", "/nix/store")
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

    def popen(self, command: Sequence[str], arguments: Sequence[str], **popen: Any) -> subprocess.Popen[bytes]:
        """As `subprocess.Popen([*command, *arguments], **popen)`, in the held directory.

        Args:
            command: what searches, without what it searches for.

        Raises:
            OSError, ValueError: it could not be started.
        """
        if not _can_confine(tuple(command)):
            return subprocess.Popen([*command, *arguments], cwd=_start_of(self), **popen)
        return _confined(self, command, arguments, **popen)


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
    ground: SearchGround, command: Sequence[str], arguments: Sequence[str], **popen: Any
) -> subprocess.Popen[bytes]:
    from tools.environments.sandbox import kernel  # noqa: PLC0415 - with the first search
    from tools.environments.sandbox.kernel import start_confined  # noqa: PLC0415

    ruleset = _ruleset(ground, command)

    def confine() -> int:
        kernel.give_up_privileges()
        kernel.restrict_thread(ruleset)
        return -1

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen([*command, *arguments], cwd=_start_of(ground), **popen)

    try:
        return start_confined(confine, start)[0]
    finally:
        os.close(ruleset)


def _ruleset(ground: SearchGround, command: Sequence[str]) -> int:
    from tools.environments.sandbox import kernel  # noqa: PLC0415 - as above

    version = kernel.landlock_version()
    ruleset = kernel.create_ruleset(_READ_FILE | _READ_DIR, _TCP if version >= _NETWORK_SINCE else 0, 0, version)
    try:
        # The names in the one directory on the way to a file are not read, so they need no rule.
        kernel.allow_beneath(ruleset, _rights(ground.target), ground.target)
        for place in (*_own_places(tuple(command)), *ignore_files(ground.path)):
            _allow(ruleset, place)
        if len(command) > 1:  # Python lists where it looks for modules; what stands in those files stays closed
            _allow(ruleset, _OURS, _READ_DIR)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def _allow(ruleset: int, place: Path, rights: int | None = None) -> None:
    """Allow what is at `place`, if something is; a link in a workspace must not make anything readable."""
    from tools.environments.sandbox import kernel  # noqa: PLC0415 - as above

    try:
        handle = open_resolved(place, _NAME_ONLY)
    except OSError:
        return  # not every system has each of them
    try:
        kernel.allow_beneath(ruleset, rights or _rights(handle), handle)
    finally:
        os.close(handle)


def _rights(handle: int) -> int:
    return _READ_FILE | _READ_DIR if stat.S_ISDIR(os.stat(handle).st_mode) else _READ_FILE


@functools.lru_cache(maxsize=8)
def _own_places(command: tuple[str, ...]) -> tuple[Path, ...]:
    """What the program needs for itself."""
    places = [*_SYSTEM, command[0]]
    if len(command) > 1:  # the substitute is Python, with code of ours
        places += [sysconfig.get_path("stdlib"), os.path.join(sys.base_prefix, "lib"), str(_OURS / "tools")]  # noqa: PTH118
    return tuple(dict.fromkeys(Path(os.path.realpath(place)) for place in places))


@functools.lru_cache(maxsize=8)
def _can_confine(command: tuple[str, ...]) -> bool:
    """Whether the program works so, found out by use. A script may read whatever it likes, and is only held."""
    if sys.platform != "linux":
        return False
    from tools.environments.sandbox import kernel  # noqa: PLC0415 - as above

    program = os.path.realpath(command[0])
    try:
        with open(program, "rb") as start:  # noqa: PTH123 - plain and quick
            if start.read(len(_ELF)) != _ELF or not kernel.landlock_version():
                return False
        with (
            own_directory("hermes-search-") as empty,
            held_for_search(empty, is_file=False) as ground,
            _confined(
                ground,
                command,
                ("--no-config", "--no-ignore", "--files", "--null", "--", "./"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            ) as tried,
        ):
            complaint = tried.communicate(timeout=_PROBE_SECONDS)[1]
    except (OSError, subprocess.SubprocessError):
        return False
    # 1: it went well, and there was nothing.
    return tried.returncode in {0, 1} and not complaint
