"""What `/context` tells of the system prompt: its parts, and what was left out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from acp_adapter.commands.markdown import plain

if TYPE_CHECKING:
    from agent_core.services import SessionServices

_FEW = 5
"""Tokens of headings and the like, which are no part to speak of."""


def prompt_rows(
    services: SessionServices, tokens: int, count: Callable[[int], str], bar: Callable[[int], str]
) -> Iterator[tuple[str, str, str]]:
    """A row of the table for each part of the prompt, in order: name, tokens, bar.

    Args:
        tokens: of the whole prompt.
    """
    whole = len(services.system or "") or 1
    for name, chars in services.prompt_layers:
        part = round(tokens * chars / whole)
        if part >= _FEW:
            yield f"· {plain(name)}", f"≈ {count(part)}", f"`{bar(part)}`"


def left_out_lines(services: SessionServices) -> Sequence[str]:
    """What the model is not told of the project's rules files, and why; none where it is told all."""
    notes = services.prompt_notes
    return ("", *(f"- {plain(note)}" for note in notes)) if notes else ()
