"""Starts shells, each in a process group of its own, and reads what they report of themselves at their end."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from tools.environments.guardian import SessionGroups, signal_group
from tools.environments.program_finder import PROGRAMS
from tools.environments.sandbox.port import Confinement, Sandbox
from tools.errors import CommandError
from tools.light_dataclass import dataclass
from tools.os_compat import NOT_ON_WINDOWS
from tools.shell.exit_codes import with_exit
from tools.shell.session import ShellState

if sys.platform != "win32":
    import fcntl
    import termios

# What `export -p` prints: names and values as a shell quotes them for itself.

# Compiled when they are first needed: a start should not pay for them.
_LINE = rb"""
    (?:export|declare\ -\w+|typeset\ -\w+)\ (?:-\w+\ )* (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    (?: ="(?P<plain>[^"\\]*)"(?=\n|\Z)
      | (?P<value>=(?:"(?:[^"\\]|\\.)*" | \$'(?:[^'\\]|\\.)*' | '[^']*' | \\. | [^\s"'\\$])*))?
    (?:\n|\Z)
"""
_PIECE = rb"""
    "(?P<double>(?:[^"\\]|\\.)*)" | \$'(?P<ansi>(?:[^'\\]|\\.)*)' | '(?P<single>[^']*)'
  | \\(?P<escaped>.) | (?P<bare>.)
"""
_FLAGS = re.VERBOSE | re.DOTALL
_IN_DOUBLE = rb"\\([\"$`\\\n])"
_IN_ANSI = rb"""
  \\(?:(?P<octal>[0-7]{1,3}) | x(?P<hex>[0-9A-Fa-f]{1,2}) | [uU](?P<code>[0-9A-Fa-f]{1,8}) | (?P<letter>.))
"""
_LETTERS = {b"a": b"\a", b"b": b"\b", b"e": b"\x1b", b"E": b"\x1b", b"f": b"\f", b"n": b"\n", b"r": b"\r"}
_LETTERS |= {b"t": b"\t", b"v": b"\v"}


def read_exports(listing: bytes) -> dict[str, str] | None:
    """The exported variables that have a value; None when the text is not such a list.

    Bytes that are no UTF-8 come as `os.fsdecode` gives them, like those of `os.environ`.
    """
    found: dict[str, str] = {}
    lines = re.compile(_LINE, _FLAGS)
    at = 0
    while at < len(listing):
        line = lines.match(listing, at)
        if line is None:
            return None
        at = line.end()
        if line["plain"] is not None:
            found[os.fsdecode(line["name"])] = os.fsdecode(line["plain"])
        elif line["value"] is not None:
            found[os.fsdecode(line["name"])] = os.fsdecode(_unquoted(line["value"][1:]))
    return found


def _unquoted(text: bytes) -> bytes:
    return b"".join(_piece(piece) for piece in re.finditer(_PIECE, text, _FLAGS))


def _piece(piece: re.Match[bytes]) -> bytes:
    if piece["double"] is not None:
        return re.sub(_IN_DOUBLE, _kept, piece["double"])
    if piece["ansi"] is not None:
        return re.sub(_IN_ANSI, _ansi, piece["ansi"], flags=_FLAGS)
    if piece["single"] is not None:
        return piece["single"]
    return piece["escaped"] if piece["escaped"] is not None else piece["bare"]


def _kept(escape: re.Match[bytes]) -> bytes:
    return b"" if escape[1] == b"\n" else escape[1]


def _ansi(escape: re.Match[bytes]) -> bytes:
    if escape["octal"] is not None:
        return bytes((int(escape["octal"], 8) & 0xFF,))
    if escape["hex"] is not None:
        return bytes((int(escape["hex"], 16),))
    if escape["code"] is not None:
        return chr(int(escape["code"], 16)).encode("utf-8", "surrogateescape")
    return _LETTERS.get(escape["letter"], escape["letter"])


# What a shell reports of itself at its end, and what of that is kept for the session's next command.

_PIPES, _START, _MIDDLE, _END = b"\0pipes\0", b"\0shell\0", b"\0", b"\0end\0"
# Shell text that prints the report, to be used between single quotes. `command` passes over functions of these names.
# The statuses come first: any other command but `case` would take their place. Other shells than bash have none.
REPORTING = (
    r'case $BASH_VERSION in ?*) command printf "\000pipes\000%s" "${PIPESTATUS[*]}";; esac; '
    r'command printf "\000shell\000"; command pwd; command printf "\000"; command export -p; '
    r'command printf "\000end\000"'
)
MAX_REPORT_BYTES = 1_000_000

_MAX_KEPT_CHARS = 200_000
# Linux starts no program, not even the next shell, with a longer `NAME=value` (MAX_ARG_STRLEN, its end included).
_MAX_VARIABLE_BYTES = 131_071
# Each shell makes these for itself.
_OF_THE_SHELL = frozenset(
    {"_", "PWD", "SHLVL", "UID", "EUID", "PPID", "RANDOM", "SECONDS", "LINENO", "BASHPID", "BASHOPTS"}
)
# What harmless programs would run, load or be led astray by: a later `ls` or `git log` must be what it looks like.
_RUNS_CODE = r"""
    BASH_ENV | ENV | SHELLOPTS | BASH_FUNC_.* | PS4 | PROMPT_COMMAND | IFS | CDPATH | GLOBIGNORE | BASH_XTRACEFD
  | LD_.* | DYLD_.* | GCONV_PATH | LOCPATH | MALLOC_.*
  | GIT_(?!AUTHOR_|COMMITTER_).* | HOME | XDG_CONFIG_.*
  | (?:.*_)?(?:PAGER|EDITOR) | VISUAL | BROWSER | LESSOPEN | LESSCLOSE | SSH_ASKPASS | SUDO_ASKPASS
  | PYTHONSTARTUP | PYTHONINSPECT | PERL5OPT | PERL5DB | RUBYOPT | RIPGREP_CONFIG_PATH | TAR_OPTIONS | GREP_OPTIONS
  | MAKEFLAGS | GNUMAKEFLAGS | MFLAGS
