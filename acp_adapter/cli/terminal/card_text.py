"""What the updates of a tool call add to the text under its card: each piece once, however it is told.

An agent tells a call's text in pieces (`_meta.terminal_output`), or as content that each update replaces: with more
at its end, with the last lines of what is printed only, or with the whole of it in the end.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from acp_adapter.cli.terminal.output_lines import OutputLines
from acp_adapter.cli.terminal.safe_text import one_line, visible_text

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
        shown: blocks that came since.
    """

    kind: str
    opening: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    live: bool = False
    _cut: list[str] = field(default_factory=list)
    _empty: bool = True
    _lines: OutputLines | None = None

    def add(self, update: dict[str, Any], status: str, *, over: bool, has_diff: bool) -> list[str]:
        """The lines that `update` adds to a call.

        Args:
            update: what the agent told.
            status: the call's status now.
            over: the call has just ended.
            has_diff: the card shows a change already, which tells more than the call's raw output.
        """
        lines = self._pieces(update) if self.live or meta(update, "terminal_output") else []
        if not (self.live and self.kind == "execute"):
            lines += self._blocks(_texts(update), status, over=over)
        if over and status == "failed" and self.kind != "execute" and self._empty and not has_diff:
            lines += self._feed(_raw(update.get("rawOutput")))
        if over:
            lines += self._end()
        return lines

    def take_cut(self) -> list[str]:
        """The lines that were left out of what the card had before its call ran."""
        cut, self._cut = self._cut, []
        return cut

    def _pieces(self, update: dict[str, Any]) -> list[str]:
        data = meta(update, "terminal_output").get("data")
        if not isinstance(data, str):
            return []
        self.live = True
        return self._feed(data)

    def _blocks(self, texts: list[str], status: str, *, over: bool) -> list[str]:
        lines: list[str] = []
        if self.kind == "think":
            texts = [text.rstrip("\n") + "\n" for text in texts]  # sub-agents are told by whole lines
        unseen = [text for text in texts if not _is_known(text, self.opening)]
        stale = set(range(len(self.shown)))
        new: list[str] = []
        for text in unseen:
            found = next((index for index in sorted(stale) if _added(self.shown[index], text) is not None), None)
            if found is None:
                new.append(text)
                continue
            stale.discard(found)
            lines += self._feed(_added(self.shown[found], text) or "")
            self.shown[found] = text
        if stale and new and not over:
            return lines  # the last lines of much, with a gap before them: the end of the call tells all
        for text in new:
            lines += self._end()
            if status == "pending":
                self.opening.append(text)
                lines += self._whole(text)
            else:
                self.shown.append(text)
                lines += self._feed(text)
        return lines

    def _whole(self, text: str) -> list[str]:
        """What stands there before the call runs: it is all there, and what the person is asked about."""
        text = visible_text(text)
        lines = [*self._feed(text), *self._end()]
        head, tail = _LIMITS.get(self.kind, _OTHER_LIMITS)
        told = text.removesuffix("\n").split("\n")
        self._cut += told[head : len(told) - tail] if len(told) > head + tail else []
        return lines

    def _feed(self, text: str) -> list[str]:
        if not text:
            return []
        self._empty = False
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


def _is_known(text: str, known: list[str]) -> bool:
    # A long one is told again with its beginning only.
    return any(other == text or (text.endswith("…") and other.startswith(text[:-1])) for other in known)


def _added(before: str, after: str) -> str | None:
    """What `after` has behind `before`, or None where it does not go on from there."""
    if after.startswith(before):
        return after[len(before) :]
    if len(before) >= _SURE and before in after:
        return after.partition(before)[2]
    if len(after) >= _SURE and after in before:
        return ""
    start = max(0, len(before) - _MOST_KEPT)
    head = after[:_SURE]
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
