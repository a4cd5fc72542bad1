"""What is typed into a running program: an answer to its question, or something that has to be asked about."""

from __future__ import annotations

import re

from tools.approval.commands import CommandClass, classify_command

_MAX_ANSWER_CHARS = 64
# Ctrl-C, Ctrl-D, Escape, Enter, backspace and the keys that move. Not Tab: to a shell it is a blank, with which a
# command line can be typed in pieces that each look like an answer.
_KEYS = re.compile(r"(?:[\x03\x04\x1b\r\n\x7f]|\x1b[\[O][A-Z0-9;~]{1,6})*")
# One word, as «y», «2», «my-project», «q»: without blanks, slashes, quotes and whatever else makes it a command line.
_LETTER = re.compile(r"\w[\r\n]*")
_ANSWER = re.compile(r"[\w.,:@+-]*[\r\n]*")


def classify_input(data: str) -> CommandClass:
    """Whether typing `data` is an answer («ordinary»), something to ask about, or what no mode allows.

    A program that reads commands (a shell, an interpreter) does with its input whatever it likes, and nobody can tell
    such a program from others: so all but short answers and keys are asked about.
    """
    words = data.strip()
    if _LETTER.fullmatch(data):
        return CommandClass("ordinary")
    found = classify_command(words) if words else CommandClass("ordinary")
    if found.level == "forbidden" or _KEYS.fullmatch(data):
        return found
    if found.level in {"safe", "ordinary"} and len(words) <= _MAX_ANSWER_CHARS and _ANSWER.fullmatch(data):
        return found
    return CommandClass("dangerous", found.why or "types into a running program")
