"""A session's background processes on this machine. No policy here: `gated_processes` stands in front."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from tools.environments.watched_run import QUIET_SECONDS
from tools.errors import CommandError, ToolError
from tools.ports import CommandSpec, Interrupt
from tools.shell.session import ProcessEvent, ProcessInfo, ProcessLimits, ProcessSpec, ProcessView, ShellMemory

if TYPE_CHECKING:
    from tools.environments.background_process import BackgroundProcess
    from tools.environments.shell_start import StartedShell

log = logging.getLogger(__name__)

_ENTER_AT_TERMINAL, _ENTER = "\r", "\n"
_ID_BYTES = 2


class OpensCommands(Protocol):
    """The part of an environment that starts commands which somebody else watches."""

    def open(self, spec: CommandSpec, *, unset: tuple[str, ...] = (), pty: bool = False) -> StartedShell:
        """Start a command with an input."""
        ...

    def closed(self, started: StartedShell) -> None:
        """Nobody watches it any more: close its descriptors."""
        ...


class LocalProcesses:
    """Implements `tools.shell.session.Processes`; safe to use from several threads.

    Args:
        environment: the session's; its `is_busy` and `close` count these processes too.
        memory: what the session's shell keeps.
        limits: how many, how long, how much.
        quiet_seconds: how long a process is silent after a question before it counts as waiting.
    """

    def __init__(
        self,
        environment: OpensCommands,
        memory: ShellMemory,
        limits: ProcessLimits | None = None,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        self._environment = environment
        self._memory = memory
        self._limits = limits or ProcessLimits()
        self._quiet_seconds = quiet_seconds
        self._lock = threading.Lock()
        self._processes: dict[str, BackgroundProcess] = {}
        self._listeners: list[Callable[[ProcessEvent], None]] = []

    @property
    def memory(self) -> ShellMemory:
        """What the session's shell keeps."""
        return self._memory

    def start(self, spec: ProcessSpec) -> ProcessInfo:
        """Start a command and return at once."""
        from tools.environments.background_process import BackgroundProcess  # noqa: PLC0415 - most sessions have none

        with self._lock:
            self._make_room()
            name = self._new_id()
            command = CommandSpec(spec.command, spec.cwd, 0.0, spec.env, spec.call_id, confinement=spec.confinement)
            started = self._environment.open(command, unset=spec.unset, pty=spec.pty)
            process = BackgroundProcess(
                name,
                started,
                spec,
                kept_chars=self._limits.kept_chars,
                quiet_seconds=self._quiet_seconds,
                on_event=self._tell,
                on_closed=self._environment.closed,
            )
            self._processes[name] = process
            process.watch()
        info = process.info()
        # One that is over at once may have told of its end before.
        self._tell(ProcessEvent("started", info))
        return info

    def list(self) -> Sequence[ProcessInfo]:
        """All that run, and those that ended lately."""
        with self._lock:
            self._forget_old()
            known = tuple(self._processes.values())
        return tuple(process.info() for process in known)

    def poll(self, process_id: str) -> ProcessView:
        """The process, and its output since the last poll or wait."""
        return self._find(process_id).news()

    def log(self, process_id: str) -> ProcessView:
        """The process, and all of its output that is kept."""
        return self._find(process_id).all_kept()

    def wait(self, process_id: str, timeout: float, interrupt: Interrupt) -> ProcessView:
        """As `poll`, once it has ended, waits for input, or `timeout` seconds have passed."""
        process = self._find(process_id)
        process.wait(timeout, interrupt)
        return process.news()

    def kill(self, process_id: str) -> ProcessInfo:
        """End it with everything it has started."""
        process = self._find(process_id)
        process.kill()
        return process.info()

    def write(self, process_id: str, data: str, *, submit: bool = False) -> ProcessInfo:
        """Type `data`, and press Enter after it when `submit`."""
        process = self._find(process_id)
        enter = (_ENTER_AT_TERMINAL if process.spec.pty else _ENTER) if submit else ""
        process.write(f"{data}{enter}".encode("utf-8", "surrogateescape"))
        return process.info()

    def end_input(self, process_id: str) -> ProcessInfo:
        """Tell it that no more input comes."""
        process = self._find(process_id)
        process.end_input()
        return process.info()

    def subscribe(self, listener: Callable[[ProcessEvent], None]) -> Callable[[], None]:
        """Call `listener` at each event until the function that this returns is called."""
        with self._lock:
            self._listeners.append(listener)

        def forget() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return forget

    def close(self) -> None:
        """End all of them."""
        with self._lock:
            running = [process for process in self._processes.values() if process.running]
            self._listeners.clear()
        for process in running:  # all at once: each of them may take its time
            process.end()
        for process in running:
            process.kill()

    def _find(self, process_id: str) -> BackgroundProcess:
        with self._lock:
            process = self._processes.get(process_id)
            known = ", ".join(self._processes) or "none"
        if process is None:
            raise ToolError(f"There is no process {process_id!r} in this session. There are: {known}.")
        return process

    def _make_room(self) -> None:
        self._forget_old()
        ended = [name for name, process in self._processes.items() if not process.running]
        while ended and len(self._processes) >= self._limits.max_processes:
            del self._processes[ended.pop(0)]
        if len(self._processes) >= self._limits.max_processes:
            raise CommandError(
                f"{self._limits.max_processes} background processes are running, which is the most there may be. "
                "Nothing was started: end some with process(action=kill)."
            )

    def _forget_old(self) -> None:
        keep = self._limits.keep_finished_seconds
        for name in [name for name, process in self._processes.items() if process.ended_for > keep]:
            del self._processes[name]

    def _new_id(self) -> str:
        while (name := f"proc_{secrets.token_hex(_ID_BYTES)}") in self._processes:
            continue
        return name

    def _tell(self, event: ProcessEvent) -> None:
        with self._lock:
            listeners = tuple(self._listeners)
        for listener in listeners:
            try:
                listener(event)
            except Exception:
                # A listener's trouble must not end the watch of the process.
                log.exception("an event of process %s was not delivered", event.info.id)
