"""The scripts around commands on another machine, and the names by which what is ours is found there."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import socket
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from tools.environments.shell_start import REPORTING
from tools.light_dataclass import dataclass
from tools.shell.exit_codes import with_exit

# The script around a command, and how its output tells the command's own from what is about it.
# The script reads one line: shell text that sets up and runs the command. So nothing of it, no variable and no word,
# is seen among the other machine's processes before it runs, and no limit on the length of arguments holds. The
# output comes first; behind a token that no command knows beforehand stand what the shell reports of itself and its
# status.

_TOKEN_BYTES = 8
_MOST_GREETING, _MOST_REPORT = 256 * 1024, 16 * 1024 * 1024
_BEGUN = b"\0%s:begun "
_REPORT, _EXIT, _NO_PLACE = b"\0%s:report\0", b"\0%s:exit ", b"\0%s:nowhere\0"
_UNKEPT = b"\0%s:unkept\0"

READING = 'IFS= read -r line || exit 125; eval "$(printf %b "$line")"'
"""A script for `sh -c` that runs the line that it reads first; the rest of its input is the command's."""

_GROUP = """[ -d {folder} ] || {{ printf '\\000{token}:unkept\\000'; exit 125; }}
printf '\\000{token}:begun %d\\000' $$
trap : TERM HUP INT
kill -0 "-$$" 2>/dev/null && echo $$ >{folder}/{token}.group
[ -f {folder}/{token}.stop ] && exit 125
"""
_RUN = """cd -- {cwd} 2>/dev/null || {{ printf '\\000{token}:nowhere\\000'; exit 125; }}
unset OLDPWD
s=$(command -v bash) || s=/bin/sh
# Otherwise bash believes that sshd has just started it, and reads its owner's .bashrc once more.
SHLVL=${{SHLVL:-1}}; export SHLVL
{setting}
"$s" -c {inner} "${{s##*/}}" {command} {source}
printf '\\000{token}:exit %d\\000' $?
"""
# As in `shell_start`: the report's number is closed while the command runs. A plain sh knows none above 9.
_INNER = (
    "exec 9>&1; trap '{{ command printf \"\\000{token}:report\\000\"; {reporting}; }} 2>/dev/null >&9' EXIT; "
    'eval "shift 2; $1" {reads} 2>&1 9>&-'
)
_NOTHING = '<"$2"'


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A command, ready to be sent, as the text of a script."""

    token: str
    script: str

    @property
    def line(self) -> bytes:
        """The script as the first line of an input, for `READING`."""
        return line_of(self.script)


def new_token() -> str:
    """A name for a command, that no command before it could know."""
    return secrets.token_hex(_TOKEN_BYTES)


def wrap(
    command: str,
    cwd: Path,
    variables: Mapping[str, str],
    *,
    folder: str,
    has_input: bool = False,
    unset: Sequence[str] = (),
) -> Wrapped:
    """The command as it is sent.

    Args:
        variables: set for it, over what the other machine gives every shell.
        unset: taken away before.
        folder: the keeper's directory there.
        has_input: it reads what comes behind the line; otherwise nothing.

    Raises:
        ValueError: the command or a variable holds a null character.
    """
    token = new_token()
    names = [name for name in unset if _is_name(name)]
    lines = [f"unset {name}" for name in names]
    lines += [f"export {name}={quoted(value)}" for name, value in variables.items() if _is_name(name)]
    inner = _INNER.format(token=token, reporting=REPORTING, reads="" if has_input else _NOTHING)
    script = _GROUP.format(token=token, folder=quoted(folder)) + _RUN.format(
        token=token,
        cwd=quoted(str(cwd)),
        setting="\n".join(lines),
        inner=quoted(inner),
        command=quoted(with_exit(command)),
        source="/dev/null",
    )
    if "\0" in script:
        raise ValueError("a command cannot hold a null character")
    return Wrapped(token, script)


def line_of(script: str) -> bytes:
    """A script as the one line that `READING` reads."""
    return os.fsencode(script.replace("\\", "\\\\").replace("\n", "\\n")) + b"\n"


def quoted(text: str) -> str:
    """The text as one word of a POSIX shell."""
    return "'" + text.replace("'", "'\\''") + "'"


@dataclass(slots=True)
class Framing:
    """Takes the output of a wrapped command apart as it comes.

    What comes before its beginning is none of its own: some people's shells greet whoever signs in.

    Attributes:
        pid: of the shell that runs it there; 0 until it has begun.
        report: what the shell has reported of itself.
        status: the command's exit status, as a shell counts it; None until it has ended.
        no_place: its directory is not there.
    """

    token: str
    pid: int = 0
    report: bytes = b""
    status: int | None = None
    no_place: bool = False
    _held: bytes = b""
    _behind: bytearray = field(default_factory=bytearray)
    _is_behind: bool = False

    @property
    def begun(self) -> bool:
        """Whether it has been started."""
        return bool(self.pid)

    @property
    def is_unkept(self) -> bool:
        """Whether it was not started, for it would have no keeper."""
        return _UNKEPT % self.token.encode() in self._held

    @property
    def is_over(self) -> bool:
        """Whether the command has ended by itself; what it left in the background may go on."""
        return self.status is not None or self.no_place

    def feed(self, data: bytes) -> bytes:
        """The command's own part of what was read; nothing of what may still become the token is handed out."""
        if self._is_behind:
            self._take(data)
            return b""
        text = self._held + data
        if not self.begun:
            number, ended, text = text.partition(_BEGUN % self.token.encode())[2].partition(b"\0")
            if not ended or not number.isdigit():
                self._held = (self._held + data)[-_MOST_GREETING:]
                return b""
            self.pid, self._held = int(number), b""
        start = b"\0" + self.token.encode() + b":"
        at = text.find(start)
        if at >= 0:
            self._is_behind, self._held = True, b""
            self._take(text[at:])
            return text[:at]
        keep = overlap(text, start)
        self._held = text[len(text) - keep :] if keep else b""
        return text[: len(text) - keep]

    def rest(self) -> bytes:
        """What was held back, now that nothing more comes."""
        held, self._held = self._held, b""
        return held if self.begun else b""

    def _take(self, data: bytes) -> None:
        self._behind += data
        if len(self._behind) > _MOST_REPORT:  # nothing that a shell of ours tells: only its end is looked for
            del self._behind[:-_MOST_GREETING]
        token = self.token.encode()
        _, ended, tail = bytes(self._behind).rpartition(_EXIT % token)
        if ended and b"\0" in tail:
            number = tail.partition(b"\0")[0]
            self.status = int(number) if number.isdigit() else 0
            _, told, report = bytes(self._behind).partition(_REPORT % token)
            self.report = report.replace(b"\r\n", b"\n") if told else b""
        elif _NO_PLACE % token in self._behind:
            self.no_place = True


