"""A session's shell for tests: a local environment, its memory, and its background processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_core.cancel import CancelToken
from tools.environments.guardian import Guardian
from tools.environments.local_commands import LocalEnvironment, LocalProcesses
from tools.settings import TerminalSettings
from tools.shell.session import ProcessInfo, ProcessLimits, ProcessSpec, ShellCommand, ShellMemory, ShellOutcome

QUIET_SECONDS = 0.2
"""Tests wait less long for a question to count as one."""


@dataclass
class Shells:
    """Everything that one session has, in the directory `cwd`."""

    cwd: Path
    guardian: Guardian
    environment: LocalEnvironment
    memory: ShellMemory
    processes: LocalProcesses
    token: CancelToken = field(default_factory=CancelToken)
    live: list[str] = field(default_factory=list)

    def run(self, command: str, timeout: float = 20.0, cwd: Path | None = None, *, pty: bool = False) -> ShellOutcome:
        """Run a command as the session's shell would, and remember what it leaves."""
        state = self.memory.state()
        spec = ShellCommand(command, cwd or state.cwd, timeout, state.added() or None, unset=state.removed(), pty=pty)
        outcome = self.environment.run(spec, self.live.append, self.token)
        assert isinstance(outcome, ShellOutcome)
        if outcome.left is not None:
            self.memory.keep(outcome.left)
        return outcome

    def start(self, command: str, **spec: Any) -> ProcessInfo:
        """Start a command in the background."""
        return self.processes.start(ProcessSpec(command, self.cwd, **spec))


@contextmanager
def shells(
    cwd: Path,
    *,
    limits: ProcessLimits | None = None,
    settings: TerminalSettings | None = None,
    variables: Mapping[str, str] | None = None,
    shell: str | None = None,
) -> Iterator[Shells]:
    """A session in `cwd`, of which nothing is left in the end."""
    guardian = Guardian()
    environment = LocalEnvironment(guardian, settings, variables, QUIET_SECONDS, shell=shell)
    memory = ShellMemory(cwd)
    processes = LocalProcesses(environment, memory, limits, QUIET_SECONDS)
    try:
        yield Shells(cwd, guardian, environment, memory, processes)
    finally:
        processes.close()
        environment.close()
        guardian.kill_all()
