"""The connection to another machine: made when it is first needed, and made again when it has broken off.

After it has broken off, what ran there is ended by its keeper. Each failure makes the next attempt wait longer, and
who asks meanwhile hears the same error at once.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import select
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import IO, Protocol

from tools.environments.guardian import VARIABLE, Guardian, signal_group
from tools.environments.remote.scripts import new_token
from tools.environments.shell_start import read_exports
from tools.errors import CommandError
from tools.light_dataclass import dataclass

# A machine: who knows how a script gets there, and says what went wrong on the way.


class NotConnected(CommandError):
    """The connection has broken off; nothing was started. A new one may be made."""


_KILL = 9

Stream = int | IO[bytes] | None


@dataclass(frozen=True, slots=True)
class Streams:
    """What a program on this machine reads and writes, as `subprocess.Popen` takes it."""

    stdin: Stream = subprocess.DEVNULL
    stdout: Stream = subprocess.PIPE
    stderr: Stream = subprocess.PIPE

    def popen(
        self, words: Sequence[str], environment: Mapping[str, str], pass_fds: Sequence[int] = ()
    ) -> subprocess.Popen[bytes]:
        """Start a program with them, as the leader of a group.

        Raises:
            CommandError: it could not be started.
        """
        try:
            return subprocess.Popen(
                words,
                stdin=self.stdin,
                stdout=self.stdout,
                stderr=self.stderr,
                env=environment,
                pass_fds=pass_fds,
                start_new_session=True,
            )
        except OSError as problem:
            raise CommandError(f"Could not start {words[0]}: {problem.strerror}.") from problem


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """A program, a group of its own, that ends with the block at the latest."""
    try:
        yield
    finally:
        signal_group(process.pid, _KILL)
        process.wait()
        close_pipes(process)


def close_pipes(process: subprocess.Popen[bytes]) -> None:
    """Close this end of its streams."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


class Machine(Protocol):
    """A machine that runs POSIX shell scripts, each behind a program on this one, whose streams are the script's.

    A script is the leader of a process group of its own there, and its program here ends when it does. All methods
    block, and may be called from several threads.
    """

    @property
    def name(self) -> str:
        """What people call it: "me@build.example.org", "the container hermes-acp-1a2b"."""
        ...

    def connect(self, script: str, streams: Streams) -> subprocess.Popen[bytes]:
        """Make it reachable and start the script by which it stays so: once that ends, the connection is over.

        Raises:
            CommandError: it cannot be reached.
        """
        ...

    def start(self, script: str, streams: Streams, *, terminal: bool = False) -> subprocess.Popen[bytes]:
        """Start another script over the connection.

        Args:
            terminal: at a pseudo-terminal of its own; then all of `streams` is the near side's.

        Raises:
            NotConnected: the connection is gone. CommandError: it could not be started.
        """
        ...

    def why(self, complaint: str) -> str:
        """What the words of a program that could not get there mean, as a sentence that says what to do."""
        ...

    def never_started(self, complaint: str, /) -> bool:
        """Whether the words of a program that ended without an answer say that no script was started by it."""
        ...

    def close(self) -> None:
        """End the connection, and what there is only because of it."""
        ...


# What a program on this machine prints while it takes its input, and no more than is asked for.
# Whatever runs at its other end may be anything by now: it may print without an end.

MOST_BYTES = 257 * 1024 * 1024
"""The largest file that is fetched, and what is told of it."""

_MOST_COMPLAINT = 4_000


class TooMuch(ValueError):
    """It prints more than was asked for."""


def exchanged(process: subprocess.Popen[bytes], given: bytes, seconds: float, most: int | None = None) -> bytes:
    """What the program, which leads a group, prints until it has ended.

    Args:
        given: its input, which is a pipe.
        most: bytes that it may print; `MOST_BYTES` when None.

    Raises:
        subprocess.TimeoutExpired: it has not ended within `seconds`. TooMuch.
    """
    until, most = time.monotonic() + seconds, most or MOST_BYTES
    late = threading.Timer(seconds, signal_group, (process.pid, _KILL))
    late.start()
    threading.Thread(target=_give, args=(process.stdin, given), name="input of a script", daemon=True).start()
    try:
        printed = b"" if process.stdout is None else process.stdout.read(most + 1)
        if len(printed) > most:
            raise TooMuch(f"it prints more than {most:,} bytes")
        process.wait()
    finally:
        late.cancel()
    if time.monotonic() >= until:
        raise subprocess.TimeoutExpired(process.args, seconds)
    return printed


def _give(stdin: IO[bytes] | None, given: bytes) -> None:
    with contextlib.suppress(OSError, ValueError):  # it wants no more, or has ended
        if stdin is not None:
            with stdin:
                stdin.write(given)


