"""Commands of the person's own: Markdown files whose text is a prompt.

    ---
    description: Explain a file
    argument-hint: path
    ---
    Explain $1 to someone who is new here. Mind this: $ARGUMENTS

The text is only ever a prompt, and only where the person types the command's name: nothing in it is run or read in.
"""

from __future__ import annotations

import re
from typing import Literal

from acp_adapter.commands.arguments import has_places, placed
from acp_adapter.commands.command import AsPrompt, Desk, SlashCommand, Typed
from agent_core.sessions.archive.titles import clean_title
from tools.light_dataclass import dataclass

Origin = Literal["project", "yours"]

_FENCE = "---"
_FIELD = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9_-]*)[ \t]*:[ \t]*(?P<value>.*)")
_MARKS = re.compile(r"(?:#{1,6}|>|[-*+])\s+")
_ROOM = 60  # of the 200 characters that a line may have
_QUOTES = "\"'"


@dataclass(frozen=True, slots=True)
class CustomCommand:
    """A command from a file.

    Attributes:
        name: `name`, or `folder:name`.
        description, hint: one line each, without control characters.
        body: the prompt, with `$ARGUMENTS` and `$1` to `$9` in it.
        origin: whose file it is: the project's, which may be anybody's words, or the person's own.
    """

    name: str
    description: str
    hint: str
    body: str
    origin: Origin


def read_command(name: str, text: str, origin: Origin) -> CustomCommand | None:
    """The command in a file's text; None where it holds no prompt."""
    head, body = _parts(text.replace("\r\n", "\n"))
    if not body:
        return None
    fields = _fields(head)
    described = _line(fields.get("description", "")) or _line(_MARKS.sub("", body.partition("\n")[0], count=1))
    hint = _line(fields.get("argument-hint", "")) or ("arguments" if has_places(body) else "")
    return CustomCommand(name, f"{described} ({origin})".lstrip(), hint, body, origin)


def as_command(custom: CustomCommand) -> SlashCommand:
    """The command, ready to be run."""

    def run(typed: Typed, _desk: Desk) -> AsPrompt:
        return AsPrompt(filled(custom.body, typed.rest))

    return SlashCommand(custom.name, custom.description, run, custom.hint)


def filled(body: str, arguments: str) -> str:
    """`body` with the arguments in their places; where it has none, they follow it."""
    text, places = placed(body, arguments)
    return f"{text}\n\n{arguments}" if arguments and not places else text


def _parts(text: str) -> tuple[list[str], str]:
    """The lines between two lines of three dashes at the beginning, and the text behind them."""
    lines = text.split("\n")
    if lines[0].rstrip() == _FENCE:
        for number, line in enumerate(lines[1:], 1):
            if line.rstrip() == _FENCE:
                return lines[1:number], "\n".join(lines[number + 1 :]).strip()
    return [], text.strip()


def _fields(head: list[str]) -> dict[str, str]:
    """Lines `name: value`. No more of YAML is read: the file may be anybody's."""
    found = (_FIELD.fullmatch(line) for line in head)
    return {field["name"].lower(): _unquoted(field["value"].strip()) for field in found if field is not None}


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] in _QUOTES and value[0] == value[-1]
    return value[1:-1] if is_quoted else value


def _line(text: str) -> str:
    return clean_title(text, room=_ROOM)
