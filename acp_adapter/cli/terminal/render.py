"""Session updates as text to print, piece after piece.

A renderer prints nothing: it returns what is to be appended to the transcript, and remembers where that stands, so
that the pieces of one message flow together and a card never begins in the middle of a line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from acp_adapter.cli.terminal.cards import Cards
from acp_adapter.cli.terminal.markdown.message import Message
from acp_adapter.cli.terminal.safe_text import one_line, safe_text, visible_line, visible_text
from acp_adapter.cli.terminal.style import Colour, Style

_PLAN_SIGNS: dict[str, tuple[str, Colour]] = {"completed": ("[x]", "green"), "in_progress": ("[>]", "cyan")}
_BLANK_LINE = 2  # newlines at the end of the transcript that make an empty line


class Renderer:
    """The transcript of one conversation."""

    def __init__(self, style: Style, cwd: Path) -> None:
        self._style = style
        self._cards = Cards(style, cwd)
        self._block: object = None
        self._newlines = _BLANK_LINE
        self._plan: list[str] = []
        self._mode: object = None
        self._message: Message | None = None
        self._ends_open = False

    def update(self, update: dict[str, Any], t: float) -> str:
        """What a `session/update` that came at `t` adds; "" for one that a person need not see."""
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                return self._flow("text", update)
            case "agent_thought_chunk":
                return self._flow("thought", update, "dim")
            case "tool_call" | "tool_call_update":
                return self._lines("cards", self._cards.update(update, t))
            case "plan":
                return self._show_plan(update)
            case "current_mode_update":
                return self._show_mode(update.get("currentModeId"))
            case _:
                return ""

    def mode_is(self, mode: str) -> None:
        """The session is in this mode, and the person knows: the update that says so is no news."""
        self._mode = mode

    def question(self, params: dict[str, Any], t: float) -> str:
        """What a permission question says; the answer follows by `answer`."""
        tool_call = params.get("toolCall")
        tool_call = tool_call if isinstance(tool_call, dict) else {}
        return self._lines("cards", [*self._cards.update(tool_call, t), *self._cards.question(tool_call)])

    def form(self, params: dict[str, Any]) -> str:
        """What a form asks, or the page that is to be opened; the answer follows by `answer`."""
        first, *more = visible_text(str(params.get("message") or "")).strip().splitlines() or ["The agent asks"]
        paint = self._style.paint
        lines = [f"  {paint('?', 'yellow', 'bold')} {paint(first, 'bold')}", *(f"    {line}" for line in more)]
        if params.get("mode") == "url":
            lines.append(f"    {paint(visible_line(str(params.get('url'))), 'underline')}")
        return self._lines("cards", lines)

    def answer(self, words: str) -> str:
        """The answer that was given to the permission question."""
        sign = self._style.paint(self._style.sign("answer"), "yellow")
        return self._lines("cards", [f"{self._cards.answer_indent}    {sign} {one_line(words)}"])

    def note(self, text: str) -> str:
        """A remark of the client's own."""
        return self._lines("note", [self._style.paint(line, "dim") for line in safe_text(text).splitlines()])

    def heading(self, text: str) -> str:
        """A remark that begins a part of the transcript."""
        return self._lines(object(), [self._style.paint(one_line(text), "bold")])

    def end_line(self) -> str:
        """What brings the transcript to the beginning of a line, before someone else writes."""
        rest = self._end_message()
        return rest + self._append("" if self._newlines else "\n")

    def settle(self) -> str:
        """What was held back only because more might follow at once; nothing came for a while."""
        return self._append(self._message.settle()) if self._message else ""

    @property
    def between_lines(self) -> bool:
        """The transcript ends with a whole line."""
        return self._newlines > 0

    def _flow(self, kind: str, update: dict[str, Any], *colours: Colour) -> str:
        block = (kind, update.get("messageId"))
        text = self._whole_ends(block, update.get("content"))
        if block != self._block:
            text = text.lstrip("\n")
            if not text:
                return ""
        started = self._begin(block)
        if not self._style.live:
            return started + self._append(text, *colours)
        self._message = self._message or Message(self._style, *colours)
        return started + self._append(self._message.feed(text))

    def _whole_ends(self, block: object, content: Any) -> str:
        """The text of `content`; an end of line that came in two pieces, CR and LF, is one."""
        raw = str(content.get("text") or "") if isinstance(content, dict) and content.get("type") == "text" else ""
        goes_on = self._ends_open and block == self._block and raw.startswith("\n")
        self._ends_open = raw.endswith("\r")
        text = _text_of(content)
        return text[1:] if goes_on else text

    def _show_mode(self, mode: object) -> str:
        if mode == self._mode:
            return ""
        self._mode = mode
        return self.note(f"The session's mode is now {one_line(str(mode))}.")

    def _show_plan(self, update: dict[str, Any]) -> str:
        entries = update.get("entries")
        entries = entries if isinstance(entries, list) else []
        lines = [self._plan_line(entry) for entry in entries if isinstance(entry, dict)]
        if lines == self._plan:
            return ""
        self._plan = lines
        return self._lines("plan", [self._style.paint("Plan", "bold"), *lines])

    def _plan_line(self, entry: dict[str, Any]) -> str:
        sign, colour = _PLAN_SIGNS.get(str(entry.get("status")), ("[ ]", "dim"))
        return f"  {self._style.paint(sign, colour)} {one_line(str(entry.get('content') or ''))}"

    def _lines(self, block: object, lines: list[str]) -> str:
        if not lines:
            return ""
        return self._begin(block) + self._append("".join(f"{line}\n" for line in lines))

    def _begin(self, block: object) -> str:
        if block == self._block:
            return ""
        self._block = block
        rest = self._end_message()
        return rest + self._append("\n" * (_BLANK_LINE - self._newlines))

    def _end_message(self) -> str:
        message, self._message = self._message, None
        return self._append(message.finish()) if message else ""

    def _append(self, text: str, *colours: Colour) -> str:
        if text:
            ending = len(text) - len(text.rstrip("\n"))
            whole = ending == len(text)
            self._newlines = min(_BLANK_LINE, ending + (self._newlines if whole else 0))
        return self._style.paint(text, *colours)


def _text_of(content: Any) -> str:
    if not isinstance(content, dict):
        return ""
    match content.get("type"):
        case "text":
            return safe_text(str(content.get("text") or ""))
        case "resource_link":
            return f"[{one_line(str(content.get('name')))}]({one_line(str(content.get('uri')))})"
        case kind:
            return f"[{one_line(str(kind))}]"
