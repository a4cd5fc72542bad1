"""Asking the person at the terminal whether something may be done."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from acp_adapter.cli.client.approve import Ask, Option, Reply
from acp_adapter.cli.client.asking import Asking, Left, Withdrawn
from acp_adapter.cli.client.interrupts import QuestionAborted
from acp_adapter.cli.terminal.menu import Entry, Menu
from acp_adapter.cli.terminal.typed import forget_typed

_LETTERS: dict[str, str] = {"allow_once": "y", "allow_always": "a", "reject_once": "n", "reject_always": "n"}
_REPLIES: dict[str, Reply] = {
    "y": "once",
    "yes": "once",
    "a": "always",
    "always": "always",
    "n": "no",
    "no": "no",
}


def permission_question(asking: Asking) -> Ask | None:
    """The function that asks, or None where standard input or output is no terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    way = _choose if asking.style.live else _ask_in_a_line

    def ask(options: Sequence[Option]) -> Option | Reply:
        try:
            return way(asking, options)
        except QuestionAborted:
            return "cancelled"
        except Withdrawn:
            return "withdrawn"
        except Left:
            return "no"

    return ask


def _choose(asking: Asking, options: Sequence[Option]) -> Option | Reply:
    if not options:
        return "no"
    entries: list[Entry] = []
    for option in options:
        letter = _LETTERS.get(option.kind, "")
        entries.append(Entry(option.name, "" if any(entry.letter == letter for entry in entries) else letter))
    menu = Menu(entries)
    arrows = "↑ ↓" if asking.style.signs else "Up, Down,"
    asking.choose(menu, f"{arrows} Enter, or a letter; Esc denies, Ctrl-C cancels the turn")
    return options[menu.at]


def _ask_in_a_line(asking: Asking, options: Sequence[Option]) -> Option | Reply:
    # What was typed before the question appeared is no answer to it.
    forget_typed()
    numbered = {str(number): option for number, option in enumerate(options, 1)}
    for number, option in numbered.items():
        print(f"    {number} {option.name}")
    while True:
        said = asking.line("    a number, or y once, a always, n no: ").strip().lower()
        if said in _REPLIES:
            return _REPLIES[said]
        if said in numbered:
            return numbered[said]
