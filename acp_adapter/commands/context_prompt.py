"""What `/context` tells of the system prompt: its parts, and what was left out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from acp_adapter.commands.markdown import plain

if TYPE_CHECKING:
    from agent_core.services import SessionServices

_CHARS_A_TOKEN = 4
_FEW = 5
"""Tokens of headings and the like, which are no part to speak of."""


def prompt_rows(
    services: SessionServices | None, count: Callable[[int], str], bar: Callable[[int], str]
) -> Iterator[tuple[str, str, str]]:
    """A row of the table for each part of the prompt, in order: name, tokens, bar."""
    for name, chars in services.prompt_layers if services is not None else ():
        tokens = chars // _CHARS_A_TOKEN
        if tokens >= _FEW:
            yield f"· {plain(name)}", f"≈ {count(tokens)}", f"`{bar(tokens)}`"


def left_out_lines(services: SessionServices | None) -> Sequence[str]:
    """What the model is not told of the project's rules files, and why; none where it is told all."""
    notes = services.prompt_notes if services is not None else ()
    return ("", *(f"- {plain(note)}" for note in notes)) if notes else ()