"""


@dataclass(frozen=True, slots=True)
class Left:
    """`state` is for the next command; `not_kept` names what was exported and is not in it."""

    state: ShellState
    not_kept: tuple[str, ...] = ()


def read_pipes(report: bytes) -> tuple[int, ...]:
    """The statuses of the last pipeline's parts; empty where the shell does not tell them, or it had one part."""
    head, began, _ = report.partition(_START)
    _, told, listing = head.partition(_PIPES)
    statuses = listing.split() if began and told else []
    return tuple(map(int, statuses)) if len(statuses) > 1 and all(map(bytes.isdigit, statuses)) else ()


def read_report(report: bytes, fresh: Mapping[str, str], given: Mapping[str, str]) -> Left | None:
    """What the shell left; None where the report is missing or not whole.

    Args:
        fresh: the variables of a fresh shell.
        given: those that this one was started with.
    """
    _, began, rest = report.partition(_START)
    body, ended, _ = rest.partition(_END)
    directory, middle, listing = body.partition(_MIDDLE)
    exported = read_exports(listing) if began and ended and middle else None
    cwd = os.fsdecode(directory.removesuffix(b"\n"))
    if exported is None or not cwd.startswith("/"):
        return None
    changed = _changes(fresh, exported)
    refused = {
        name
        for name, value in changed.items()
        if re.fullmatch(_RUNS_CODE, name, re.VERBOSE) or len(os.fsencode(f"{name}={value}")) > _MAX_VARIABLE_BYTES
    }
    kept = {name: value for name, value in changed.items() if name not in refused}
    told = tuple(sorted(name for name in refused if exported.get(name) != given.get(name)))
    size = sum(len(name) + len(value or "") for name, value in kept.items())
    if size > _MAX_KEPT_CHARS:
        return Left(ShellState(Path(cwd), _changes(fresh, given)), (*told, "all (together they are too long)"))
    return Left(ShellState(Path(cwd), kept), told)


def _changes(fresh: Mapping[str, str], exported: Mapping[str, str]) -> dict[str, str | None]:
    added = {name: value for name, value in exported.items() if fresh.get(name) != value}
    gone = {name: None for name in fresh if name not in exported and _is_a_name(name)}
    return {name: value for name, value in (added | gone).items() if name not in _OF_THE_SHELL}


def _is_a_name(name: str) -> bool:
    """Other variables pass through a shell unseen."""
    return name.isascii() and name.isidentifier()


