"""What a person can type as `/name` at the beginning of a prompt: one table, offered to the editor and read back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_core.errors import RequestError
from agent_core.events import Command, CommandsOffered
from agent_core.prompt_parts import SaidPart, SaidText

UNDO = Command("undo", "Take the last turn back: the conversation, and the files it changed")
REWIND = Command("rewind", "Take several turns back, with the files they changed", "how many turns")
REDO = Command("redo", "Bring back what the last undo or rewind took away")

_NUMBER = re.compile(r"0{0,9}[1-9][0-9]{0,8}")
_COMMANDS = {command.name: command for command in (UNDO, REWIND, REDO)}


@dataclass(frozen=True, slots=True)
class Typed:
    """A command as it was typed. `rest` is what followed its name."""

    command: Command
    rest: str


def offered() -> CommandsOffered:
    """The commands that there are."""
    return CommandsOffered(tuple(_COMMANDS.values()))


def typed_command(parts: Sequence[SaidPart]) -> Typed | None:
    """The command that a prompt is; None for what is for the model, as an unknown name is."""
    if len(parts) != 1 or not isinstance(parts[0], SaidText) or not parts[0].text.lstrip().startswith("/"):
        return None
    name, _, rest = parts[0].text.strip()[1:].partition(" ")
    command = _COMMANDS.get(name)
    return None if command is None else Typed(command, rest.strip())


def turns_to_rewind(typed: Typed) -> int:
    """How many turns `/undo` or `/rewind N` takes back.

    Raises:
        RequestError: what follows the name is no such number.
    """
    if typed.command is UNDO and not typed.rest:
        return 1
    if typed.command is REWIND and _NUMBER.fullmatch(typed.rest):
        return int(typed.rest)
    how = "/undo takes nothing after it" if typed.command is UNDO else "Write how many turns, as in /rewind 2"
    raise RequestError(f"/{typed.command.name} {typed.rest[:40]!r} cannot be done: {how}. Nothing was changed.")