# The keeper: a script on the other machine that runs as long as the connection lasts, and ends what was started
# there.
# It reads lines from this process. When they end, however this process or the connection has ended, it kills what
# still runs: nothing outlives its session unseen. Each command is known by a token; the file `TOKEN.group` in its
# directory holds the number of its process group.

READY = b"hermes-ready "

KEEPER = f"""
PATH=$PATH:/usr/local/bin:/usr/bin:/bin; umask 077
d=$(mktemp -d "${{TMPDIR:-/tmp}}/hermes-acp.XXXXXX") || exit 97
trap '' TERM INT HUP QUIT PIPE TSTP TTIN TTOU
group() {{ g=; [ -f "$d/$1.group" ] && IFS= read -r g <"$d/$1.group"; [ -n "$g" ]; }}
sweep() {{
  n=0
  for f in "$d"/*.group; do
    [ -f "$f" ] || continue
    t=${{f##*/}}; t=${{t%.group}}
    if group "$t" && kill -0 "-$g" 2>/dev/null; then n=$((n + 1)); else rm -f "$f" "$d/$t.stop"; fi
  done
}}
# The grep of some small systems sees nothing behind a null character.
marked() {{
  if printf 'a\\000b' | grep -qsF b; then grep -lsF "$1" /proc/[0-9]*/environ; return; fi
  for e in /proc/[0-9]*/environ; do {{ tr '\\000' '\\n' <"$e" | grep -qF "$1" && echo "$e"; }} 2>/dev/null; done
}}
all() {{
  for f in "$d"/*.group; do
    [ -f "$f" ] || continue
    t=${{f##*/}}; group "${{t%.group}}" && kill -KILL "-$g" 2>/dev/null
  done
  for e in $(marked "{VARIABLE}=$1"); do
    p=${{e#/proc/}}; kill -KILL "${{p%/environ}}" 2>/dev/null
  done
}}
echo "{READY.decode()}$d"
mark=none
while IFS=' ' read -r verb one two; do
  case $verb in
    mark) mark=$one ;;
    signal) if group "$two"; then kill -"$one" "-$g" 2>/dev/null; else : >"$d/$two.stop"; fi ;;
    over) group "$one" && {{ kill -0 "-$g" 2>/dev/null || rm -f "$d/$one.group"; }}; rm -f "$d/$one.stop" ;;
    alive) sweep; echo "alive $n" ;;
    kill) all "$mark"; sweep; echo "killed $n" ;;
  esac
done
all "$mark"
rm -rf "$d"
"""
"""Lines it reads: `mark MARK`, `signal NAME TOKEN`, `over TOKEN`; `alive` and `kill` are answered by a line."""


# The connection.

log = logging.getLogger(__name__)

_CONNECT_SECONDS = 40.0
_ANSWER_SECONDS = 5.0
_END_SECONDS = 2.0
_LOOK_SECONDS = 0.1
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
_MOST_GREETING_LINES = 500
# How a program ends whose connection broke off: as ssh does, or by a signal. No script of ours ends so.
_BROKEN_OFF = frozenset({255, -_KILL})


@dataclass(slots=True, eq=False)
class Session:
    """One connection, as long as it lasts: its keeper, and the keeper's directory there."""

    process: subprocess.Popen[bytes]
    folder: str
    asking: threading.Lock = field(default_factory=threading.Lock)
    telling: threading.Lock = field(default_factory=threading.Lock)
    is_cut: bool = False

    @property
    def is_up(self) -> bool:
        """Whether it lasts, as far as is known without asking."""
        return not self.is_cut and self.process.poll() is None

    def lasts(self, wait: float) -> bool:
        """Whether it does.

        Args:
            wait: seconds that its end may take to be noticed, where something has just ended because of it.
        """
        if self.is_up:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(wait)
        return self.is_up

    def tell(self, line: str) -> None:
        """Send the keeper a line that it does not answer."""
        with self.telling:
            try:
                if self.process.stdin is not None:
                    self.process.stdin.write(line.encode() + b"\n")
                    self.process.stdin.flush()
            except (OSError, ValueError):
                self.is_cut = True

    def ask(self, verb: str) -> bytes | None:
        """What the keeper answers."""
        with self.asking:
            self.tell(verb)
            answer = line_from(self.process, _ANSWER_SECONDS)
        # What it may say later would be taken for another answer.
        self.is_cut = self.is_cut or not answer
        return answer


