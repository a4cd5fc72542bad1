"""Hooks that are commands of the user's, from the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from agent_core.hooks.hook import Hook, HookCall, Verdict
from agent_core.hooks.json_forms import from_run, to_json
from agent_core.hooks.process import run_command
from agent_core.settings.hooks import CommandHookPart, event_of
from tools.environments.child_env import child_environment
from tools.environments.guardian import Guardian
from tools.environments.program_finder import PROGRAMS
from tools.light_dataclass import dataclass
from tools.ports import Interrupt

_SHOWN = 60
# They come before the user has asked for anything to be done in the workspace.
_OPENING = frozenset({"session_start", "prompt"})


@dataclass(frozen=True, slots=True)
class CommandRunner:
    """What all commands of hooks have in common.

    Attributes:
        variables: what their environment is made from: this process's, without what the settings take keys from.
        extra: variables that they get besides.
    """

    guardian: Guardian
    variables: Callable[[], Mapping[str, str]]
    extra: Mapping[str, str]


def command_hooks(parts: Sequence[CommandHookPart], where: str, runner: CommandRunner) -> Iterator[Hook]:
    """The hooks that the settings in `where` name."""
    for part in parts:
        event = event_of(part.event)
        if event is None:
            continue
        refuses = event == "pre_tool_call" if part.refuses is None else part.refuses
        yield Hook(
            event=event,
            source=f"The hook `{_short(part.command)}` ({where})",
            run=_Command(part, runner).run,
            matcher=part.matcher,
            in_background=part.in_background,
            refuses_when_failing=refuses and not part.in_background,
        )


@dataclass(frozen=True, slots=True)
class _Command:
    part: CommandHookPart
    runner: CommandRunner

    def run(self, call: HookCall, interrupt: Interrupt | None) -> Verdict:
        """Run it, and understand what it says.

        Raises:
            HookFailed, ToolInterrupted: as `run_command` and `from_run` do.
        """
        directory = str(call.cwd)
        own = {
            "PWD": directory,
            "HERMES_PROJECT_DIR": directory,
            # By this name the community's commands find their files.
            "CLAUDE_PROJECT_DIR": directory,
            "HERMES_SESSION_ID": call.session_id,
            "HERMES_HOOK_EVENT": call.event,
        }
        ran = run_command(
            self.part.command,
            to_json(self.part.event, call),
            # A session on another machine has a directory that may not be here.
            cwd=call.cwd if call.cwd.is_dir() else Path.home(),
            env=_with_path(child_environment(self.runner.variables(), {**own, **self.runner.extra}), call.event),
            seconds=self.part.timeout,
            interrupt=interrupt,
            guardian=self.runner.guardian,
        )
        return from_run(self.part.event, call, ran)


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def _with_path(variables: dict[str, str], event: str) -> dict[str, str]:
    """With a PATH on which what a workspace brings comes last; nothing of it where a session only opens."""
    trusted, whole = PROGRAMS.search_path(variables.get("PATH")), variables.get("PATH", "")
    return {**variables, "PATH": trusted if event in _OPENING or not whole else f"{trusted}:{whole}"}
