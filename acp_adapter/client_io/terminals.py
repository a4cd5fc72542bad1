"""Commands in the editor's terminals (ACP v1, terminal section), where it has them and the person chose that."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from acp_adapter.client_io.calls import EditorCalls, EditorGone, EditorProblem, EditorRefused, EditorSilent
from agent_core.cancel import CancelToken
from tools.environments.child_env import child_environment
from tools.environments.output import OutputBuffer
from tools.environments.program_finder import PROGRAMS
from tools.errors import CommandError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import CommandOutcome, CommandSpec, Environment, Interrupt
from tools.settings import TerminalSettings

# How a command in an editor's terminal ended, as editors tell it.


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """The shell's status, or the name of the signal that ended it; both None where the editor knows neither."""

    code: int | None
    signal: str | None


def read_status(answer: Mapping[str, Any]) -> ExitStatus | None:
    """The status in an answer (ACP v1: `exitCode`, `signal`); None where it tells nothing.

    Editors name signals differently (SIGKILL, KILL, 9), or tell them as negative codes.
    """
    code, name = answer.get("exitCode"), answer.get("signal")
    if isinstance(name, (str, int)) and not isinstance(name, bool) and name not in ("", 0):
        return ExitStatus(None, _signal_name(str(name)))
    if not isinstance(code, int) or isinstance(code, bool):
        return None
    return ExitStatus(None, _signal_name(str(-code))) if code < 0 else ExitStatus(code, None)


def _signal_name(told: str) -> str:
    if told.isdecimal():
        try:
            return signal.Signals(int(told)).name
        except ValueError:
            return f"signal {told}"
    name = told.upper()
    return next((known for known in (name, f"SIG{name}") if known in signal.Signals.__members__), told)


log = logging.getLogger(__name__)

CREATE_SECONDS = 30.0
_KILLED_SECONDS = 2.0
_CALL_SECONDS = 5.0
_KEPT_BYTES = 1024 * 1024
_MAX_CHAR_BYTES = 4


