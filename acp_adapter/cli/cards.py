"""Tool calls in a transcript: what is known of each, and the lines that each update adds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp_adapter.cli.diffs import diff_lines
from acp_adapter.cli.output_lines import OutputLines
from acp_adapter.cli.safe_text import one_line, safe_text
from acp_adapter.cli.style import Colour, Sign, Style

_OVER = ("completed", "failed")
_WORDS = {"pending": "pending", "in_progress": "running", "completed": "done", "failed": "failed"}
_SIGNS: dict[str, tuple[Sign, Colour]] = {
    "pending": ("pending", "dim"),
    "in_progress": ("in_progress", "cyan"),
    "completed": ("completed", "green"),
    "failed": ("failed", "red"),
}
_MOST_LOCATIONS = 3
_COMMAND_LINES = (200, 20)
_OTHER_LINES = (15, 0)


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
    text: str = ""
    live: bool = False
    diffs: dict[str, Any] = field(default_factory=dict)
    output: OutputLines | None = None

    def merge(self, update: dict[str, Any]) -> None:
        """Take over what `update` tells; a field that it leaves out or nulls stays."""
        self.title = str(update.get("title") or self.title)
        self.kind = str(update.get("kind") or self.kind)
        self.status = str(update.get("status") or self.status)
        self.locations = _list(update.get("locations")) or self.locations
        self.raw_input = update.get("rawInput", self.raw_input)
        exit_code = _meta(update, "terminal_exit").get("exit_code")
        self.exit_code = exit_code if isinstance(exit_code, int) else self.exit_code


class Cards:
    """All tool calls of a conversation."""

    def __init__(self, style: Style, cwd: Path) -> None:
        self._style = style
        self._cwd = cwd
        self._cards: dict[str, Card] = {}
        self._last = ""

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
        head = [self._head(card, t)] if changed and not over else []
        body = [*self._diffs(card, update), *self._output(card, update, over=over)]
        if body and not head and self._last != call_id:
            head = [self._head(card, t)]
        lines = head + [f"    {line}" for line in body] + ([self._head(card, t)] if over else [])
        if lines:
            self._last = call_id
        return lines

    def question(self, tool_call: dict[str, Any]) -> list[str]:
        """The lines that say what a permission question is about."""
        card = self._cards.get(str(tool_call.get("toolCallId"))) or Card("")
        paint = self._style.paint
        lines = [f"  {paint('?', 'yellow', 'bold')} {paint('Allow', 'bold')} {card.kind}: {self._name(card)}"]
        command = card.raw_input.get("command") if isinstance(card.raw_input, dict) else None
        if isinstance(command, str) and command.strip() not in one_line(card.title):
            lines += [f"    $ {line}" for line in safe_text(command).strip().splitlines()]
        return lines

    def place(self, path: str) -> str:
        """`path` as the person knows it: relative where it lies in the working directory."""
        try:
            return one_line(str(Path(path).relative_to(self._cwd)))
        except ValueError:
            return one_line(path)

    def _head(self, card: Card, t: float) -> str:
        sign, colour = _SIGNS.get(card.status, ("dot", "dim"))
        facts = [_WORDS.get(card.status, one_line(card.status))]
        if card.exit_code is not None and card.status in _OVER:
            facts.append(f"exit {card.exit_code}")
        if card.status in _OVER:
            facts.append(f"{t - card.since:.2f} s")
        paint = self._style.paint
        state = paint(f"[{', '.join(facts)}]", "red" if card.status == "failed" else "dim")
        return f"  {paint(self._style.sign(sign), colour)} {one_line(card.kind):<8} {self._name(card)}  {state}"

    def _name(self, card: Card) -> str:
        title = one_line(card.title) or "(untitled)"
        places = [place for place in self._places(card) if place not in title]
        if not places:
            return self._style.paint(title, "bold")
        more = ["..."] if len(places) > _MOST_LOCATIONS else []
        shown = " ".join(places[:_MOST_LOCATIONS] + more)
        return f"{self._style.paint(title, 'bold')}  {self._style.paint(shown, 'cyan')}"

    def _places(self, card: Card) -> Iterator[str]:
        for location in card.locations:
            if isinstance(location, dict) and location.get("path"):
                place, line = self.place(str(location["path"])), location.get("line")
                if place != ".":  # the working directory itself says nothing
                    yield place if line is None else f"{place}:{line}"

    def _diffs(self, card: Card, update: dict[str, Any]) -> list[str]:
        lines: list[str] = []
        for item in _list(update.get("content")):
            if not isinstance(item, dict) or item.get("type") != "diff":
                continue
            path, change = str(item.get("path")), (item.get("oldText"), item.get("newText"))
            if card.diffs.get(path) != change:  # a proposal and its execution carry the same diff
                card.diffs[path] = change
                before = None if change[0] is None else str(change[0])
                lines += diff_lines(self.place(path), before, str(change[1] or ""), self._style)
        return lines

    def _output(self, card: Card, update: dict[str, Any], *, over: bool) -> list[str]:
        if card.output is None:
            card.output = OutputLines(*(_COMMAND_LINES if card.kind == "execute" else _OTHER_LINES))
        lines = card.output.feed(_new_output(card, update, over=over))
        if over:
            if card.status == "failed" and card.kind != "execute" and card.output.empty and not card.diffs:
                lines += card.output.feed(_raw(update.get("rawOutput")))
            lines += card.output.finish()
        bar = self._style.paint(self._style.sign("bar"), "dim")
        return [f"{bar} {line}".rstrip() for line in lines]


def _new_output(card: Card, update: dict[str, Any], *, over: bool) -> str:
    """What the update adds to the output: live pieces by `_meta`, or a content text that replaces an earlier one."""
    data = _meta(update, "terminal_output").get("data")
    if isinstance(data, str):
        card.live = True
        return data
    text = _content_text(update)
    if not text or (card.live and card.kind == "execute"):
        return ""
    if card.kind == "think" and card.status != "failed":
        return ""  # plans and thoughts come as updates of their own
    shown = card.text
    if text.startswith(shown):
        card.text = text
        return text[len(shown) :]
    if not over:
        return ""  # the end of a long output, say; what it finally is comes with the last update
    card.text = text
    return ("\n" if shown and not shown.endswith("\n") else "") + text


def _content_text(update: dict[str, Any]) -> str:
    texts = [
        _without_fence(str(block.get("text") or ""))
        for item in _list(update.get("content"))
        if isinstance(item, dict) and isinstance(block := item.get("content"), dict) and block.get("type") == "text"
    ]
    return "\n".join(texts)


def _without_fence(text: str) -> str:
    first, _, rest = text.partition("\n")
    if not first.startswith("```"):
        return text
    return rest.rstrip().removesuffix(first[: len(first) - len(first.lstrip("`"))]).removesuffix("\n")


def _raw(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _meta(update: dict[str, Any], key: str) -> dict[str, Any]:
    meta = update.get("_meta")
    value = meta.get(key) if isinstance(meta, dict) else None
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
