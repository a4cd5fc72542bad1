"""Pieces of Markdown from text that may hold anything."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acp_adapter.cli.terminal.safe_text import safe_text

_SIGNS = re.compile(r"([\\`*_\[\]<>|#~])")


def code(text: str) -> str:
    """`text` as code on one line."""
    shown = " ".join(safe_text(text).split())
    return f"`` {shown.replace('``', '` `')} ``" if "`" in shown else f"`{shown}`"


def plain(text: str) -> str:
    """`text` on one line, with nothing in it that Markdown knows."""
    return _escaped(" ".join(safe_text(text).split()))


def prose(text: str) -> str:
    """`text` on one line, with nothing in it that Markdown knows but words between backticks."""
    pieces = " ".join(safe_text(text).split()).split("`")
    if len(pieces) % 2 == 0 or not all(piece.strip() for piece in pieces[1::2]):
        return plain(text)
    return "".join(code(piece) if place % 2 else _escaped(piece) for place, piece in enumerate(pieces))


def _escaped(text: str) -> str:
    return _SIGNS.sub(r"\\\1", text)


def table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table; its cells are Markdown of one line each."""
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
