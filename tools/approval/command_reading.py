"""Readings of a shell command: as written, without its disguises, and cut into the simple commands inside.

Nothing here parses the shell's language. Separators inside quotes cut as well, so that a reading may show more
commands than would run, and hardly ever fewer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SUBSTITUTION = re.compile(r"\$\(|[()`]|(?<!\$)\{(?=\s)")
_STATEMENT = re.compile(r"[;&|\n]+")
_ASSIGNMENT = r"""[A-Za-z_]\w*\+?=(?:"[^"]*"|'[^']*'|[^\s"'])*\s+"""
_ASSIGNMENTS = re.compile(rf"(?:{_ASSIGNMENT})+")
# Words after which the real command comes.
_WRAPPER = re.compile(
    rf"""
    (?: (?:if|then|else|elif|do|while|until|!|\{{)
      | (?:\S*/)?(?:sudo|doas|env|nohup|time|timeout|nice|ionice|stdbuf|setsid|exec|command|builtin|busybox|xargs
        |caffeinate|chrt|taskset|(?:ba|z|da|k)?sh)
    )
    (?=\s) (?P<options>(?:\s+-\S*|\s+\d\S*(?=\s))*) \s+ (?:{_ASSIGNMENT})*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_HEAD_FOLDER = re.compile(r"^[^\s=]*/(?=\S)")
_MAX_WRAPPERS = 8


def readings(command: str) -> tuple[str, ...]:
    """The texts to search for patterns; in the last one every line starts with a program's bare name.

    Where it is certain what is quoted, the lines of the whole texts do not start with a program, so that a pattern
    for `grep -i` does not look beyond a pipe.
    """
    plain = _undisguised(command)
    texts = (command, plain)
    blanked = outside_quotes(command)
    if blanked is not None:
        simple = dict.fromkeys(line for text in (*texts, blanked) for line in _simple_commands(text))
        return (*(_not_at_start(text) for text in texts), "\n".join(simple))
    simple = dict.fromkeys(line for text in texts for line in _simple_commands(text))
    return (*texts, "\n".join(simple))


def outside_quotes(command: str) -> str | None:
    """`command` with quoted text blanked; None where it is not certain what is quoted."""
    if re.search(r"<<|#|\$'|`|\$\(|\\", command):
        return None
    blanked = re.sub(r"""'[^']*'|"[^"]*\"""", "Q", command)
    # A quote that is left has no partner.
    return None if re.search(r"['\"]", blanked) else blanked


def _not_at_start(text: str) -> str:
    return "\n".join(f"; {line}" for line in text.split("\n"))


def _undisguised(command: str) -> str:
    """Without quotes, escapes, `$IFS` and continued lines."""
    plain = command.replace("\\\n", "")
    plain = re.sub(r"\$\{IFS\}|\$IFS(?:\$\d)?", " ", plain)
    plain = re.sub(r"\\(.)", r"\1", plain)
    return re.sub(r"[\"']", "", plain)


def _simple_commands(text: str) -> Iterator[str]:
    for statement in _STATEMENT.split(text):
        yield from _unwrapped(statement)
        parts = _SUBSTITUTION.split(statement)
        if len(parts) > 1:
            for part in parts:
                yield from _unwrapped(part)


def _unwrapped(statement: str) -> Iterator[str]:
    """The statement, and what is left of it after each word that only introduces another command."""
    line = statement.strip()
    for _ in range(_MAX_WRAPPERS):
        if not line:
            return
        yield _HEAD_FOLDER.sub("", line)
        if assigned := _ASSIGNMENTS.match(line):
            line = line[assigned.end() :]
            continue
        wrapper = _WRAPPER.match(line)
        if wrapper is None:
            return
        line = line[wrapper.end() :]
        if wrapper["options"]:
            # The option may have taken a word of its own: `sudo -u name rm`.
            yield line.partition(" ")[2].lstrip()
