"""A conversation as a person sees it: what the agent sends becomes lines, of which the last may still change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from acp_adapter.cli.acp_client import Handler
from acp_adapter.cli.console import Colour, Style, clipped, columns
from acp_adapter.cli.questions import Approver, Forms
from acp_adapter.cli.tool_cards import Cards
from acp_adapter.format import count, dollars, one_line, safe_text, visible_line, visible_text

if TYPE_CHECKING:
    from acp_adapter.cli.markdown import Message

# What agents send, as lines.

_PLAN_SIGNS: dict[str, tuple[str, Colour]] = {"completed": ("[x]", "green"), "in_progress": ("[>]", "cyan")}


class PlainMessage:
    """A message's text as it was written, in whole lines, for a pipe."""

    def __init__(self, style: Style, *colours: Colour) -> None:
        self.tail: Sequence[str] = ()
        self._style = style
        self._colours = colours
        self._rest = ""

    def feed(self, text: str) -> list[str]:
        """The lines that `text` completes; empty ones only once others follow."""
        self._rest += text
        said = self._rest[: self._rest.rfind("\n") + 1].rstrip("\n")
        if said:
            self._rest = self._rest[len(said) + 1 :]
        return self._painted(said)

    def settle(self) -> list[str]:
        """Nothing: what is no whole line waits."""
        return []

    def finish(self) -> list[str]:
        """The lines that are left; the message ends here."""
        return self._painted(self._rest.rstrip("\n"))

    def _painted(self, text: str) -> list[str]:
        return [self._style.paint(line, *self._colours) for line in text.split("\n")] if text else []


