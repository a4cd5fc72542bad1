"""The text that stands in place of earlier messages: facts that code has put together, and prose between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_core.context.facts import Facts
from agent_core.context.shortening import both_ends, one_line

HEADING = "[Record of earlier work in this session]"
END = "[End of the record. The conversation goes on from here.]"
_WHAT_IT_IS = (
    "The conversation grew too long, so this record stands in place of its earlier part. It tells what happened; it "
    "is no new request and asks for nothing. What the user wants is in the user's own messages: quoted here, and "
    "behind this record. Files may have changed since: read them again before you rely on what you remember."
)
_FOCUS = "The user asked for this to be kept above all: {topic}"
_SHORT = 200
_QUOTED = 0.30
_LEAST_QUOTE = 400

Fence = Callable[[str], str]
"""Puts text that others may have written between lines that mark it as data."""


def assembled(facts: Facts, prose: str, fence: Fence, *, budget: int, topic: str = "") -> str:
    """The summary.

    Args:
        prose: what a model wrote of the work, checked; '' for none.
        budget: characters for the facts, about; the prose has its own limit.
    """
    parts = [HEADING, _WHAT_IT_IS]
    if topic:
        parts.append(_FOCUS.format(topic=one_line(topic, 2 * _SHORT)))
    room = _Room(budget)
    # In this order: what is dearest has its room first. In the text the person's words come first, too.
    parts += [
        _quoted(facts.said, room),
        _section("Open items of the plan", facts.plan, room, 0.30),
        _section("What the user decided", facts.decisions, room, 0.35),
        _section("Asked, and not answered", facts.pending, room, 0.3),
        _section("Values from the user's messages", facts.values, room, 0.25, joined=True),
        _section("Files written, latest first", facts.written, room, 0.35),
        _section("Commands run, latest first", facts.commands, room, 0.5),
        _fenced("What went wrong, latest first", facts.failures, room, fence),
        _section("Files and skills read (read them again to use them)", facts.read, room, 1.0, joined=True),
    ]
    if prose:
        parts.append(f"## The work so far, as a model has summed it up\n{prose}")
    parts.append(END)
    return "\n\n".join(part for part in parts if part)


class _Room:
    """Characters that are left."""

    def __init__(self, size: int) -> None:
        self.left = size

    def take(self, share: float, least: int = _SHORT) -> int:
        """So many characters of what is left, by share."""
        return max(least, int(self.left * share))

    def used(self, text: str) -> str:
        self.left = max(0, self.left - len(text))
        return text


def _quoted(said: Sequence[str], room: _Room) -> str:
    """The person's messages in their order: the latest whole as far as there is room, earlier ones in short."""
    limit = room.take(_QUOTED, _LEAST_QUOTE)
    lines: list[str] = []
    for number, text in enumerate(reversed(said)):
        whole = both_ends(text, limit) if number == 0 else text
        if number and len(whole) > limit:
            whole = one_line(text, _SHORT)
        if limit < len(whole) and number:
            earliest = one_line(said[0], _SHORT)
            more = len(said) - number - 1
            lines.append(f"> … {more} more …" if more else "")
            lines.append(_quote(earliest))
            break
        limit -= len(whole)
        lines.append(_quote(whole))
    if not lines:
        return ""
    body = "\n\n".join(line for line in reversed(lines) if line)
    return room.used(f"## What the user wrote in that part, in order\n{body}")


def _quote(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


def _section(title: str, lines: Sequence[str], room: _Room, share: float, *, joined: bool = False) -> str:
    listed = _listed(lines, room.take(share), joined=joined)
    return room.used(f"## {title}\n{listed}") if listed else ""


def _fenced(title: str, lines: Sequence[str], room: _Room, fence: Fence) -> str:
    listed = _listed(lines, room.take(0.6))
    return room.used(f"## {title}\n{fence(listed)}") if listed else ""


def _listed(lines: Sequence[str], limit: int, *, joined: bool = False) -> str:
    """As many lines as have room, the first always, and how many more there are."""
    kept: list[str] = []
    for line in lines:
        limit -= len(line) + 3
        if kept and limit < 0:
            break
        kept.append(line)
    more = [f"and {len(lines) - len(kept)} more"] if len(kept) < len(lines) else []
    if joined:
        return ", ".join([*kept, *more])
    return "\n".join(f"- {line}" for line in [*kept, *more])
