"""Text from an agent, made safe to print: nothing in it can steer the terminal or hide what it says."""

from __future__ import annotations

import re

_SEQUENCES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # operating system commands: titles, links, the clipboard
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours and cursor movements
    r"|\x1b[ -/]*[0-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and newline, and those that change the direction of writing."""


def safe_text(text: str) -> str:
    """`text` without escape sequences and control characters; carriage returns end a line."""
    text = _SEQUENCES.sub("", text)
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """The first line of `text`, safe, with an ellipsis where there are more."""
    lines = safe_text(text).strip().splitlines()
    if not lines:
        return ""
    return lines[0] if len(lines) == 1 else f"{lines[0]} ..."
