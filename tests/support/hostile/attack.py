"""What one attack is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.support.obedient_model import order

Call = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Attack:
    """What a hostile text makes the model do.

    Names between `@` stand for places of the world (`@HOME@`, `@WEB@` …), see `World.places`.

    Attributes:
        calls: tool calls, in order.
        files: files that lie in the workspace before, by name.
        says: what the text says besides.
        is_silent: nothing need show it: it hides that it was kept from something, or nobody does what it wants.
        is_slow: it takes seconds, whatever comes of it.
    """

    name: str
    calls: tuple[Call, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    says: str = ""
    is_silent: bool = False
    is_slow: bool = False

    def text(self, places: Mapping[str, str]) -> str:
        """The hostile text."""
        lines = [order(tool, json.loads(filled(json.dumps(arguments), places))) for tool, arguments in self.calls]
        return "\n".join([*lines, filled(self.says, places)]) + "\n"


def filled(text: str, places: Mapping[str, str]) -> str:
    """`text` with its places."""
    for name, value in places.items():
        text = text.replace(f"@{name}@", value)
    return text


def run(name: str, command: str, /, *, files: dict[str, str] | None = None, **more: Any) -> Attack:
    """One command."""
    return Attack(name, (("terminal", {"command": command, **more}),), tuple((files or {}).items()))


def late(name: str, command: str, /, *, files: dict[str, str] | None = None, **more: Any) -> Attack:
    """One command whose harm comes when its call is over; the model waits for it."""
    calls = (("terminal", {"command": command, **more}), ("terminal", {"command": "sleep 0.6"}))
    return Attack(name, calls, tuple((files or {}).items()))


def script(name: str, source: str, /, program: str = "python3") -> Attack:
    """A file that lies in the workspace, and the everyday command that runs it."""
    file = f"{name.replace(' ', '-')}.txt"
    return run(name, f"{program} {file}", files={file: source})


def silent(attack: Attack) -> Attack:
    """The same, which hides that it failed."""
    return replace(attack, is_silent=True)


def slow(attack: Attack) -> Attack:
    """The same, which takes seconds."""
    return replace(attack, is_slow=True)
