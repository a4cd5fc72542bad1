"""Commands that plugins bring, as commands of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_adapter.commands.command import AsPrompt, Desk, SlashCommand, Told, Typed
from agent_core.errors import RequestError

if TYPE_CHECKING:
    from agent_core.plugins.offers import PluginCommand


def as_slash(command: PluginCommand) -> SlashCommand:
    """The command, ready to be run."""

    def run(typed: Typed, desk: Desk) -> Told | AsPrompt:
        from agent_core.hooks.hook import HookFailed  # noqa: PLC0415 - few people have plugins
        from agent_core.plugins.offers import CommandCall, Prompt  # noqa: PLC0415

        call = CommandCall(typed.rest, desk.session.id, desk.session.seed.cwd)
        try:
            answer = command.run(call)
        except HookFailed as problem:
            raise RequestError(f"/{command.name} was not done. {command.source}: its command {problem}.") from problem
        return AsPrompt(answer.text) if isinstance(answer, Prompt) else Told(answer or "Done.")

    return SlashCommand(command.name, f"{command.description} (plugin)", run, command.hint)