def exit_of(returncode: int | None) -> tuple[int | None, str | None]:
    """The exit code, or the name of the signal (SIGKILL); neither while it is not known."""
    if returncode is None or returncode >= 0:
        return returncode, None
    try:
        return None, signal.Signals(-returncode).name
    except ValueError:
        return None, f"signal {-returncode}"


# The start: a shell runs its command only once it is guarded.

Input = Literal["nothing", "pipe", "terminal"]
"""What a command reads from: the null device, a pipe of ours, or a pseudo-terminal of its own."""

# The shell waits here until its group is registered with the guardian: if we die before, its input ends and the
# command never starts. $1 is the command and $2 what it reads from.
_WAIT = "IFS= read -r go || exit 125; unset -v go; "
# The shell's first output is the report's pipe. It moves to a number that is closed while the command runs: no
# program inherits it, and a shell that a signal ends in the middle of the command has nowhere to report to.
_REPORT = "exec {number}>&1 >&2; trap '{{ {reporting}; }} 2>/dev/null >&{number}' EXIT; "
_RUN: Mapping[Input, str] = {
    "nothing": 'eval "shift 2; $1" <"$2"',
    "terminal": 'eval "shift 2; $1" <>"$2"',
    "pipe": 'eval "shift 2; $1"',
}
# A plain /bin/sh knows no number above 9.
_NUMBER, _SMALL_NUMBER = 189, 9
_ROWS, _COLUMNS = 40, 120


class FarCommand(Protocol):
    """A command that runs elsewhere, behind a program on this machine."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended, though its program may not have."""
        ...

    @property
    def report(self) -> bytes:
        """What its shell has reported."""
        ...

    @property
    def pid(self) -> int:
        """Its shell's number there; 0 where it is not known yet."""
        ...

    def startup(self) -> float:
        """Seconds that went by before it began; they are none of its own."""
        ...

    def feed(self, data: bytes) -> bytes:
        """The command's own output, of what its program printed."""
        ...

    def last(self) -> bytes:
        """What is to be shown behind the output, now that the program has ended or nobody waits for it."""
        ...

    def signal(self, number: int) -> None:
        """Send a signal to all of its processes."""
        ...

    def exit(self, returncode: int | None) -> tuple[int | None, str | None]:
        """How it has ended, where its program has ended with `returncode`."""
        ...


@dataclass(slots=True)
class StartedShell:
    """A shell that runs a command. Whoever has it closes its descriptors.

    Attributes:
        output: to read what it prints; at a terminal also to type.
        report: to read its report; -1 where none was asked for.
        typing: to write its input; -1 where it has none, the same as `output` at a terminal.
        far: what is different of a command that runs on another machine; None for one that runs here.
    """

    process: subprocess.Popen[bytes]
    output: int
    report: int = -1
    typing: int = -1
    far: FarCommand | None = None

    @property
    def pid(self) -> int:
        """The shell's number on the machine that it runs on; 0 where it is not known yet."""
        return self.process.pid if self.far is None else self.far.pid

    def signal(self, number: int) -> None:
        """Send a signal to all processes of the command."""
        if self.far is None:
            signal_group(self.process.pid, number)
        else:
            self.far.signal(number)

    def exit(self) -> tuple[int | None, str | None]:
        """How it has ended: its exit code, or the name of the signal that ended it."""
        return exit_of(self.process.returncode) if self.far is None else self.far.exit(self.process.returncode)

    def close(self) -> None:
        """Close the descriptors."""
        for descriptor in {self.output, self.report, self.typing} - {-1}:
            os.close(descriptor)
        self.output = self.report = self.typing = -1


