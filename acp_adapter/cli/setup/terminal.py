"""Asking the person at the terminal for a line, a secret or a yes."""

from __future__ import annotations

from acp_adapter.cli.terminal.safe_text import safe_text
from acp_adapter.cli.terminal.typed import read_line, read_unseen


class InputEnded(Exception):
    """There will be no more input: Ctrl-D, or the terminal is gone."""


class Terminal:
    """The person at standard input and output. Its questions raise InputEnded and KeyboardInterrupt."""

    def say(self, text: str = "") -> None:
        """Show a line or several."""
        print(safe_text(text), flush=True)

    def line(self, prompt: str, default: str = "") -> str:
        """What the person types, without spaces around it; `default` for nothing."""
        shown = f"{prompt} [{default}]" if default else prompt
        return _line(read_line(f"{safe_text(shown)}: ")) or default

    def secret(self, prompt: str) -> str:
        """The same, and what is typed is not shown."""
        typed = _line(read_unseen(f"{safe_text(prompt)} (not shown): "))
        print(flush=True)  # the line break was not shown either
        return typed

    def agrees(self, prompt: str, *, default: bool = True) -> bool:
        """Whether the person says yes."""
        while True:
            typed = self.line(f"{prompt} {'[Y/n]' if default else '[y/N]'}").lower()
            if typed in {"", "y", "yes", "n", "no"}:
                return typed.startswith("y") if typed else default


def _line(typed: str) -> str:
    if not typed:
        raise InputEnded
    return typed.strip()
