"""The handler that shows a conversation to a person: what the agent sends, rendered and written at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TextIO

from acp_adapter.cli.approve import Approver
from acp_adapter.cli.render import Renderer
from acp_adapter.cli.style import Style


class Transcript:
    """Writes to `out` what a conversation's updates and questions say. Implements the client's `Handler`.

    Attributes:
        first_text: when the first piece of the agent's text or thoughts came, or None.
    """

    def __init__(self, out: TextIO, style: Style, cwd: Path, approver: Approver) -> None:
        self.first_text: float | None = None
        self._out = out
        self._renderer = Renderer(style, cwd)
        self._approver = approver

    def on_update(self, update: dict[str, Any], t: float) -> None:
        """Show a session update."""
        if self.first_text is None and update.get("sessionUpdate") in {"agent_message_chunk", "agent_thought_chunk"}:
            self.first_text = t
        self._approver.see(update)
        self._write(self._renderer.update(update, t))

    def on_permission(self, params: dict[str, Any], t: float) -> str | None:
        """Show the question, have it answered, and show the answer."""
        self._write(self._renderer.question(params, t))
        answer = self._approver.decide(params)
        self._write(self._renderer.answer(answer.words))
        return answer.option_id

    def on_stray_line(self, line: str) -> None:
        """Show that the agent wrote something that is no message."""
        self.note(f"The agent wrote a line that is no JSON-RPC message, which it must not: {line[:200]}")

    def note(self, text: str) -> None:
        """Add a remark of the client's own."""
        self._write(self._renderer.note(text))

    def heading(self, text: str) -> None:
        """Begin a part of the transcript."""
        self._write(self._renderer.heading(text))

    def end_line(self) -> None:
        """Bring the output to the beginning of a line, before someone else writes."""
        self._write(self._renderer.end_line())

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._out.flush()
