"""Tool calls in a terminal: what is known of each, and the lines that each update adds."""

from __future__ import annotations

import json
import shlex
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp_adapter.cli.console import Colour, Sign, Style, clipped, columns, diff_and_rest, wrapped
from acp_adapter.format import one_line, safe_text, visible_text

# What a tool call prints, cut to whole lines and to a length that a transcript bears.


class OutputLines:
    """Text comes in pieces, whole lines go out: the first `head` at once, the last `tail` at the end."""

    def __init__(self, head: int, tail: int) -> None:
        self._room = head
        self._left_out = 0
        self._tail: deque[str] = deque(maxlen=tail)
        self._rest: list[str] = []

    def feed(self, text: str) -> list[str]:
        """The lines that `text` completes and that may be shown now."""
        first, *others = text.split("\n")
        self._rest.append(first)
        if not others:
            return []
        lines = ["".join(self._rest), *others[:-1]]
        self._rest = [others[-1]]
        return [line for raw in lines for line in self._take(raw)]

    def finish(self) -> list[str]:
        """The unfinished line, then how much was left out, then the last lines."""
        rest, self._rest = "".join(self._rest), []
        lines = self._take(rest) if rest else []
        hidden = self._left_out - len(self._tail)
        if hidden > 0:
            lines.append(f"({hidden} more line{'s' if hidden > 1 else ''})")
        return [*lines, *self._tail]

    def _take(self, raw: str) -> list[str]:
        lines = safe_text(raw.rstrip("\r")).split("\n")
        shown, more = lines[: self._room], lines[self._room :]
        self._room -= len(shown)
        self._left_out += len(more)
        self._tail.extend(more)
        return shown


# What the updates of a call add to the text under its card: each piece once. An agent tells a call's text in pieces
# (`_meta.terminal_output`), or as content that each update replaces: with more at its end, with the last lines of
# what is printed only, or with the whole of it in the end.

_LIMITS = {"execute": (200, 20), "think": (60, 20)}
_OTHER_LIMITS = (15, 0)
_SURE = 80  # a text this long is in another one by no accident
_MOST_KEPT = 50_000  # agents that tell only the end of an output tell less


@dataclass(slots=True)
class CardText:
    """The text under one card, as far as it was shown.

    Attributes:
        kind: the call's kind, which says how much is shown.
        opening: blocks that the card had before its call ran.
    """

    kind: str
    opening: list[str] = field(default_factory=list)
    _shown: str = ""
    _live: bool = False
    _cut: list[str] = field(default_factory=list)
    _lines: OutputLines | None = None

    def add(self, update: dict[str, Any], status: str, *, over: bool, has_diff: bool) -> list[str]:
        """The lines that `update` adds to a call.

        Args:
            update: what the agent told.
            status: the call's status now.
            over: the call has just ended.
            has_diff: the card shows a change already, which tells more than the call's raw output.
        """
        lines: list[str] = []
        if isinstance(data := meta(update, "terminal_output").get("data"), str):
            self._live = True
            lines += self._feed(data)
        # A long one is told again with its beginning only.
        texts = [
            text
            for text in _texts(update)
            if not any(old == text or (text.endswith("…") and old.startswith(text[:-1])) for old in self.opening)
        ]
        if status == "pending":
            lines += [line for text in texts for line in self._whole(text)]
            self.opening += texts
        elif texts and not (self._live and self.kind == "execute"):
            lines += self._grown("\n".join(texts), over=over)
        nothing_yet = not (lines or self._shown or self.opening or self._live)
        if over and status == "failed" and self.kind != "execute" and nothing_yet and not has_diff:
            lines += self._feed(_raw(update.get("rawOutput")))
        return lines + self._end() if over else lines

    def take_cut(self) -> list[str]:
        """The lines that were left out of what the card had before its call ran."""
        cut, self._cut = self._cut, []
        return cut

    def _grown(self, text: str, *, over: bool) -> list[str]:
        """What `text` has that was not shown; where it does not go on from that, the end of the call tells all."""
        if self.kind == "think":
            text = text.rstrip("\n") + "\n"  # sub-agents are told by whole lines
        added = _added(self._shown, text)
        if added is None and not over:
            return []
        lines = self._end() if added is None else []
        self._shown = text
        return lines + self._feed(text if added is None else added)

    def _whole(self, text: str) -> list[str]:
        """What stands there before the call runs: it is all there, and what the person is asked about."""
        text = visible_text(text)
        head, tail = _LIMITS.get(self.kind, _OTHER_LIMITS)
        told = text.removesuffix("\n").split("\n")
        self._cut += told[head : len(told) - tail] if len(told) > head + tail else []
        return [*self._feed(text), *self._end()]

    def _feed(self, text: str) -> list[str]:
        self._lines = self._lines or OutputLines(*_LIMITS.get(self.kind, _OTHER_LIMITS))
        return self._lines.feed(text)

    def _end(self) -> list[str]:
        lines, self._lines = self._lines.finish() if self._lines else [], None
        return lines


