"""The words of a command that is surely a single one and has nothing that the shell would still work out."""

from __future__ import annotations

import re

from tools.approval.command_reading import outside_quotes
from tools.changes.shell_reader import read_script
from tools.changes.shell_syntax import Simple
from tools.changes.wrappers import unwrapped

_MAX_CHARS = 1_000
# Outside of quotes: no operator, no variable, no glob, no brace, no tilde, no line break.
_PLAIN = re.compile(r"[\w@%+=:,./ \t-]+")


def plain_words(command: str) -> tuple[str, ...] | None:
    """The words of a command that is surely a single one, with nothing that the shell would still work out.

    None for pipes, lists, background jobs, redirections, substitutions, variables, globs, assignments and wrappers.
    """
    text = command.strip()
    blanked = outside_quotes(text) if len(text) <= _MAX_CHARS else None
    if blanked is None or "\0" in text or not _PLAIN.fullmatch(blanked):
        return None
    script = read_script(text)
    if not script.is_certain or len(script.items) != 1:
        return None
    command_read = script.items[0]
    if not isinstance(command_read, Simple) or command_read.redirects:
        return None
    words = tuple(word.literal for word in command_read.words)
    known = tuple(word for word in words if word is not None)
    if not known or len(known) != len(words) or "=" in known[0]:
        return None
    return known if unwrapped(known) == known else None
