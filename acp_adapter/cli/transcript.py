"""A conversation as a person sees it: what the agent sends, rendered and written at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from acp_adapter.cli.acp_client import Handler
from acp_adapter.cli.console import Colour, Style, clipped
from acp_adapter.cli.questions import Approver, Forms
from acp_adapter.cli.tool_cards import Cards
from acp_adapter.format import one_line, safe_text, visible_line, visible_text

if TYPE_CHECKING:
    from acp_adapter.cli.markdown import Message

# Session updates as text, piece after piece. A renderer prints nothing: it returns what is to be appended, and
# remembers where that stands, so that pieces of one message flow together and a card never begins in the middle of
# a line.

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
        from acp_adapter.cli.markdown import Message  # noqa: PLC0415 - loads a parser, which a pipe has no use for

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


# The line under the transcript that says what goes on, and for how long.

_TURNS = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\")
_TURNS_A_SECOND = 8
_OVER = frozenset({"completed", "failed"})
_LEAST_WORDS = 6
_UNKNOWN_WIDTH = 80
_MINUTE = 60


class Progress:
    """Follows what the agent tells, and puts it into a few words. It prints nothing."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._words = ""
        self._since = 0.0
        self._running: dict[str, tuple[str, float]] = {}
        self._titles: dict[str, str] = {}
        self._plan = ""

    def begin(self, words: str, t: float) -> None:
        """From `t` on the agent is awaited: `words` say it while nothing else is known; '' ends it."""
        self._words, self._since = words, t
        self._running.clear()
        self._titles.clear()

    def see(self, update: dict[str, Any], t: float) -> None:
        """Take note of what the agent told at `t`."""
        match update.get("sessionUpdate"):
            case "tool_call" | "tool_call_update":
                self._see_call(update, t)
            case "plan":
                entries = update.get("entries")
                steps = [step for step in entries if isinstance(step, dict)] if isinstance(entries, list) else []
                done = sum(step.get("status") == "completed" for step in steps)
                self._plan = f"plan {done}/{len(steps)}" if done < len(steps) else ""
            case "usage_update" | "session_info_update":
                return
        self._since = t

    def line(self, t: float) -> str:
        """What goes on at `t`, in one line of the window; '' where nothing is awaited."""
        if not self._words:
            return ""
        words, since = self._words, self._since
        if self._running:
            words, since = list(self._running.values())[-1]
            words = words if len(self._running) == 1 else f"{words} and {len(self._running) - 1} more"
        turns = _TURNS[0 if self._style.signs else 1]
        facts = "  ".join(part for part in (_length(t - since), self._plan) if part)
        # A line that takes two rows could not be taken away again: a window too narrow for it has none.
        room = (self._style.width or _UNKNOWN_WIDTH) - 1 - len("  x ") - len("  ") - len(facts)
        if room < _LEAST_WORDS:
            return ""
        sign = turns[int(t * _TURNS_A_SECOND) % len(turns)]
        paint = self._style.paint
        return f"  {paint(sign, 'cyan')} {clipped(words, room, self._style.sign('more'))}  {paint(facts, 'dim')}"

    def _see_call(self, update: dict[str, Any], t: float) -> None:
        call_id, status = str(update.get("toolCallId")), str(update.get("status"))
        title = one_line(str(update.get("title") or "")) or self._titles.get(call_id, "")
        self._titles[call_id] = title
        if status in _OVER:
            self._running.pop(call_id, None)
        elif call_id in self._running:
            self._running[call_id] = (title, self._running[call_id][1])
        elif status == "in_progress":
            self._running[call_id] = (title, t)