class Link:
    """The connection of one session; safe to use from several threads.

    Args:
        machine: the other end.
        guardian: ends the programs of ours when this process is gone.

    Attributes:
        mark: what the variables of each command there say, so that it is found when it has left its group.
    """

    def __init__(self, machine: Machine, guardian: Guardian) -> None:
        self.machine = machine
        self.mark = f"{guardian.mark}.{secrets.token_hex(4)}"
        self._guardian = guardian
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._connecting: subprocess.Popen[bytes] | None = None
        self._not_before = 0.0
        self._pause = 0.0
        self._failure = ""
        self._is_unwanted = False

    @property
    def is_up(self) -> bool:
        """Whether it is connected, as far as is known without asking."""
        return (session := self._session) is not None and session.is_up

    def session(self) -> Session:
        """Be connected.

        Raises:
            CommandError: it cannot be reached; why, and what to do.
        """
        with self._lock:
            if self._session is None or not self._session.is_up:
                self._connect()
            if self._session is None:
                raise CommandError(f"{self.machine.name} is not needed any more: the session has ended.")
            return self._session

    def start(self, script: str, streams: Streams, *, terminal: bool = False) -> subprocess.Popen[bytes]:
        """Start a script there; a group of its own here, which must be `ended`.

        Raises:
            NotConnected: the connection is gone. CommandError: it could not be started.
        """
        self._guardian.ready()
        process = self.machine.start(script, streams, terminal=terminal)
        self._guardian.add(process.pid)
        return process

    def ended(self, process: subprocess.Popen[bytes]) -> None:
        """Nobody needs the program here any more: end it if it still runs, and reap it."""
        signal_group(process.pid, _KILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
        self._guardian.discard(process.pid)

    @contextmanager
    def running(self, script: str, streams: Streams) -> Iterator[subprocess.Popen[bytes]]:
        """A script, with a connection, that ends with the block at the latest.

        Raises:
            CommandError: it cannot be reached, or the script could not be started.
        """
        self.session()
        process = self.start(script, streams)
        try:
            yield process
        finally:
            self.ended(process)
            close_pipes(process)

    def output_of(self, script: str, *, given: bytes = b"", seconds: float = 20.0) -> bytes:
        """What a short script prints; its input is `given`.

        Raises:
            CommandError: it could not be run, took too long, or printed without an end.
        """
        # What the shell there prints of its own at its start is none of the answer.
        mark = f"{new_token()}\n"
        with tempfile.TemporaryFile() as complaints:
            streams = Streams(subprocess.PIPE, subprocess.PIPE, complaints)
            with self.running(f"printf '%s\\n' {mark}{script}", streams) as process:
                try:
                    output = exchanged(process, given, seconds)
                except subprocess.TimeoutExpired as problem:
                    raise CommandError(
                        f"{self.machine.name} did not answer within {seconds:.0f} seconds."
                    ) from problem
                except TooMuch as problem:
                    raise CommandError(f"{self.machine.name} does not answer as expected: {problem}.") from problem
            words = _read_tail(complaints)
        _, begun, answer = output.partition(mark.encode())
        if not begun:
            raise CommandError(self.machine.why(words))
        if process.returncode in _BROKEN_OFF:
            # What came is not all of it.
            raise CommandError(
                f"The connection to {self.machine.name} broke off before it had answered. Try again. {words}".rstrip()
            )
        return answer

    def tell(self, line: str) -> None:
        """Send the keeper a line that it does not answer; nothing where there is none."""
        # Who connects anew has the lock for long, and there is nobody to tell then.
        if (session := self._session) is not None:
            session.tell(line)

    def any_alive(self) -> bool:
        """Whether a command there is still alive; False where that is not known, for want of a connection."""
        answer = self._ask("alive")
        return bool(answer) and answer.split()[-1:] != [b"0"]

    def kill_all(self) -> None:
        """End every command there."""
        self._ask("kill")

    def close(self) -> None:
        """End everything there, and the connection, or the attempt to make one. A later call may connect again.

        An attempt that does not end in a moment, as when an image is fetched, ends what it has made when it is done.
        """
        until = time.monotonic() + _END_SECONDS
        while not self._lock.acquire(timeout=_LOOK_SECONDS):
            if (connecting := self._connecting) is not None and connecting.poll() is None:
                signal_group(connecting.pid, _KILL)
            elif time.monotonic() > until:
                self._is_unwanted = True
                return
        try:
            self._drop()
        finally:
            self._lock.release()
        self.machine.close()

    def _ask(self, verb: str) -> bytes:
        session = self._session
        return (session.ask(verb) if session is not None and session.is_up else None) or b""

    def _connect(self) -> None:
        now = time.monotonic()
        if now < self._not_before:
            raise CommandError(f"{self._failure} The next attempt is possible in {self._not_before - now:.0f} s.")
        self._drop()
        self._is_unwanted = False
        try:
            self._session = self._opened()
        except CommandError as problem:
            self._pause = min(_LONGEST_PAUSE, self._pause * 2 or _FIRST_PAUSE)
            self._not_before = time.monotonic() + self._pause
            self._failure = str(problem)
            raise
        self._pause = self._not_before = 0.0
        if self._is_unwanted:
            self._drop()
            self.machine.close()
        else:
            self._session.tell(f"mark {self.mark}")

    def _opened(self) -> Session:
        self._guardian.ready()
        with tempfile.TemporaryFile() as complaints:
            process = self.machine.connect(KEEPER, Streams(subprocess.PIPE, subprocess.PIPE, complaints))
            self._guardian.add(process.pid)
            self._connecting = process
            until = time.monotonic() + _CONNECT_SECONDS
            try:
                # What the shell there may print of its own comes first.
                for _ in range(_MOST_GREETING_LINES):
                    line = line_from(process, until - time.monotonic())
                    if not line or line.startswith(READY):
                        break
            finally:
                self._connecting = None
            if line and line.startswith(READY):
                return Session(process, os.fsdecode(line[len(READY) :].rstrip(b"\r\n")))
            self.ended(process)
            close_pipes(process)
            words = _read_tail(complaints)
        if line is None:
            raise CommandError(f"{self.machine.name} did not answer within {_CONNECT_SECONDS:.0f} seconds. {words}")
        raise CommandError(self.machine.why(words))

    def _drop(self) -> None:
        """Let the keeper see its end first: it ends what is left."""
        session, self._session = self._session, None
        if session is None:
            return
        process = session.process
        with contextlib.suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
        self.ended(process)
        close_pipes(process)


def line_from(process: subprocess.Popen[bytes], seconds: float) -> bytes | None:
    """The next line that a program prints; empty at its end, None when none came in time."""
    if process.stdout is None:
        return b""
    descriptor = process.stdout.fileno()
    until = time.monotonic() + seconds
    line = b""
    readable = select.poll()
    readable.register(descriptor, select.POLLIN)
    # A byte at a time: a buffered read would wait for more than there is.
    while not line.endswith(b"\n"):
        if not readable.poll(max(0.0, until - time.monotonic()) * 1000):
            return None
        byte = os.read(descriptor, 1)
        if not byte:
            return b""
        line += byte
    return line


def _read_tail(file: IO[bytes]) -> str:
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - _MOST_COMPLAINT))
    return file.read().decode(errors="replace").strip()