def meta(update: dict[str, Any], key: str) -> dict[str, Any]:
    """The object `key` of an update's `_meta`; empty where there is none."""
    found = update.get("_meta")
    value = found.get(key) if isinstance(found, dict) else None
    return value if isinstance(value, dict) else {}


def _added(before: str, after: str) -> str | None:
    """What `after` has behind `before`, or the end of it; None where it does not go on from there."""
    if after.startswith(before):
        return after[len(before) :]
    start, head = max(0, len(before) - _MOST_KEPT), after[:_SURE]
    while start := before.find("\n", start) + 1:
        kept = len(before) - start
        if kept and before.startswith(head[:kept], start) and after.startswith(before[start:]):
            return after[kept:]
    return None


def _texts(update: dict[str, Any]) -> list[str]:
    content = update.get("content")
    texts = [_text(item["content"]) for item in content if _is_block(item)] if isinstance(content, list) else []
    return [text for text in texts if text]


def _is_block(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("content"), dict)


def _text(block: dict[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return _without_fence(str(block.get("text") or ""))
        case "resource_link":
            return f"{one_line(str(block.get('name') or ''))}: {one_line(str(block.get('uri') or ''))}"
        case "image" | "audio" as kind:
            return f"[{kind}: {one_line(str(block.get('mimeType') or '?'))}]"
        case _:
            return ""


def _without_fence(text: str) -> str:
    first, _, rest = text.partition("\n")
    fence = first[: len(first) - len(first.lstrip("`"))]
    if len(fence) < len("```"):
        return text
    lines = rest.rstrip().split("\n")
    # Words may follow the code: how a command ended, say.
    closing = next((index for index in reversed(range(len(lines))) if lines[index] == fence), None)
    return "\n".join(line for index, line in enumerate(lines) if index != closing)


def _raw(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# What a permission question is about, in full: nothing that is done after a yes may be missing from it.

_MOST_INPUT = 20_000


def about(title: str, raw_input: Any, *, is_told: bool) -> list[str]:
    """The lines of the question: the title's, then the command, or what the call is given.

    Args:
        title: the call's, in as many lines as it has.
        raw_input: the call's.
        is_told: the card shows what would be done, a change say; then what the call is given is not told as well.
    """
    lines = visible_text(title).strip().splitlines() or ["(untitled)"]
    command = _command(raw_input)
    if command is None:
        return lines if is_told else [*lines, *_given(title, raw_input)]
    if command.strip() not in title:
        lines += [f"$ {line}" for line in visible_text(command).strip().splitlines()]
    return lines


def _command(raw_input: Any) -> str | None:
    """The command line in it; agents give it as one text, or as a program with its arguments."""
    match raw_input:
        case {"command": str(command)} if command.strip():
            return command
        case {"command": [str(), *_] as words} if all(isinstance(word, str) for word in words):
            return shlex.join(words)
    return None


def _given(title: str, raw_input: Any) -> list[str]:
    """What the call is given, where the title does not say it."""
    values = list(raw_input.values()) if isinstance(raw_input, dict) else [raw_input]
    if all(str(value) in title if isinstance(value, str | int | float) else not value for value in values):
        return []
    told = visible_text(json.dumps(raw_input, ensure_ascii=False))
    left = len(told) - _MOST_INPUT
    more = [f"({left} more characters)"] if left > 0 else []
    return [f"with {told[:_MOST_INPUT]}", *more]


# The cards.

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
