"""What is typed into a running program: an answer to its question, or something that has to be asked about."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tools.approval.commands import classify_command
from tools.approval.commands.classes import CommandClass

_MAX_ANSWER_CHARS = 64
_TYPES = "types into a running program"
# Ctrl-C, Ctrl-D, Escape, Enter, backspace and the keys that move. Not Tab: to a shell it is a blank, with which a
# command line can be typed in pieces that each look like an answer.
_KEYS = re.compile(r"(?:[\x03\x04\x1b\r\n\x7f]|\x1b[\[O][A-Z0-9;~]{1,6})*")
# One word, as «y», «2», «my-project», «q»: without blanks, slashes, quotes and whatever else makes it a command line.
_LETTER = re.compile(r"\w[\r\n]*")
_ANSWER = re.compile(r"[\w.,:@+-]*[\r\n]*")


# What a prompt for commands may get unasked: to stop it, to end it, an empty line. An arrow would bring back what
# was typed before.
_STOPS = re.compile(r"[\x03\x04\x1b\x7f\r\n]*")
_PROMPTS = re.compile(
    r"(?:ba|z|da|k|fi|c|tc)?sh|(?:i?python|pypy|irb|ruby|node|php|lua)[\d.]*|psql|mysql|sqlite3|pwsh"
)


def reads_commands(command: str, cwd: Path) -> bool:
    """Whether `command` gives whoever types a prompt for commands, or runs where no sandbox holds what they type."""
    if classify_command(command, cwd).outside:
        return True
    from tools.bash.read import read_command  # noqa: PLC0415 - loaded with the first command

    calls = read_command(command).invocations
    return any(
        _PROMPTS.fullmatch(call.program) and all(each.text.startswith("-") for each in call.arguments)
        for call in calls
    )


def classify_input(data: str, *, at_prompt: bool = False) -> CommandClass:
    """Whether typing `data` is an answer («ordinary»), something to ask about, or what no mode allows.

    Args:
        at_prompt: the program is known to run what is typed.

    A program that reads commands (a shell, an interpreter) does with its input whatever it likes, and nobody can tell
    such a program from others: so all but short answers and keys are asked about.
    """
    words = data.strip()
    if at_prompt and not _STOPS.fullmatch(data) and not _LETTER.fullmatch(data):
        found = classify_command(words)
        return found if found.level == "forbidden" else replace(found, level="dangerous", why=found.why or _TYPES)
    if _LETTER.fullmatch(data):
        return CommandClass("ordinary")
    found = classify_command(words)
    if found.level == "forbidden" or _KEYS.fullmatch(data):
        return found
    if found.level in {"safe", "ordinary"} and len(words) <= _MAX_ANSWER_CHARS and _ANSWER.fullmatch(data):
        return found
    return replace(found, level="dangerous", why=found.why or _TYPES)