class Renderer:
    """Makes lines of one conversation's updates; those that it returns are final."""

    def __init__(self, style: Style, cwd: Path) -> None:
        self._style = style
        self._cards = Cards(style, cwd)
        self._block: object = None
        self._plan: list[str] = []
        self._mode: object = None
        self._message: Message | PlainMessage | None = None

    @property
    def tail(self) -> Sequence[str]:
        """The lines that follow for now, and may still change."""
        return self._message.tail if self._message else ()

    def update(self, update: dict[str, Any], t: float) -> list[str]:
        """The lines that a `session/update` that came at `t` adds."""
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
                return []

    def mode_is(self, mode: str) -> None:
        """The session is in this mode, and the person knows: the update that says so is no news."""
        self._mode = mode

    def question(self, params: dict[str, Any], t: float) -> list[str]:
        """What a permission question says; the answer follows by `answer`."""
        tool_call = params.get("toolCall")
        tool_call = tool_call if isinstance(tool_call, dict) else {}
        return self._lines("cards", [*self._cards.update(tool_call, t), *self._cards.question(tool_call)])

    def form(self, params: dict[str, Any]) -> list[str]:
        """What a form asks, or the page that is to be opened; the answer follows by `answer`."""
        first, *more = visible_text(str(params.get("message") or "")).strip().splitlines() or ["The agent asks"]
        paint = self._style.paint
        lines = [f"  {paint('?', 'yellow', 'bold')} {paint(first, 'bold')}", *(f"    {line}" for line in more)]
        if params.get("mode") == "url":
            lines.append(f"    {paint(visible_line(str(params.get('url'))), 'underline')}")
        return self._lines("cards", lines)

    def answer(self, words: str) -> list[str]:
        """The answer that was given to the question."""
        sign = self._style.paint(self._style.sign("answer"), "yellow")
        return self._lines("cards", [f"{self._cards.answer_indent}    {sign} {one_line(words)}"])

    def note(self, text: str) -> list[str]:
        """A remark of the client's own."""
        return self._lines("note", [self._style.paint(line, "dim") for line in safe_text(text).splitlines()])

    def heading(self, text: str) -> list[str]:
        """A remark that begins a part of the transcript."""
        return self._lines(object(), [self._style.paint(one_line(text), "bold")])

    def settle(self) -> list[str]:
        """What was held back only because more might follow at once; nothing came for a while."""
        return self._message.settle() if self._message else []

    def end_message(self) -> list[str]:
        """The rest of a message, before someone else writes."""
        message, self._message = self._message, None
        return message.finish() if message else []

    def _flow(self, kind: str, update: dict[str, Any], *colours: Colour) -> list[str]:
        block, text = (kind, update.get("messageId")), _text_of(update.get("content"))
        if self._message is None or block != self._block:
            text = text.lstrip("\n")
            if not text:
                return []
        begun = self._begin(block)
        if self._message is None:
            self._message = self._new_message(*colours)
        return begun + self._message.feed(text)

    def _new_message(self, *colours: Colour) -> Message | PlainMessage:
        if not self._style.live:
            return PlainMessage(self._style, *colours)
        from acp_adapter.cli.markdown import Message  # noqa: PLC0415 - loads a parser, which a pipe has no use for

        return Message(self._style, *colours)

    def _show_mode(self, mode: object) -> list[str]:
        if mode == self._mode:
            return []
        self._mode = mode
        return self.note(f"The session's mode is now {one_line(str(mode))}.")

    def _show_plan(self, update: dict[str, Any]) -> list[str]:
        lines = [self._plan_line(entry) for entry in _dicts(update.get("entries"))]
        if lines == self._plan:
            return []
        self._plan = lines
        return self._lines("plan", [self._style.paint("Plan", "bold"), *lines])

    def _plan_line(self, entry: dict[str, Any]) -> str:
        sign, colour = _PLAN_SIGNS.get(str(entry.get("status")), ("[ ]", "dim"))
        return f"  {self._style.paint(sign, colour)} {one_line(str(entry.get('content') or ''))}"

    def _lines(self, block: object, lines: list[str]) -> list[str]:
        return self._begin(block) + lines if lines else []

    def _begin(self, block: object) -> list[str]:
        """What comes before a block: the rest of the last one, and an empty line."""
        if block == self._block:
            return []
        gap = [] if self._block is None else [""]
        self._block = block
        return self.end_message() + gap


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text_of(content: Any) -> str:
    if not isinstance(content, dict):
        return ""
    match content.get("type"):
        case "text":
            # The two signs of an end of line may come apart.
            return safe_text(str(content.get("text") or "").replace("\r", ""))
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
                steps = _dicts(update.get("entries"))
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
    """Handles a conversation, and shows what the client itself does; this one shows nothing of that.

    Attributes:
        runs: a turn runs that no prompt asked for.
        stop: why the last of those ended; '' if there was none.
    """

    def __init__(self, approver: Approver) -> None:
        self.runs = False
        self.stop = ""
        self._approver = approver
        self._usage: dict[str, Any] = {}

    def on_update(self, update: dict[str, Any], t: float) -> None:  # noqa: ARG002 - for those that show it
        """Take note of what is told beside the conversation: the model's window, the cost, turns nobody asked for."""
        self._approver.see(update)
        match update:
            case {"sessionUpdate": "usage_update"}:
                self._usage = update
            case {"_meta": {"hermes": {"backgroundTurn": dict() as turn}}}:
                self.runs = turn.get("state") == "running"
                self.stop = self.stop if self.runs else str(turn.get("stopReason", ""))

    def usage(self) -> str:
        """`12k of 200k tokens, $0.03`; '' where the agent said nothing."""
        said: list[str] = []
        match self._usage:
            case {"used": int() as used, "size": int() as size} if used >= 0 and size > 0:
                said.append(f"{count(used)} of {count(size)} tokens")
        match self._usage.get("cost"):
            case {"amount": int() | float() as amount, "currency": str(currency)}:
                said.append(dollars(amount) if currency == "USD" else f"{amount:.2f} {one_line(currency)}")
        return ", ".join(said)

    def note(self, text: str) -> None:
        """Add a remark of the client's own."""

    def end_line(self) -> None:
        """Bring the output to the beginning of a line."""

    def awaits(self, words: str, t: float) -> None:
        """The agent is waited for since `t`; with '' no more."""

    def mode_is(self, mode: str) -> None:
        """The client is about to set this mode."""


# Lines on the terminal, the last of which are drawn over while they change.

_UNKNOWN_HEIGHT = 24