class EditorTerminals:
    """Implements `tools.ports.Environment`: each command in a fresh terminal of the editor, which shows it live.

    What a command leaves in the background ends when the editor lets it: nobody but it knows those processes.

    Args:
        local: runs the commands while the person has not chosen the editor's terminals, or it refuses one.
        chosen: whether the editor offers terminals and the person wants them used; asked for each command.
        show: called with a tool call's id and the id of the terminal that its command runs in.
        settings: how much output is kept.
    """

    def __init__(
        self,
        local: Environment,
        calls: EditorCalls,
        chosen: Callable[[], bool],
        show: Callable[[str, str], None],
        settings: TerminalSettings | None = None,
    ) -> None:
        self._local = local
        self._calls = calls
        self._chosen = chosen
        self._show = show
        self._settings = settings or TerminalSettings()
        self._shell = PROGRAMS.find("bash") or "/bin/sh"
        self._lock = threading.Lock()
        self._running: set[str] = set()

    def run(self, spec: CommandSpec, on_output: Callable[[str], None], interrupt: Interrupt) -> CommandOutcome:
        """Run to the end, the time-out or the cancel; the terminal is released whatever happens.

        `on_output` hears nothing of it, because the editor shows its terminal itself, but what a cancelled command
        has printed.

        Raises:
            CommandError: it could not be started, or nobody knows what became of it.
        """
        if interrupt.is_set():
            return CommandOutcome("", None, interrupted=True)
        started = time.monotonic()
        terminal = self._create(spec) if self._chosen() else None
        if terminal is None:
            return self._local.run(spec, on_output, interrupt)
        try:
            outcome = self._see_through(terminal, spec, interrupt, started)
        finally:
            self._release(terminal)
        if outcome.interrupted:
            on_output(outcome.output)
        return outcome

    def is_busy(self) -> bool:
        """Whether a command runs, or processes of earlier ones are still alive on our side."""
        with self._lock:
            running = bool(self._running)
        return running or self._local.is_busy()

    def close(self) -> None:
        """End every command that is running. More may follow."""
        with self._lock:
            running = list(self._running)
        for terminal in running:
            self._tidy("terminal/kill", terminal)
        self._local.close()

    def _create(self, spec: CommandSpec) -> str | None:
        """The id of a terminal in which the command runs; None where the editor refuses to make one."""
        if "\0" in spec.command:
            raise CommandError("Could not run the command: embedded null byte.")
        if not spec.cwd.is_dir():
            raise CommandError(f"Could not run the command: there is no directory {spec.cwd}.")
        try:
            # Not with the turn's token: a terminal whose id came after the cancel could not be released.
            answer = self._calls.call("terminal/create", self._request(spec), CancelToken(), CREATE_SECONDS)
        except EditorRefused as problem:
            log.warning("the editor made no terminal, so the command runs without it: %s", problem)
            return None
        except EditorProblem as problem:
            raise CommandError(
                f"Could not run the command in the editor's terminal: {problem}{_UNKNOWN}"
            ) from problem
        terminal = answer.get("terminalId")
        if not isinstance(terminal, str) or not terminal:
            raise CommandError(f"The editor did not tell the id of the terminal that it made.{_UNKNOWN}")
        with self._lock:
            self._running.add(terminal)
        return terminal

    def _request(self, spec: CommandSpec) -> dict[str, Any]:
        # The editor's own variables are its business; of ours it gets none but what keeps programs from prompting.
        variables = child_environment({}, spec.env)
        return {
            "command": self._shell,
            "args": ["-c", spec.command],
            "cwd": str(spec.cwd),
            "env": [{"name": name, "value": value} for name, value in variables.items()],
            # The editor keeps the end; the beginning is wanted too, so it is asked for much more than is kept.
            "outputByteLimit": max(_KEPT_BYTES, _MAX_CHAR_BYTES * self._settings.max_output_chars),
        }

    def _see_through(self, terminal: str, spec: CommandSpec, interrupt: Interrupt, started: float) -> CommandOutcome:
        if spec.call_id and not interrupt.is_set():  # the card of a turn that is over is final
            self._show(spec.call_id, terminal)
        params = {"terminalId": terminal}
        timed_out = interrupted = False
        try:
            status = read_status(self._calls.call("terminal/wait_for_exit", params, interrupt, spec.timeout))
        except EditorSilent:
            timed_out = True
            status = self._kill(terminal)
        except ToolInterrupted:
            interrupted = True
            status = self._kill(terminal)
        except EditorProblem as problem:
            raise CommandError(f"The editor has lost the command's terminal: {problem}{_UNKNOWN}") from problem
        output, truncated_chars, last_status = self._output(terminal)
        status = status or last_status or ExitStatus(None, None)
        return CommandOutcome(
            output=output,
            exit_code=status.code,
            signal=status.signal,
            timed_out=timed_out,
            interrupted=interrupted,
            truncated_chars=truncated_chars,
            duration=time.monotonic() - started,
        )

    def _kill(self, terminal: str) -> ExitStatus | None:
        """End the command; how it ended, where the editor tells."""
        self._tidy("terminal/kill", terminal)
        answer = self._tidy("terminal/wait_for_exit", terminal, _KILLED_SECONDS)
        return None if answer is None else read_status(answer)

    def _output(self, terminal: str) -> tuple[str, int, ExitStatus | None]:
        """What the command printed, cut as the settings say, how much that left out, and how it ended."""
        answer = self._tidy("terminal/output", terminal)
        if answer is None:
            return "[the editor did not give the output]", 0, None
        text, status = answer.get("output"), answer.get("exitStatus")
        buffer = OutputBuffer(self._settings.max_output_chars, self._settings.head_share)
        if answer.get("truncated") is True:
            buffer.add("[… the editor has kept only the end …]\n")
        if isinstance(text, str):
            buffer.add(text.replace("\r\n", "\n"))  # the line endings of terminals
        return buffer.text(), buffer.truncated_chars, read_status(status) if isinstance(status, Mapping) else None

    def _release(self, terminal: str) -> None:
        self._tidy("terminal/release", terminal)
        with self._lock:
            self._running.discard(terminal)

    def _tidy(self, method: str, terminal: str, timeout: float | None = None) -> dict[str, Any] | None:
        """A call that is due even after the cancel, with a bound of its own; None where it failed."""
        try:
            return self._calls.call(method, {"terminalId": terminal}, CancelToken(), timeout or _CALL_SECONDS)
        except EditorGone:
            return None  # its terminals have gone with it
        except EditorProblem as problem:
            log.warning("%s: %s", method, problem)
            return None


_UNKNOWN = " It is not known whether the command has run: look at what it should have done before you run it again."
