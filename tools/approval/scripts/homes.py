"""The person's directory in the texts of scripts."""

from __future__ import annotations

import os


def home() -> str:
    """The person's own directory."""
    return os.path.expanduser("~")  # noqa: PTH111 - text


def at_home(text: str) -> str:
    """`text` with the directory in place of a leading `~`; those of other people are left as they are."""
    return home() + text[1:] if text == "~" or text.startswith("~/") else text
