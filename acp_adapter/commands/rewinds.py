"""`/undo`, `/rewind N`, `/redo`."""

from __future__ import annotations

import re

from acp_adapter.commands.command import Desk, Told, Typed
from agent_core.errors import RequestError

_NUMBER = re.compile(r"0{0,9}[1-9][0-9]{0,8}")
_HOW = {
    "undo": "/undo takes nothing after it",
    "redo": "/redo takes nothing after it",
    "rewind": "Write how many turns, as in /rewind 2",
}


def rewind(typed: Typed, desk: Desk) -> Told:
    """Take turns back, or bring them again."""
    from acp_adapter.rewinding import Rewinding  # noqa: PLC0415 - most people never undo

    name = typed.command.name
    if typed.rest != typed.words:  # a mention may be called like a number
        raise RequestError(f"/{name} cannot be done: it takes no mentions. {_HOW[name]}. Nothing was changed.")
    turns = turns_to_rewind(name, typed.rest)
    rewinding = Rewinding(desk.factory.sessions, desk.session, desk.factory.memory_files())
    return Told(rewinding.take_back(turns, desk.token))


def turns_to_rewind(name: str, rest: str) -> int:
    """How many turns `/undo` or `/rewind N` takes back; 0 for `/redo`.

    Raises:
        RequestError: what follows the name is no such number.
    """
    if name in {"undo", "redo"} and not rest:
        return int(name == "undo")
    if name == "rewind" and _NUMBER.fullmatch(rest):
        return int(rest)
    raise RequestError(f"/{name} {rest[:40]!r} cannot be done: {_HOW[name]}. Nothing was changed.")