def overlap(text: bytes, start: bytes) -> int:
    """How many bytes at the end of `text` may be the beginning of `start`."""
    for length in range(min(len(text), len(start) - 1), 0, -1):
        if text.endswith(start[:length]):
            return length
    return 0


def _is_name(name: str) -> bool:
    return name.isascii() and name.isidentifier()


# A script that leads a process group of its own, where whoever starts it does not see to that.

_LEADING = """s={script}
kill -0 "-$$" 2>/dev/null || {{ command -v setsid >/dev/null && exec setsid {terminal}sh -c "$s"; }}
eval "$s"
"""


def leading(script: str, *, terminal: bool = False) -> str:
    """The script, as the leader of a group; with `terminal` its input becomes the terminal that controls it.

    Without `setsid` there it runs as it was started: then a signal may not reach all that it has started, and what is
    left is ended with the connection.
    """
    return _LEADING.format(script=quoted(script), terminal="-c " if terminal else "")


# Names that tell whose a thing is: what a process that was killed left behind is found by them later.

PREFIX = "hermes-acp-"
MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
"""The files that may tell a machine from all others."""
_OWNED = re.compile(rf"{PREFIX}(?P<host>[0-9a-f]{{8}})-(?P<pid>\d+)-(?P<began>\d+)-[0-9a-f]+")


def owned_name() -> str:
    """A new name for something that goes with this process."""
    return f"{own_prefix()}{os.getpid()}-{began(os.getpid())}-{secrets.token_hex(4)}"


def own_prefix() -> str:
    """How the names of what processes of this user's on this machine own begin."""
    return f"{PREFIX}{_host()}-"


def is_left(name: str) -> bool:
    """Whether `name` is of a process of this user's on this machine that is gone."""
    found = _OWNED.fullmatch(name)
    return found is not None and found["host"] == _host() and _is_gone(found["pid"], found["began"])


def _is_gone(pid: str, since: str) -> bool:
    """Whether the process that began then, as names tell it, is no more; another may have its number now."""
    return pid.isdigit() and since.isdigit() and began(int(pid)) != int(since)


def began(pid: int) -> int:
    """What tells a process from a later one of its number; -1 where there is none of it."""
    try:
        facts = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0 if not Path("/proc/self/stat").exists() and _is_alive(pid) else -1
    return int(facts.rpartition(")")[2].split()[19])


def _host() -> str:
    """Whose processes' numbers this process knows: its user's, and those of its own namespace of processes.

    People share accounts of services, and many machines have the same name.
    """
    space = ""
    with contextlib.suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - no path
    facts = f"{socket.gethostname()} {os.getuid()} {space} {_machine()}"
    return hashlib.sha256(facts.encode()).hexdigest()[:8]


def _machine() -> str:
    """What tells this machine from all others, for good."""
    for place in MACHINE_IDS:
        with contextlib.suppress(OSError):
            if found := place.read_text(encoding="ascii", errors="replace").strip():
                return found
    # On Linux there would be another one with each network that comes or goes.
    return "" if Path("/proc").is_dir() else str(uuid.getnode())


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
