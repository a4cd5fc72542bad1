"""Commands on another machine. No policy here: `gated_commands` stands in front."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import field
from typing import IO, TypeVar

from tools.environments.child_env import child_environment, terminal_environment
from tools.environments.command_watch import QUIET_SECONDS, run_to_end
from tools.environments.guardian import VARIABLE
from tools.environments.http_connect import awaited
from tools.environments.remote.connection import FarFacts, Link, NotConnected, Session, Streams, probe
from tools.environments.remote.scripts import READING, Framing, Wrapped, quoted, wrap
from tools.environments.shell_start import FarCommand, Input, StartedShell, exit_of, pseudo_terminal, read_report
from tools.errors import CommandError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import CommandOutcome, CommandSpec, Interrupt
from tools.settings import TerminalSettings
from tools.shell.session import ShellCommand

T = TypeVar("T")


class Cancelled(CommandError):
    """The turn was cancelled before there was an answer."""


def cancellable(work: Callable[[], T], interrupt: Interrupt, where: str) -> T:
    """What `work`, as making a connection to `where`, returns or raises.

    Raises:
        Cancelled: the turn is over.
    """
    try:
        return awaited(work, interrupt, f"connection to {where}")
    except ToolInterrupted as over:
        raise Cancelled(f"Cancelled while {where} was connected to.") from over


_SIGNALLED = 128
_LONGEST_STARTUP = 60.0
# A connection's end reaches its programs one after the other.
_NOTICED_SECONDS = 1.0
# ssh gives the terminal there the settings of ours, which passes everything through.
_SANE = "stty sane 2>/dev/null"
# Linux hands no longer word to a program.
_MOST_COMMAND = 131_071
_MOST_COMPLAINT = 2_000
_MOST_SHOWN = 2_000


class FarEnvironment:
    """Implements `tools.ports.Environment` on another machine, as `LocalEnvironment` does here.

    Args:
        link: the connection; it stays its maker's.
        settings: how much output is kept.
        quiet_seconds: how long a command may be silent after a question before it is ended.
        facts: what the machine is, where that is known already.
    """

    def __init__(
        self,
        link: Link,
        settings: TerminalSettings | None = None,
        quiet_seconds: float = QUIET_SECONDS,
        facts: FarFacts | None = None,
    ) -> None:
        self._link = link
        self._settings = settings or TerminalSettings()
        self._quiet_seconds = quiet_seconds
        self._lock = threading.Lock()
        self._facts = facts
        self._running: dict[int, _FarCommand] = {}

    def facts(self) -> FarFacts:
        """What the machine is.

        Raises:
            CommandError: it cannot be reached.
        """
        found = self._facts
        if found is None:
            found = self._facts = probe(self._link)
        return found

    def run(self, spec: CommandSpec, on_output: Callable[[str], None], interrupt: Interrupt) -> CommandOutcome:
        """Run to the end, the time-out, the cancel, or a question that nobody answers.

        Raises:
            CommandError: it could not be started, or the connection broke off.
        """
        if interrupt.is_set() or not self._is_reached(interrupt):
            return CommandOutcome("", None, interrupted=True)
        is_shell = isinstance(spec, ShellCommand)
        pty, unset = (spec.pty, spec.unset) if isinstance(spec, ShellCommand) else (False, ())
        fresh, given = self._environments(spec, pty=pty, unset=unset)
        while True:
            outcome, started = run_to_end(
                lambda: self._start(spec, given, "terminal" if pty else "nothing"),
                spec,
                on_output,
                interrupt,
                settings=self._settings,
                quiet_seconds=self._quiet_seconds,
                closed=self.closed,
                left_by=lambda report: read_report(report, fresh, given) if is_shell else None,
            )
            far = started.far
            # A connection that had broken off without a word is noticed now; it is made anew, or says why not.
            # Silence alone does not say that the command has not begun: nothing is done twice.
            if not (isinstance(far, _FarCommand) and far.lost and far.never_started):
                break
        self._complain(far, spec, outcome)
        return outcome

    def open(self, spec: CommandSpec, *, unset: tuple[str, ...] = (), pty: bool = False) -> StartedShell:
        """Start a command with an input, for somebody who watches it and then calls `closed`.

        Raises:
            CommandError: it could not be started.
        """
        _, given = self._environments(spec, pty=pty, unset=unset)
        return self._start(spec, given, "terminal" if pty else "pipe", is_watched=True)

    def closed(self, started: StartedShell) -> None:
        """Nobody watches the command any more: close its descriptors, and end its program here."""
        started.close()
        self._link.ended(started.process)
        far = started.far
        if isinstance(far, _FarCommand):
            far.complaints.close()
            with self._lock:
                self._running.pop(id(far), None)
            if far.framing.is_over:
                self._link.tell(f"over {far.framing.token}")

    def is_busy(self) -> bool:
        """Whether processes of earlier commands are still alive."""
        return self._link.any_alive()

    def close(self) -> None:
        """Kill every process that is still alive from commands, running ones too. More commands may follow."""
        with self._lock:
            for far in self._running.values():
                far.sent = signal.SIGKILL
        self._link.kill_all()

    def _is_reached(self, interrupt: Interrupt) -> bool:
        """Whether there is a connection before the cancel. Nothing of the command is on its way yet."""
        if self._facts is not None and self._link.is_up:
            return True
        try:
            cancellable(lambda: (self._link.session(), self.facts()), interrupt, self._link.machine.name)
        except Cancelled:
            return False
        return True

    def _complain(self, far: FarCommand | None, spec: CommandSpec, outcome: CommandOutcome) -> None:
        if not isinstance(far, _FarCommand):
            return
        if far.framing.no_place:
            raise CommandError(
                f"Could not run the command: there is no directory {spec.cwd} on {self._link.machine.name}."
            )
        if far.lost:
            shown = outcome.output[-_MOST_SHOWN:].strip()
            raise CommandError(f"{far.lost} Its output until then:\n{shown}" if shown else far.lost)

    def _environments(
        self, spec: CommandSpec, *, pty: bool, unset: tuple[str, ...] = ()
    ) -> tuple[dict[str, str], dict[str, str]]:
        """The variables of a fresh shell there, and those for this command."""
        base, passed = self.facts().variables, self._settings.passthrough
        fresh = terminal_environment(base, passed) if pty else child_environment(base, passed=passed)
        fresh |= {VARIABLE: self._link.mark}
        given = {name: value for name, value in fresh.items() if name not in unset}
        return fresh, given | dict(spec.env or {})

    def _start(
        self, spec: CommandSpec, given: dict[str, str], reads: Input, *, is_watched: bool = False
    ) -> StartedShell:
        if len(os.fsencode(spec.command)) > _MOST_COMMAND:
            raise CommandError("Could not run the command: it is too long. Write it to a file and run that.")
        try:
            return self._started(spec, given, reads, is_watched=is_watched)
        except NotConnected:
            # It broke off unnoticed: it is made anew, or says why not.
            return self._started(spec, given, reads, is_watched=is_watched)

    def _started(self, spec: CommandSpec, given: dict[str, str], reads: Input, *, is_watched: bool) -> StartedShell:
        base = self.facts().variables
        session = self._link.session()
        try:
            wrapped = wrap(
                spec.command,
                spec.cwd,
                {name: value for name, value in given.items() if base.get(name) != value},
                folder=session.folder,
                has_input=reads != "nothing",
                unset=[name for name in base if name not in given],
            )
        except ValueError as problem:
            raise CommandError(f"Could not run the command: {problem}.") from problem
        complaints = tempfile.TemporaryFile()  # noqa: SIM115 - `closed` closes it
        try:
            if reads == "terminal":
                started = self._at_terminal(wrapped, session, complaints)
            else:
                started = self._at_pipes(wrapped, complaints, has_input=reads == "pipe")
        except BaseException:
            complaints.close()
            raise
        far = _FarCommand(self._link, session, Framing(wrapped.token), complaints, tells=is_watched)
        started.far = far
        with self._lock:
            self._running[id(far)] = far
        return started

    def _at_pipes(self, wrapped: Wrapped, complaints: IO[bytes], *, has_input: bool) -> StartedShell:
        process = self._link.start(READING, Streams(subprocess.PIPE, subprocess.PIPE, complaints))
        if process.stdin is None or process.stdout is None:
            raise CommandError("Could not run the command: its program has no pipes.")
        # Its program may be gone already: then its watch sees that.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(wrapped.line)
            process.stdin.flush()
        output = os.dup(process.stdout.fileno())
        typing = os.dup(process.stdin.fileno()) if has_input else -1
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        return StartedShell(process, output, typing=typing)

    def _at_terminal(self, wrapped: Wrapped, session: Session, complaints: IO[bytes]) -> StartedShell:
        place = f"{session.folder}/{wrapped.token}.start"
        script = f"rm -f {quoted(place)}; {_SANE}\n{wrapped.script}".encode("utf-8", "surrogateescape")
        self._link.output_of(f"umask 077; cat >{quoted(place)}", given=script)
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            output, prints = pseudo_terminal(ours, theirs)
            # What is typed goes through as it is: the other machine's terminal is the one that answers.
            import tty  # noqa: PLC0415 - not on every system

            tty.setraw(prints)
            process = self._link.start(f"exec sh {quoted(place)}", Streams(prints, prints, complaints), terminal=True)
            ours.pop_all()
        return StartedShell(process, output, typing=output)


@dataclass(slots=True)
class _FarCommand:
    """Implements `shell_start.FarCommand`. `tells`: its loss is shown in its output."""

    link: Link
    session: Session
    framing: Framing
    complaints: IO[bytes]
    tells: bool
    sent: int = 0
    lost: str = ""
    never_started: bool = False
    _started: float = field(default_factory=time.monotonic)
    _startup: float | None = None

    @property
    def is_over(self) -> bool:
        return self.framing.is_over

    @property
    def report(self) -> bytes:
        return self.framing.report

    @property
    def pid(self) -> int:
        return self.framing.pid

    def startup(self) -> float:
        taken = time.monotonic() - self._started if self._startup is None else self._startup
        return min(taken, _LONGEST_STARTUP)

    def feed(self, data: bytes) -> bytes:
        own = self.framing.feed(data)
        if self.framing.begun and self._startup is None:
            self._startup = time.monotonic() - self._started
        return own

    def last(self) -> bytes:
        rest = self.framing.rest()
        if self.is_over or self.sent or self.session.lasts(_NOTICED_SECONDS):
            return rest
        self.lost = self._why_lost()
        # Whoever waits for a command is told by an error.
        return rest + (f"\n[{self.lost}]\n".encode() if self.tells else b"")

    def signal(self, number: int) -> None:
        if not self.is_over:
            self.sent = number
        self.link.tell(f"signal {signal.Signals(number).name.removeprefix('SIG')} {self.framing.token}")

    def exit(self, returncode: int | None) -> tuple[int | None, str | None]:
        status = self.framing.status
        if status is None:
            # Nothing but a signal to all of its group, or the end of the connection, leaves no word.
            return exit_of(-(self.sent or signal.SIGKILL)) if returncode is not None else (None, None)
        if status > _SIGNALLED and not self.framing.report:
            return exit_of(_SIGNALLED - status)
        return status, None

    def _why_lost(self) -> str:
        self.complaints.seek(0)
        words = self.complaints.read(_MOST_COMPLAINT).decode(errors="replace").strip()
        machine = self.link.machine
        self.never_started = not self.framing.begun and (self.framing.is_unkept or machine.never_started(words))
        why = f" ({' '.join(words.split())[:300]})" if words else ""
        return (
            f"The connection to {machine.name} broke off while the command ran{why}: how it ended is not "
            "known, and what was left of it is ended there. Look at what it has done before you run it again."
        )
