"""Finds the program that searches and runs it: no shell, no stdin, killed at the time-out or the cancel.

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
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from dataclasses import field
from pathlib import Path
from typing import IO, Any, Protocol

from tools.environments.child_env import bare_environment
from tools.environments.ignore_files import IGNORE_FILES, ignore_files
from tools.environments.own_programs import PROGRAMS
from tools.environments.process_groups import UNSEEN, signal_group
from tools.errors import PatternRejected, ToolError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.os_compat import SIGKILL
from tools.ports import Interrupt

# The user's own rg settings must not change what a search means.
_ALWAYS = ("--no-config", "--no-ignore-messages", "--hidden", "--no-require-git", "--color=never")
GLOB_HINT = "Globs look like *.py, src/**/*.ts or *.{js,ts}."
_MAX_COMPLAINT_CHARS = 1000
_MAX_COMPLAINT_BYTES = 1 << 20
# A file or directory that could not be opened; what else stands on stderr is about the arguments.
_UNREADABLE = re.compile(r"^rg: \./.*?\(os error \d+\)\n?", re.MULTILINE | re.DOTALL)
_WHY = re.compile(r"^error: (.+)$|^PCRE2: .* at offset \d+: (.+)$", re.MULTILINE)
_OURS = str(Path(__file__).parents[2])
_CODE = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from tools.environments.python_search.program import main
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
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", _CODE, _OURS]


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