class ShellStarter:
    """Starts the commands of one session.

    Args:
        groups: where each of them is registered.
        shell: the program that reads them; bash, or where there is none /bin/sh, when None.
        sandbox: starts those that are confined; without one they are not started at all.
    """

    def __init__(self, groups: SessionGroups, shell: str | None = None, sandbox: Sandbox | None = None) -> None:
        self._groups = groups
        self._sandbox = sandbox
        self._shell = shell or PROGRAMS.find("bash") or "/bin/sh"
        self._is_bash = self._shell.endswith("bash")
        number = _NUMBER if self._is_bash else _SMALL_NUMBER
        self._report = _REPORT.format(number=number, reporting=REPORTING)
        self._without_report = f"{number}>&-"

    def start(
        self,
        command: str,
        cwd: Path,
        variables: Mapping[str, str],
        *,
        reads: Input,
        reports: bool = False,
        confinement: Confinement | None = None,
        passing: tuple[int, ...] = (),
    ) -> StartedShell:
        """Start `command` in `cwd` with these variables and no others, confined where `confinement` is not None.

        Args:
            passing: descriptors that it has as well, under the same numbers; not together with `reports`, whose own
                number may be one of them. With one it is started apart, as the sandbox has it.

        Raises:
            CommandError: it could not be started.
        """
        if sys.platform == "win32":
            raise CommandError(NOT_ON_WINDOWS)
        self._groups.prepare()
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            try:
                started = self._start(command, cwd, variables, (reads, reports, confinement, passing), (ours, theirs))
            except (OSError, ValueError) as problem:
                raise CommandError(f"Could not run the command: {_cause(problem, cwd)}") from problem
            ours.pop_all()
        return started

    def _start(
        self,
        command: str,
        cwd: Path,
        variables: Mapping[str, str],
        how: tuple[Input, bool, Confinement | None, tuple[int, ...]],
        ends: tuple[contextlib.ExitStack, contextlib.ExitStack],
    ) -> StartedShell:
        (reads, reports, confinement, passing), (ours, theirs) = how, ends
        wait, go = _pipe(theirs, ours)
        if reads == "terminal":
            output, prints = pseudo_terminal(ours, theirs)
            source = os.ttyname(prints)
        else:
            prints, output = _pipe(ours, theirs)[::-1]
            source = os.devnull
        report, reported = _pipe(ours, theirs) if reports else (-1, prints)
        if reports and self._is_bash:
            command = with_exit(command)
        script = f"{_WAIT}{self._report}{_RUN[reads]} {self._without_report}" if reports else f"{_WAIT}{_RUN[reads]}"
        process = self._popen(
            confinement,
            [self._shell, "-c", script, Path(self._shell).name, command, source],
            cwd=cwd,
            # With PWD the shell keeps the directory's name as the user knows it, symbolic links and all.
            env={**variables, "PWD": str(cwd)},
            stdin=wait,
            stdout=reported,
            stderr=prints,
            close_fds=True,
            pass_fds=passing,
            apart=bool(passing),
            start_new_session=True,
        )
        self._groups.add(process)
        with contextlib.suppress(BrokenPipeError):  # killed while it waited
            os.write(go, b"\n")
        typing = {"nothing": -1, "pipe": go, "terminal": output}[reads]
        if typing != go:
            os.close(go)
        return StartedShell(process, output, report, typing)

    def _popen(
        self, confinement: Confinement | None, arguments: list[str], *, apart: bool, **popen: Any
    ) -> subprocess.Popen[bytes]:
        if confinement is None:
            return subprocess.Popen(arguments, **popen)
        if self._sandbox is None:
            # A command that nobody was asked about must not run free because something was not set up.
            raise CommandError("Could not run the command: it is to be confined, and no sandbox is active.")
        given = {"apart": True, **popen} if apart else popen
        return self._sandbox.popen(arguments, confinement, **given)


def _pipe(reader_of: contextlib.ExitStack, writer_of: contextlib.ExitStack) -> tuple[int, int]:
    reader, writer = os.pipe()
    reader_of.callback(os.close, reader)
    writer_of.callback(os.close, writer)
    return reader, writer


def pseudo_terminal(ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> tuple[int, int]:
    """A pseudo-terminal: our end, and the program's. Each is closed with its stack."""
    master, slave = os.openpty()
    ours.callback(os.close, master)
    theirs.callback(os.close, slave)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    return master, slave


def _cause(problem: Exception, cwd: Path) -> str:
    if not isinstance(problem, OSError):
        return f"{problem}."  # a character that no command can hold
    if problem.errno == errno.E2BIG:
        return "it is too long. Write it to a file and run that."
    if isinstance(problem, FileNotFoundError) and problem.filename == cwd:
        return f"there is no directory {cwd}."
    return f"{problem.strerror}: {problem.filename}." if problem.filename else f"{problem.strerror}."