# What another machine is: looked at once, when a session first uses it.

_SECONDS = 30.0
PROGRAMS = (
    "rg", "grep", "git", "python3", "uv", "poetry", "node", "npm", "pnpm", "yarn", "bun", "deno", "cargo", "go",
    "make", "just", "cmake", "mvn", "gradle", "bundle", "composer", "mix", "swift", "docker",
)  # fmt: skip
"""Those that are asked for."""

_LOOK = f"""
s=$(command -v bash) || s=/bin/sh
printf '%s\\n' "$HOME" "$(uname -s) $(uname -r)" "$(uname -m)" "${{s##*/}}"
python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo none
for p in {" ".join(PROGRAMS)}; do command -v "$p" >/dev/null 2>&1 && printf '%s ' "$p"; done
cd /; unset OLDPWD; SHLVL=${{SHLVL:-1}}; export SHLVL
printf '\\000'; "$s" -c 'export -p'
exit 0
"""


@dataclass(frozen=True, slots=True)
class FarFacts:
    """The facts.

    Attributes:
        home: the user's directory there.
        system: as "Linux 6.1.0".
        architecture: as `uname -m` tells it.
        shell: `bash` or `sh`.
        python: major and minor number of its python3; None where it has none.
        programs: those of `PROGRAMS` that are on PATH.
        variables: what a fresh shell exports.
    """

    home: Path
    system: str
    architecture: str
    shell: str
    python: tuple[int, int] | None = None
    programs: frozenset[str] = frozenset()
    variables: Mapping[str, str] = field(default_factory=dict)


def probe(link: Link) -> FarFacts:
    """Look. Blocks for a moment.

    Raises:
        CommandError: it cannot be reached, or is nothing that a shell runs on.
    """
    told, _, exports = link.output_of(_LOOK, seconds=_SECONDS).partition(b"\0")
    lines = told.decode(errors="surrogateescape").splitlines()
    if len(lines) < 5 or not lines[0].startswith("/"):  # noqa: PLR2004 - as _LOOK prints
        raise CommandError(
            f"{link.machine.name} was reached, but its shell does not run POSIX scripts as expected. It answered: "
            f"{' '.join(lines)[:300]!r}."
        )
    home, system, architecture, shell, python, *rest = lines
    major, _, minor = python.partition(".")
    return FarFacts(
        home=Path(home),
        system=system,
        architecture=architecture,
        shell=shell,
        python=(int(major), int(minor)) if major.isdigit() and minor.isdigit() else None,
        programs=frozenset(" ".join(rest).split()),
        variables=read_exports(exports) or {},
    )
