"""What a terminal would show of a command's output, as plain text for the model."""

from __future__ import annotations

import re

from tools.text.overwritten import last_state
from tools.text.repeats import shortened
from tools.text.screen import moves_about, rendered

_ESCAPES = re.compile(
    r"""
    (?:\x1b\[|\x9b) [0-?]* [ -/]* [@-~]?             # CSI: colours, cursor, erase
  | (?:\x1b\]|\x9d) [^\x07\x1b\x9c\n]* (?:\x07|\x1b\\|\x9c)?  # OSC: titles, links
  | \x1b [PX^_] [^\x1b\x9c\n]* (?:\x1b\\|\x9c)?        # strings for the terminal itself
  | \x1b [ -/]* [0-~]?                               # the rest: character sets, modes
    """,
    re.VERBOSE,
)
_OVERSTRUCK = re.compile(r"[^\n\b]\x08")
# Kept: tab, line feed, and (until lines are collapsed) carriage return.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_CURSOR = re.compile(r"\x1b\[[0-9;]{0,20}[A-HJKf]")
_UNUSUAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain_text(output: str) -> str:
    """`output` without escape sequences and control characters, and with overwritten lines left out.

    A line that a program rewrote with carriage returns (a progress bar) shows its last state, and so do lines that it
    went back to; letters that were overstruck with backspaces show the last one.
    """
    if not _UNUSUAL.search(output):
        return output
    if moves_about(output):
        return _CONTROLS.sub("", rendered(_ESCAPES.sub(_cursor_only, output)))
    text = _ESCAPES.sub("", output)
    if "\b" in text:
        text = _OVERSTRUCK.sub("", text)
    if "\r" in text:
        text = "\n".join(last_state(line).strip("\r") for line in text.split("\n"))
    return _CONTROLS.sub("", text)


def for_model(output: str) -> str:
    """`plain_text`, with what repeats itself shortened: a count says how much was left out."""
    return shortened(plain_text(output))


def _cursor_only(escape: re.Match[str]) -> str:
    return escape[0] if _CURSOR.fullmatch(escape[0]) else ""
