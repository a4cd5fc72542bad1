"""Splits a text into words the way programs do that are no shells: `env -S`, `xargs`."""

from __future__ import annotations

import shlex


def split_words(text: str) -> list[str]:
    """The words of `text`, with quotes resolved where they have partners."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
