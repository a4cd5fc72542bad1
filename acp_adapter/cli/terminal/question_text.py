"""What a permission question is about, in full: nothing that is done after a yes may be missing from it."""

from __future__ import annotations

import json
import shlex
from typing import Any

from acp_adapter.cli.terminal.safe_text import visible_text

_MOST_INPUT = 20_000


def about(title: str, raw_input: Any, *, is_told: bool) -> list[str]:
    """The lines of the question: the title's, then the command, or what the call is given.

    Args:
        title: the call's, in as many lines as it has.
        raw_input: the call's.
        is_told: the card shows what would be done, a change say; then what the call is given is not told as well.
    """
    lines = visible_text(title).strip().splitlines() or ["(untitled)"]
    command = _command(raw_input)
    if command is None:
        return lines if is_told else [*lines, *_given(title, raw_input)]
    if command.strip() not in title:
        lines += [f"$ {line}" for line in visible_text(command).strip().splitlines()]
    return lines


def _command(raw_input: Any) -> str | None:
    """The command line in it; agents give it as one text, or as a program with its arguments."""
    match raw_input:
        case {"command": str(command)} if command.strip():
            return command
        case {"command": [str(), *_] as words} if all(isinstance(word, str) for word in words):
            return shlex.join(words)
    return None


def _given(title: str, raw_input: Any) -> list[str]:
    """What the call is given, where the title does not say it."""
    values = list(raw_input.values()) if isinstance(raw_input, dict) else [raw_input]
    if all(str(value) in title if isinstance(value, str | int | float) else not value for value in values):
        return []
    told = visible_text(json.dumps(raw_input, ensure_ascii=False))
    left = len(told) - _MOST_INPUT
    more = [f"({left} more characters)"] if left > 0 else []
    return [f"with {told[:_MOST_INPUT]}", *more]