class Screen:
    """Writes lines to `out`; the cursor stands on the empty line below them."""

    def __init__(self, out: TextIO, style: Style) -> None:
        self._out = out
        self._style = style
        self._tail: list[str] = []

    def show(self, lines: Sequence[str], tail: Sequence[str] = ()) -> None:
        """Write `lines` for good and `tail` until the next time, over the last `tail`; a pipe gets no tail."""
        new = [*lines, *(tail if self._style.live else ())]
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self._tail, new, strict=False)))
        # What has left the window at its top cannot be drawn over.
        while self._rows(self._tail[same:]) >= (self._style.height or _UNKNOWN_HEIGHT):
            same += 1
        rows = self._rows(self._tail[same:])
        written = (f"\r\x1b[{rows}A\x1b[J" if rows else "") + "".join(f"{line}\n" for line in new[same:])
        self._tail = new[len(lines) :]
        if written:
            self._out.write(written)
            self._out.flush()

    def _rows(self, lines: Sequence[str]) -> int:
        """The rows of the window that they take: in one made narrower since, each may take several."""
        width = self._style.width
        return sum(max(1, -(-columns(line) // width)) if width else 1 for line in lines)


_SAYING = frozenset({"agent_message_chunk", "agent_thought_chunk"})


class Transcript(View):
    """Shows on `out` what a conversation's updates and questions say.

    Attributes:
        first_text: when the first piece of the agent's text or thoughts came, or None.
        commands: the agent's slash commands, as it told them last.
    """

    def __init__(self, out: TextIO, style: Style, cwd: Path, approver: Approver, forms: Forms | None = None) -> None:
        super().__init__(approver)
        self.first_text: float | None = None
        self.commands: tuple[str, ...] = ()
        self.fills_forms = forms is not None
        self._screen = Screen(out, style)
        self._renderer = Renderer(style, cwd)
        self._progress = Progress(style)
        self._forms = forms
        self._t = 0.0

    def on_update(self, update: dict[str, Any], t: float) -> None:
        """Show a session update."""
        if self.first_text is None and str(update.get("sessionUpdate")) in _SAYING:
            self.first_text = t
        if update.get("sessionUpdate") == "available_commands_update":
            self.commands = tuple(_names(update.get("availableCommands")))
        super().on_update(update, t)
        self._progress.see(update, t)
        self._show(self._renderer.update(update, t), t)

    def on_permission(self, params: dict[str, Any], t: float) -> str | None:
        """Show the question, have it answered, and show the answer."""
        self._screen.show(self._renderer.question(params, t))
        answer = self._approver.decide(params)
        self._screen.show(self._renderer.answer(answer.words))
        return answer.option_id

    def on_form(self, params: dict[str, Any], _t: float) -> dict[str, Any]:
        """Show what a form asks, have it filled in, and show what was said."""
        self._screen.show(self._renderer.form(params))
        if self._forms is None:
            return {"action": "cancel"}
        reply, words = self._forms.fill(params)
        self._screen.show(self._renderer.answer(words))
        return reply

    def on_quiet(self, t: float) -> None:
        """Nothing came for a moment: show what was held back, and for how long what goes on does."""
        self._show(self._renderer.settle(), t)

    def awaits(self, words: str, t: float) -> None:
        """From now on the agent is waited for, or with '' no more."""
        self._progress.begin(words, t)
        self._show([], t)

    def on_stray_line(self, line: str) -> None:
        """Show that the agent wrote something that is no message."""
        self.note(f"The agent wrote a line that is no JSON-RPC message, which it must not: {line[:200]}")

    def note(self, text: str) -> None:
        """Add a remark of the client's own."""
        self._show(self._renderer.note(text), self._t)

    def mode_is(self, mode: str) -> None:
        """Say nothing of the session's being in this mode: it is the client's own doing."""
        self._renderer.mode_is(mode)

    def heading(self, text: str) -> None:
        """Begin a part of the transcript."""
        self._show(self._renderer.heading(text), self._t)

    def end_line(self) -> None:
        """Leave the rest to someone else, who writes below."""
        self._screen.show(self._renderer.end_message())

    def _show(self, lines: list[str], t: float) -> None:
        self._t = t
        line = self._progress.line(t)
        self._screen.show(lines, [*self._renderer.tail, *([line] if line else ())])


def _names(commands: Any) -> Iterator[str]:
    for command in _dicts(commands):
        name = command.get("name")
        if isinstance(name, str) and name.isprintable():
            yield f"/{name.removeprefix('/')}"
