"""The handler that shows a conversation to a person: what the agent sends, rendered and written at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from acp_adapter.cli.client.approve import Approver
from acp_adapter.cli.client.forms import Forms
from acp_adapter.cli.terminal.progress import Progress
from acp_adapter.cli.terminal.render import Renderer
from acp_adapter.cli.terminal.style import Style

_ERASE_LINE = "\r\x1b[K"
_SAYING = frozenset({"agent_message_chunk", "agent_thought_chunk"})


class Transcript:
    """Writes to `out` what a conversation's updates and questions say. Implements the client's `Handler`.

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
