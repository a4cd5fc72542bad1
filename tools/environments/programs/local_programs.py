"""Programs on this machine, as an environment of one: no policy here, `gated_programs` stands in front."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from tools.environments.command_watch import CommandWatch, Ending
from tools.environments.local_commands import LocalEnvironment
from tools.environments.marked import VARIABLE, kill_marked
from tools.environments.output_buffer import OutputBuffer
from tools.environments.programs.interpreter import Interpreter
from tools.environments.programs.serving import CallServer
from tools.environments.programs.starting import client_text, start_command
from tools.environments.shell_start import StartedShell
from tools.environments.wake import WakePipe
from tools.os_compat import SIGKILL
from tools.ports import CallTool, CommandOutcome, CommandSpec, Interrupt, Program
from tools.settings import TerminalSettings

_KILLED_SECONDS = 5.0


class ProgramEnvironment:
    """Implements `tools.ports.Environment` for one program: whatever command it is given, it starts the program.

    The command says the same as the program does; it was asked about.

    Args:
        local: the session's; the program counts as one of its commands.
        interpreter: the Python that runs it, for the command that it is started as.
        settings: how much of its output is kept.
    """

    def __init__(
        self,
        local: LocalEnvironment,
        program: Program,
        call: CallTool,
        interpreter: Callable[[CommandSpec], Interpreter],
        settings: TerminalSettings,
    ) -> None:
        self._local = local
        self._program = program
        self._call = call
        self._interpreter = interpreter
        self._settings = settings
        self.calls: Mapping[str, int] = {}

    def run(self, spec: CommandSpec, on_output: Callable[[str], None], interrupt: Interrupt) -> CommandOutcome:
        """Run the program to its end, the time-out or the cancel; then kill what it has left behind.

        Raises:
            CommandError: it could not be started.
        """
        if interrupt.is_set():
            return CommandOutcome("", None, interrupted=True)
        buffer = OutputBuffer(self._settings.max_output_chars, self._settings.head_share, spec.save_to)

        def take(text: str) -> None:
            buffer.add(text)
            on_output(text)

        began = time.monotonic()
        mark = f"{self._local.mark}.{secrets.token_hex(4)}"
        started, connection = self._start(spec, mark)
        try:
            ending = self._serve(started, connection, spec, take, interrupt)
        finally:
            if not self._local.end_left(started):
                kill_marked(mark)
            saved = buffer.close()
            self._local.closed(started)
        code, killer = started.exit()
        outcome = CommandOutcome(
            output=buffer.text(),
            exit_code=code,
            signal=killer,
            timed_out=ending.timed_out,
            interrupted=ending.interrupted,
            truncated_chars=buffer.truncated_chars,
            duration=time.monotonic() - began,
            saved=saved,
        )
        return self._local.with_refusals(outcome, spec, started)

    def is_busy(self) -> bool:
        """Whether processes of the session's commands are still alive."""
        return self._local.is_busy()

    def close(self) -> None:
        """Leave the session's environment alone."""

    def _start(self, spec: CommandSpec, mark: str) -> tuple[StartedShell, socket.socket]:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                descriptor, python = theirs.fileno(), self._interpreter(spec)
                command = replace(
                    spec,
                    command=start_command(python.path, descriptor, isolated=python.isolated),
                    env={**(spec.env or {}), VARIABLE: mark},
                )
                return self._local.open_with(command, descriptor), ours
        except BaseException:
            ours.close()
            raise

    def _serve(
        self,
        started: StartedShell,
        connection: socket.socket,
        spec: CommandSpec,
        on_text: Callable[[str], None],
        interrupt: Interrupt,
    ) -> Ending:
        program = self._program
        first = (f"{client_text()}\n\n{program.module}".encode(), program.code.encode("utf-8", "replace"))
        server = CallServer(connection, first, self._call, program.limits, interrupt)
        server.start()
        wake = WakePipe()
        forget = interrupt.on_cancel(wake.wake)
        try:
            return CommandWatch(started, wake, spec.timeout, on_text, waited=spec.waited, leaves_nothing=True).run()
        finally:
            # Whatever broke off the watch, nobody looks after the program any more.
            if started.process.poll() is None:
                started.signal(SIGKILL)
                started.process.wait(_KILLED_SECONDS)
            forget()
            wake.close()
            server.close()
            self.calls = server.made()