def _length(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole} s" if whole < _MINUTE else f"{whole // _MINUTE} min {whole % _MINUTE} s"


# The handler.


class View(Handler):
    """Handles a conversation, and shows what the client itself does; this one shows nothing of that."""

    def note(self, text: str) -> None:
        """Add a remark of the client's own."""

    def end_line(self) -> None:
        """Bring the output to the beginning of a line."""

    def awaits(self, words: str, t: float) -> None:
        """The agent is waited for since `t`; with '' no more."""

    def mode_is(self, mode: str) -> None:
        """The client is about to set this mode."""


_ERASE_LINE = "\r\x1b[K"
_SAYING = frozenset({"agent_message_chunk", "agent_thought_chunk"})


class Transcript(View):
    """Writes to `out` what a conversation's updates and questions say.

    Attributes:
        first_text: when the first piece of the agent's text or thoughts came, or None.
        commands: the agent's slash commands, as it told them last.
    """

    def __init__(self, out: TextIO, style: Style, cwd: Path, approver: Approver, forms: Forms | None = None) -> None:
        self.first_text: float | None = None
        self.commands: tuple[str, ...] = ()
        self._out = out
        self._renderer = Renderer(style, cwd)
        self._approver = approver
        self._forms = forms
        self._progress = Progress(style) if style.live else None
        self._drawn = False

    def on_update(self, update: dict[str, Any], t: float) -> None:
        """Show a session update."""
        if self.first_text is None and str(update.get("sessionUpdate")) in _SAYING:
            self.first_text = t
        if update.get("sessionUpdate") == "available_commands_update":
            self.commands = tuple(_names(update.get("availableCommands")))
        self._approver.see(update)
        if self._progress is not None:
            self._progress.see(update, t)
        self._write(self._renderer.update(update, t))

    def on_permission(self, params: dict[str, Any], t: float) -> str | None:
        """Show the question, have it answered, and show the answer."""
        self._write(self._renderer.question(params, t))
        answer = self._approver.decide(params)
        self._write(self._renderer.answer(answer.words))
        return answer.option_id

    def on_form(self, params: dict[str, Any], _t: float) -> dict[str, Any]:
        """Show what a form asks, have it filled in, and show what was said."""
        self._write(self._renderer.form(params))
        if self._forms is None:
            return {"action": "cancel"}
        reply, words = self._forms.fill(params)
        self._write(self._renderer.answer(words))
        return reply

    def on_quiet(self, t: float) -> None:
        """Nothing came for a moment: show what was held back, and what goes on where that has a line of its own."""
        if self._progress is None:
            return
        self._write(self._renderer.settle())
        line = self._progress.line(t) if self._renderer.between_lines else ""
        if line:
            self._out.write(f"{_ERASE_LINE}{line}")
            self._out.flush()
            self._drawn = True

    def awaits(self, words: str, t: float) -> None:
        """From now on the agent is waited for, or with '' no more."""
        if self._progress is not None:
            self._progress.begin(words, t)
        self._erase()

    def on_stray_line(self, line: str) -> None:
        """Show that the agent wrote something that is no message."""
        self.note(f"The agent wrote a line that is no JSON-RPC message, which it must not: {line[:200]}")

    def note(self, text: str) -> None:
        """Add a remark of the client's own."""
        self._write(self._renderer.note(text))

    def mode_is(self, mode: str) -> None:
        """Say nothing of the session's being in this mode: it is the client's own doing."""
        self._renderer.mode_is(mode)

    def heading(self, text: str) -> None:
        """Begin a part of the transcript."""
        self._write(self._renderer.heading(text))

    def end_line(self) -> None:
        """Bring the output to the beginning of a line, before someone else writes."""
        self._erase()
        self._write(self._renderer.end_line())

    def _write(self, text: str) -> None:
        if text:
            self._erase()
            self._out.write(text)
            self._out.flush()

    def _erase(self) -> None:
        if self._drawn:
            self._drawn = False
            self._out.write(_ERASE_LINE)
            self._out.flush()


def _names(commands: Any) -> Iterator[str]:
    for command in commands if isinstance(commands, list) else ():
        name = command.get("name") if isinstance(command, dict) else None
        if isinstance(name, str) and name.isprintable():
            yield f"/{name.removeprefix('/')}"
