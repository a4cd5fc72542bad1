"""Commands on this machine. No policy here: `tools.environments.gated` stands in front."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping

from tools.context import CommandOutcome, CommandSpec, Interrupt
from tools.environments.child_env import child_environment
from tools.environments.command_watch import CommandWatch, Ending
from tools.environments.guardian import Guardian
from tools.environments.output_buffer import OutputBuffer
from tools.environments.process_groups import group_is_alive, signal_group
from tools.environments.wake import WakePipe
from tools.errors import CommandError
from tools.result import SavedOutput
from tools.settings import TerminalSettings

_KILLED_SECONDS = 5.0
# The command's process waits here until its group is registered with the guardian. If we die before, its input ends
# and the command never starts.
_AFTER_GO = 'IFS= read -r go && exec "$@" </dev/null'


class LocalEnvironment:
    """Implements `tools.context.Environment` with a fresh shell for each command; safe to use from several threads.

    Args:
        guardian: the process's one.
        settings: how much output is kept.
        variables: what the commands' environment is made from; the process's own variables when None.
    """

    def __init__(
        self,
        guardian: Guardian,
        settings: TerminalSettings | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._guardian = guardian
        self._settings = settings or TerminalSettings()
        self._variables = variables
        self._shell = shutil.which("bash") or "/bin/sh"
        self._lock = threading.Lock()
        # Groups that are alive, or were when last seen, by their number: the process id of their shell.
        self._groups: dict[int, subprocess.Popen[bytes]] = {}
        # Those whose shell is being watched: only their own watch may reap it.
        self._watched: set[int] = set()

    def run(self, spec: CommandSpec, on_output: Callable[[str], None], interrupt: Interrupt) -> CommandOutcome:
        """Run to the end, the time-out or the cancel.

        The call ends with the shell: what the command left in the background stays alive until `close`.

        Raises:
            CommandError: it could not be started.
        """
        if interrupt.is_set():
            return CommandOutcome("", None, interrupted=True)
        buffer = OutputBuffer(self._settings.max_output_chars, self._settings.head_share, spec.save_to)

        def take(text: str) -> None:
            buffer.add(text)
            on_output(text)

        self._forget_dead_groups()
        self._guardian.ready()
        started = time.monotonic()
        process, output = self._start(spec)
        try:
            ending = self._watch(process, output, spec.timeout, take, interrupt)
        except BaseException:
            # Whatever broke off the watch, nobody looks after the command any more.
            signal_group(process.pid, signal.SIGKILL)
            process.wait(_KILLED_SECONDS)
            raise
        finally:
            os.close(output)
            saved = buffer.close()
            self._after_watch(process)
        return _outcome(buffer, saved, process.returncode, ending, time.monotonic() - started)

    def is_busy(self) -> bool:
        """Whether processes of earlier commands are still alive."""
        self._forget_dead_groups()
        with self._lock:
            return bool(self._groups)

    def close(self) -> None:
        """Kill every process that is still alive from commands, running ones too. More commands may follow."""
        with self._lock:
            for group in self._groups:
                signal_group(group, signal.SIGKILL)
            left = [process for group, process in self._groups.items() if group not in self._watched]
            for process in left:
                # Nothing survives that signal: no need to see the group go.
                del self._groups[process.pid]
        for process in left:
            self._guardian.discard(process.pid)

    def _start(self, spec: CommandSpec) -> tuple[subprocess.Popen[bytes], int]:
        reader, writer = os.pipe()
        wait, go = os.pipe()
        try:
            process = self._spawn(spec, wait, writer)
            self._guardian.add(process.pid)
            with self._lock:
                self._groups[process.pid] = process
                self._watched.add(process.pid)
            with contextlib.suppress(BrokenPipeError):  # killed while it waited
                os.write(go, b"\n")
        except (OSError, ValueError) as problem:
            os.close(reader)
            raise CommandError(f"Could not run the command: {_cause(problem, spec)}") from problem
        finally:
            os.close(writer)
            os.close(wait)
            os.close(go)
        return process, reader

    def _spawn(self, spec: CommandSpec, wait: int, output: int) -> subprocess.Popen[bytes]:
        base = os.environ if self._variables is None else self._variables
        # With PWD the shell keeps the directory's name as the user knows it, symbolic links and all.
        extra = {"PWD": str(spec.cwd), **(spec.env or {})}
        return subprocess.Popen(
            ["/bin/sh", "-c", _AFTER_GO, "hermes-acp-command", self._shell, "-c", spec.command],
            cwd=spec.cwd,
            env=child_environment(base, extra),
            stdin=wait,
            stdout=output,
            stderr=output,
            close_fds=True,
            start_new_session=True,
        )

    def _watch(
        self,
        process: subprocess.Popen[bytes],
        output: int,
        timeout: float,
        on_text: Callable[[str], None],
        interrupt: Interrupt,
    ) -> Ending:
        wake = WakePipe()
        forget = interrupt.on_cancel(wake.wake)
        try:
            return CommandWatch(process, output, wake, timeout, on_text).run()
        finally:
            forget()
            wake.close()

    def _after_watch(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._watched.discard(process.pid)
        self._forget_if_dead(process)

    def _forget_dead_groups(self) -> None:
        with self._lock:
            known = list(self._groups.values())
        for process in known:
            self._forget_if_dead(process)

    def _forget_if_dead(self, process: subprocess.Popen[bytes]) -> None:
        group = process.pid
        with self._lock:
            if group in self._watched or process.poll() is None or group_is_alive(group):
                return
            self._groups.pop(group, None)
        self._guardian.discard(group)


def _outcome(
    buffer: OutputBuffer, saved: SavedOutput | None, returncode: int | None, ending: Ending, duration: float
) -> CommandOutcome:
    ended_by = -returncode if returncode is not None and returncode < 0 else None
    return CommandOutcome(
        output=buffer.text(),
        exit_code=returncode if ended_by is None else None,
        signal=None if ended_by is None else _signal_name(ended_by),
        timed_out=ending.timed_out,
        interrupted=ending.interrupted,
        truncated_chars=buffer.truncated_chars,
        duration=duration,
        saved=saved,
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _cause(problem: Exception, spec: CommandSpec) -> str:
    if not isinstance(problem, OSError):
        return f"{problem}."  # a character that no command can hold
    if problem.errno == errno.E2BIG:
        return "it is too long. Write it to a file and run that."
    if isinstance(problem, FileNotFoundError) and problem.filename == spec.cwd:
        return f"there is no directory {spec.cwd}."
    return f"{problem.strerror}: {problem.filename}."
