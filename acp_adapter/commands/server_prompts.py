"""Prompts of MCP servers as commands: `/server:prompt words` is a prompt with what the server makes of the words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from acp_adapter.commands.command import AsPrompt, Desk, SlashCommand, Typed
from agent_core.errors import RequestError, TurnInterrupted
from agent_core.events import Command
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.result import reason_of

if TYPE_CHECKING:
    from agent_core.mcp.offers import OfferedPrompt, PromptArgument

MOST_OFFERED = 100
_PREFIX = "mcp:"
_UNUSABLE = re.compile(r"[^a-z0-9_-]+")
_NAMED = re.compile(r"([A-Za-z0-9_.-]+)=(.*)", re.DOTALL)
_WIDTH = 140


@dataclass(frozen=True, slots=True)
class PromptCommand:
    """A server's prompt as a command.

    Attributes:
        name: as it is typed: `server:prompt`, or `mcp:server:prompt` where another command is called so.
        server, prompt: as the server and its prompt call themselves.
    """

    name: str
    server: str
    prompt: str
    description: str
    arguments: tuple[PromptArgument, ...] = ()

    @property
    def offer(self) -> Command:
        """The command as a client is told of it."""
        return Command(self.name, self.description, self.hint)

    @property
    def hint(self) -> str:
        """What may follow the name."""
        return " ".join(f"<{one.name}>" if one.required else f"[{one.name}]" for one in self.arguments)


def prompt_commands(prompts: Iterable[tuple[str, str, OfferedPrompt]]) -> tuple[PromptCommand, ...]:
    """The commands of servers' prompts, at most a hundred. `prompts` are server, its name for tools, prompt."""
    found: dict[str, PromptCommand] = {}
    for server, label, prompt in prompts:
        name = f"{_cleaned(label)}:{_cleaned(prompt.name)}"
        about = prompt.description if len(prompt.description) <= _WIDTH else f"{prompt.description[: _WIDTH - 1]}…"
        found.setdefault(
            name, PromptCommand(name, server, prompt.name, f"{about} (MCP server)".lstrip(), prompt.arguments)
        )
    return tuple(list(found.values())[:MOST_OFFERED])


def prompts_beside(prompts: Sequence[PromptCommand], taken: Collection[str]) -> tuple[PromptCommand, ...]:
    """The commands, by other names where others are called so."""
    return tuple(replace(one, name=_PREFIX + one.name) if one.name in taken else one for one in prompts)


def as_slash(command: PromptCommand) -> SlashCommand:
    """The command, ready to be run."""

    def run(typed: Typed, desk: Desk) -> AsPrompt:
        return AsPrompt(_words(command, typed, desk))

    return SlashCommand(command.name, command.description, run, command.hint)


def _words(command: PromptCommand, typed: Typed, desk: Desk) -> str:
    """What the server makes of it; blocks.

    Raises:
        RequestError: an argument is missing, or the server does not answer. TurnInterrupted: it was cancelled.
    """
    servers = desk.session.servers
    arguments = read_arguments(command, typed.rest)
    if servers is None:
        raise RequestError(f"The MCP server {command.server} is not in this session any more.")
    try:
        result = servers.prompt(command.server, command.prompt, arguments, desk.token)
    except ToolInterrupted as stop:
        raise TurnInterrupted from stop
    if result.failed:
        raise RequestError(
            f"/{command.name} could not be used: {reason_of(result.text)} Nothing was sent to the model."
        )
    desk.session.workspace.approvals.note_others()
    return f"Do what this prompt says, which the MCP server {command.server} has made for me.\n\n{result.text}"


def read_arguments(command: PromptCommand, rest: str) -> Mapping[str, str]:
    """The arguments of a prompt from what was typed: in their order, the last one whole, or as `name=value`.

    Raises:
        RequestError: one that is required is missing, or there are more than the prompt has.
    """
    names = [one.name for one in command.arguments]
    found, left = _read(rest.strip(), names)
    missing = [one.name for one in command.arguments if one.required and one.name not in found]
    if missing or left:
        why = f"needs {', '.join(missing)}" if missing else f"has no place for {left!r}"
        raise RequestError(f"/{command.name} {why}. Type it as: /{command.name} {command.hint}".rstrip())
    return found


def _read(text: str, names: Sequence[str]) -> tuple[dict[str, str], str]:
    """The arguments, and what is left over."""
    try:
        words = shlex.split(text)
    except ValueError:  # an apostrophe is no quote
        words = text.split()
    named = [(_NAMED.fullmatch(word), word) for word in words]
    if words and all(found is not None and found[1] in names for found, _ in named):
        return {found[1]: found[2] for found, _ in named if found is not None}, ""
    if not names:
        return {}, text
    if len(words) > len(names):
        words = [*words[: len(names) - 1], " ".join(words[len(names) - 1 :])]
    if len(names) == 1 and text:
        words = [text]
    return dict(zip(names, words, strict=False)), ""


def _cleaned(name: str) -> str:
    return _UNUSABLE.sub("_", name.lower()).strip("_-") or "prompt"
