"""What a command prints, live on its call's card."""

from __future__ import annotations

from tools.context import ToolContext
from tools.ports import CommandOutcome

_LIVE_CHARS = 1_000_000
_END_CHARS = 10_000


class LiveText:
    """The live text on the call's card, up to a size that an editor can bear, and then the end."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx
        self._room = _LIVE_CHARS

    def show(self, text: str) -> None:
        """More of it has come."""
        if self._room <= 0:
            return
        self._ctx.progress(text[: self._room])
        self._room -= len(text)
        if self._room <= 0:
            self._ctx.progress("\n[… too much to show live; the end follows when the command is done …]\n")

    def end(self, outcome: CommandOutcome) -> None:
        """Show the end of what was too much."""
        if self._room <= 0:
            where = f"\n[all of it: {outcome.saved.path}]\n" if outcome.saved else ""
            self._ctx.progress(f"{outcome.output[-_END_CHARS:]}{where}")
