"""A person whose lines are given, for what asks at the terminal."""

from __future__ import annotations

from acp_adapter.cli.terminal_input import Terminal


class Script(Terminal):
    """Types these lines, one for each question, and agrees as Enter does."""

    def __init__(self, *lines: str) -> None:
        left = list(lines)
        super().__init__(lambda _prompt, *, unseen=False: left.pop(0))
        self.heard: list[str] = []

    def say(self, text: str = "") -> None:
        self.heard.append(text)

    def agrees(self, prompt: str, *, default: bool = True) -> bool:
        return default
