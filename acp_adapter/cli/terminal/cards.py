"""Tool calls in a transcript: what is known of each, and the lines that each update adds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp_adapter.cli.terminal.card_text import CardText, meta
from acp_adapter.cli.terminal.columns import clipped, columns, wrapped
from acp_adapter.cli.terminal.diffs import diff_and_rest
from acp_adapter.cli.terminal.question_text import about
from acp_adapter.cli.terminal.safe_text import one_line
from acp_adapter.cli.terminal.style import Colour, Sign, Style

_OVER = ("completed", "failed")
_WORDS = {"pending": "pending", "in_progress": "running", "completed": "done", "failed": "failed"}
_SIGNS: dict[str, tuple[Sign, Colour]] = {
    "pending": ("pending", "dim"),
    "in_progress": ("in_progress", "cyan"),
    "completed": ("completed", "green"),
    "failed": ("failed", "red"),
}
_MOST_LOCATIONS = 3
_MOST_LEVELS = 4
_LEAST_TITLE = 20
_AS_PRINTED = ("execute", "read", "search")
_BODY = len("    | ")


@dataclass(slots=True)
class Card:
    """One tool call as far as the agent told it."""

    call_id: str
    title: str = ""
    kind: str = "other"
    status: str = "pending"
    locations: list[Any] = field(default_factory=list)
    raw_input: Any = None
    exit_code: int | None = None
    since: float = 0.0
    parent: str = ""
    diffs: dict[str, Any] = field(default_factory=dict)
    rest_of_diffs: list[str] = field(default_factory=list)
    text: CardText | None = None

    def merge(self, update: dict[str, Any]) -> None:
        """Take over what `update` tells; a field that it leaves out or nulls stays."""
        self.title = str(update.get("title") or self.title)
        self.kind = str(update.get("kind") or self.kind)
        self.status = str(update.get("status") or self.status)
        self.locations = _list(update.get("locations")) or self.locations
        self.raw_input = update.get("rawInput", self.raw_input)
        exit_code = meta(update, "terminal_exit").get("exit_code")
        self.exit_code = exit_code if isinstance(exit_code, int) else self.exit_code
        self.parent = str(meta(update, "hermes").get("parentToolCallId") or self.parent)


class Cards:
    """All tool calls of a conversation; a call of another call's stands under it, further in.

    Attributes:
        answer_indent: the blanks before the answer to the last question.
    """

    def __init__(self, style: Style, cwd: Path) -> None:
        self._style = style
        self._cwd = cwd
        self._cards: dict[str, Card] = {}
        self._last = ""
        self.answer_indent = ""

    def update(self, update: dict[str, Any], t: float) -> list[str]:
        """The lines that a `tool_call`, a `tool_call_update` or a permission question's tool call adds."""
        call_id = str(update.get("toolCallId"))
        known = self._cards.get(call_id)
        card = known or self._cards.setdefault(call_id, Card(call_id, since=t))
        before = card.status if known else ""
        card.merge(update)
        changed = card.status != before
        if changed and card.status == "in_progress":
            card.since = t  # what it waited for before, say an answer, is not its time
        over = changed and card.status in _OVER
        body = [f"    {line}" for line in (*self._diffs(card, update), *self._output(card, update, over=over))]
        if over and self._last == call_id:
            lines = [*body, self._head(card, t)]
        elif changed or (body and self._last != call_id):
            lines = [self._head(card, t), *body]
        else:
            lines = body
        if lines:
            self._last = call_id
        indent = self._indent(card)
        return [f"{indent}{line}" for line in lines]

    def question(self, tool_call: dict[str, Any]) -> list[str]:
        """The lines that say what a permission question is about."""
        card = self._cards.get(str(tool_call.get("toolCallId"))) or Card("")
        paint = self._style.paint
        title, *more = about(
            card.title, card.raw_input, is_told=bool(card.diffs or (card.text and card.text.opening))
        )
        places = " ".join(place for place in self._places(card) if place not in title)
        name = "  ".join(filter(None, (paint(title, "bold"), paint(places, "cyan"))))
        lines = [f"  {paint('?', 'yellow', 'bold')} {paint('Allow', 'bold')} {one_line(card.kind)}: {name}"]
        lines += [f"    {line}" for line in (*more, *self._rest(card))]
        self.answer_indent = self._indent(card)
        return [f"{self.answer_indent}{line}" for line in lines]

    def place(self, path: str) -> str:
        """`path` as the person knows it: relative where it lies in the working directory."""
        try:
            return one_line(str(Path(path).relative_to(self._cwd)))
        except ValueError:
            return one_line(path)

    def _rest(self, card: Card) -> list[str]:
        """What was too long to be shown before: a person who is asked has to see all of it."""
        cut = card.text.take_cut() if card.text else []
        bar = self._style.paint(self._style.sign("bar"), "dim")
        lines = [f"{bar} {line}".rstrip() for line in cut] + card.rest_of_diffs
        card.rest_of_diffs = []
        return [self._style.paint("What was left out above:", "dim"), *lines] if lines else []

    def _head(self, card: Card, t: float) -> str:
        sign, colour = _SIGNS.get(card.status, ("dot", "dim"))
        facts = [_WORDS.get(card.status, one_line(card.status))]
        if card.exit_code is not None and card.status in _OVER:
            facts.append(f"exit {card.exit_code}")
        if card.status in _OVER:
            facts.append(f"{t - card.since:.2f} s")
        paint, state = self._style.paint, f"[{', '.join(facts)}]"
        kind = f"{one_line(card.kind):<8}"
        used = len(self._indent(card)) + len("  + ") + len(kind) + len("   ") + len(state)
        name = self._name(card, max(_LEAST_TITLE, self._style.width - used) if self._style.width else None)
        painted = paint(state, "red" if card.status == "failed" else "dim")
        return f"  {paint(self._style.sign(sign), colour)} {kind} {name}  {painted}"

    def _name(self, card: Card, room: int | None = None) -> str:
        """Title and places, in `room` signs where that is given."""
        title = one_line(card.title) or "(untitled)"
        places = [place for place in self._places(card) if place not in title]
        more = ["..."] if len(places) > _MOST_LOCATIONS else []
        shown = " ".join(places[:_MOST_LOCATIONS] + more)
        if room is not None:
            title = clipped(title, room, self._style.sign("more"))
        if not shown or (room is not None and columns(title) + columns(shown) + len("  ") > room):
            return self._style.paint(title, "bold")
        return f"{self._style.paint(title, 'bold')}  {self._style.paint(shown, 'cyan')}"

    def _indent(self, card: Card) -> str:
        level, parent = 0, card.parent
        while parent in self._cards and level < _MOST_LEVELS:
            level, parent = level + 1, self._cards[parent].parent
        return "  " * level

    def _places(self, card: Card) -> Iterator[str]:
        for location in card.locations:
            if isinstance(location, dict) and location.get("path"):
                place, line = self.place(str(location["path"])), location.get("line")
                if place != ".":  # the working directory itself says nothing
                    yield place if line is None else f"{place}:{one_line(str(line))}"

    def _diffs(self, card: Card, update: dict[str, Any]) -> list[str]:
        lines: list[str] = []
        for item in _list(update.get("content")):
            if not isinstance(item, dict) or item.get("type") != "diff":
                continue
            path, change = str(item.get("path")), (item.get("oldText"), item.get("newText"))
            if card.diffs.get(path) != change:  # a proposal and its execution carry the same diff
                card.diffs[path] = change
                before = None if change[0] is None else str(change[0])
                shown, rest = diff_and_rest(self.place(path), before, str(change[1] or ""), self._style)
                lines += shown
                if rest:
                    lines.append(self._style.paint(f"({len(rest)} more lines of diff)", "dim"))
                    card.rest_of_diffs += rest
        return lines

    def _output(self, card: Card, update: dict[str, Any], *, over: bool) -> list[str]:
        if card.text is None:
            card.text = CardText(card.kind)
        bar = self._style.paint(self._style.sign("bar"), "dim")
        added = card.text.add(update, card.status, over=over, has_diff=bool(card.diffs))
        lines = [line for told in added for line in self._fit(card, told)]
        return [f"{bar} {line}".rstrip() for line in lines]

    def _fit(self, card: Card, line: str) -> list[str]:
        # What a command printed stays as it is, to be copied; what somebody says is read.
        room = self._style.width - len(self._indent(card)) - _BODY
        if not self._style.width or columns(line) <= room or (card.kind in _AS_PRINTED and card.status != "failed"):
            return [line]
        return wrapped(line, max(room, _LEAST_TITLE))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
