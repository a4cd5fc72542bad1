"""Sees a started command through for somebody who waits: its output, its end, and what its shell leaves."""

from __future__ import annotations

import time
from collections.abc import Callable

from tools.environments.command_watch import CommandWatch, Ending
from tools.environments.output_buffer import OutputBuffer
from tools.environments.prompt_watch import PromptWatch
from tools.environments.shell_report import Left, read_pipes
from tools.environments.shell_start import StartedShell
from tools.environments.wake import WakePipe
from tools.os_compat import SIGKILL
from tools.ports import CommandSpec, Interrupt
from tools.settings import TerminalSettings
from tools.shell.session import ShellCommand, ShellOutcome

QUIET_SECONDS = 5.0
"""So long after a question a silent command counts as waiting for its answer."""

_KILLED_SECONDS = 5.0
_WITHOUT_TERMINAL = 4


def run_to_end(
    start: Callable[[], StartedShell],
    spec: CommandSpec,
    on_output: Callable[[str], None],
    interrupt: Interrupt,
    *,
    settings: TerminalSettings,
    quiet_seconds: float,
    closed: Callable[[StartedShell], None],
    left_by: Callable[[bytes], Left | None],
) -> tuple[ShellOutcome, StartedShell]:
    """Run to the end, the time-out, the cancel, or a question that nobody answers.

    Args:
        start: starts it.
        quiet_seconds: how long it may be silent after a question at a terminal; four times that without one.
        closed: called when nobody watches it any more.
        left_by: reads what its shell has reported.

    Raises:
        CommandError: it could not be started.
    """
    pty = isinstance(spec, ShellCommand) and spec.pty
    buffer = OutputBuffer(spec.most_chars or settings.max_output_chars, settings.head_share, spec.save_to)

    def take(text: str) -> None:
        buffer.add(text)
        on_output(text)

    began = time.monotonic()
    started = start()
    # Without a terminal hardly any program waits for a person: a silence has to be long to mean that.
    quiet = quiet_seconds if pty else quiet_seconds * _WITHOUT_TERMINAL
    prompts = PromptWatch(quiet, started.output if pty else None)
    try:
        ending = _watch(started, spec, take, prompts, interrupt)
    finally:
        saved = buffer.close()
        closed(started)
    left = left_by(ending.report) if isinstance(spec, ShellCommand) and ending.by_itself else None
    code, killer = started.exit()
    outcome = ShellOutcome(
        output=buffer.text(),
        exit_code=code,
        signal=killer,
        timed_out=ending.timed_out,
        interrupted=ending.interrupted,
        truncated_chars=buffer.truncated_chars,
        duration=time.monotonic() - began,
        saved=saved,
        left=left.state if left else None,
        not_kept=left.not_kept if left else (),
        waits_for=ending.waits_for,
        pipe_statuses=read_pipes(ending.report) if ending.by_itself else (),
    )
    return outcome, started


def _watch(
    started: StartedShell,
    spec: CommandSpec,
    on_text: Callable[[str], None],
    prompts: PromptWatch,
    interrupt: Interrupt,
) -> Ending:
    wake = WakePipe()
    forget = interrupt.on_cancel(wake.wake)
    try:
        watch = CommandWatch(started, wake, spec.timeout, on_text, prompts=prompts, waited=spec.waited)
        return watch.run()
    except BaseException:
        # Whatever broke off the watch, nobody looks after the command any more.
        started.signal(SIGKILL)
        started.process.wait(_KILLED_SECONDS)
        raise
    finally:
        forget()
        wake.close()
