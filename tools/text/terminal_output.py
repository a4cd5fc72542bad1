"""What a terminal would show of a command's output, as plain text for the model."""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"""
    (?:\x1b\[|\x9b) [0-?]* [ -/]* [@-~]?             # CSI: colours, cursor, erase
  | (?:\x1b\]|\x9d) [^\x07\x1b\x9c\n]* (?:\x07|\x1b\\|\x9c)?  # OSC: titles, links
  | \x1b [PX^_] [^\x1b\x9c]* (?:\x1b\\|\x9c)?        # strings for the terminal itself
  | \x1b [ -/]* [0-~]?                               # the rest: character sets, modes
    """,
    re.VERBOSE,
)
_OVERSTRUCK = re.compile(r"[^\n\b]\x08")
# Kept: tab, line feed, and (until lines are collapsed) carriage return.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_UNUSUAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain_text(output: str) -> str:
    """`output` without escape sequences and control characters, and with overwritten lines left out.

    A line that a program rewrote with carriage returns (a progress bar) shows its last state; letters that were
    overstruck with backspaces show the last one.
    """
    if not _UNUSUAL.search(output):
        return output
    text = _ESCAPES.sub("", output)
    if "\b" in text:
        text = _OVERSTRUCK.sub("", text)
    if "\r" in text:
        text = "\n".join(_last_state(line) for line in text.split("\n"))
    return _CONTROLS.sub("", text)


def _last_state(line: str) -> str:
    states = [state for state in line.split("\r") if state]
    return states[-1] if states else ""
