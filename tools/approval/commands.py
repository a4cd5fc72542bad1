"""What a shell command would do: the first net, made of regular expressions over several readings of it.

It errs towards asking. It is no sandbox: a script that the command runs is not looked into.
"""

from __future__ import annotations

import functools
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tools.approval.command_patterns import (
    DANGEROUS_PATTERNS,
    FORBIDDEN_PATTERNS,
    GLOB_PATTERNS,
    REDIRECTION_PATTERNS,
)
from tools.approval.command_reading import outside_quotes, readings, where_globs_count

_FLAGS = re.IGNORECASE | re.MULTILINE
# Longer ones than a person would read ask without being looked through.
_MAX_CHARS = 4_000
_DELETES_ALL = re.compile(r"rm\s(?:.*\s)?-(?:-recursive|[a-z]*r[a-z]*)(?=\s|$)", re.IGNORECASE)
_MOVES = re.compile(r"(?:cd|pushd|popd)\b")
_RELATIVE = re.compile(r"[\w.*][\w.*/-]*")


@dataclass(frozen=True, slots=True)
class CommandClass:
    """How far a command reaches: `why` completes the sentence «this command …»."""

    level: Literal["ordinary", "dangerous", "forbidden"]
    why: str = ""


def classify_command(command: str, cwd: Path | None = None) -> CommandClass:
    """The strongest class that any reading of `command` falls into.

    Args:
        cwd: where it would run; what it deletes as a whole is then looked at under its full name, too.
    """
    texts = readings(command[:_MAX_CHARS])
    if why := _first(FORBIDDEN_PATTERNS, texts if cwd is None else (*texts, *_spelled_out(texts, cwd))):
        return CommandClass("forbidden", why)
    if len(command) > _MAX_CHARS:
        return CommandClass("dangerous", "is too long to be checked")
    unquoted = outside_quotes(command)
    if unquoted is None:
        unquoted = command
    why = (
        _first(DANGEROUS_PATTERNS, texts)
        or _first(REDIRECTION_PATTERNS, (unquoted,))
        or _first(GLOB_PATTERNS, (where_globs_count(command),))
    )
    if why:
        return CommandClass("dangerous", why)
    return CommandClass("ordinary")


def detect_dangerous_command(command: str) -> tuple[bool, str]:
    """Whether `command` would not run unasked, and why."""
    found = classify_command(command)
    return found.level != "ordinary", found.why


def _spelled_out(texts: tuple[str, ...], cwd: Path) -> tuple[str, ...]:
    """The deletions of whole directories among `texts` with full names in place of relative ones."""
    if any(_MOVES.match(text) for text in texts):
        return ()  # nobody knows where it would be then
    home = os.path.expanduser("~")  # noqa: PTH111 - text

    def full(word: str) -> str:
        if not _RELATIVE.fullmatch(word):
            return word
        path = os.path.normpath(os.path.join(cwd, word))  # noqa: PTH118 - text
        return "~" + path.removeprefix(home) if path in {home, f"{home}/*"} else path

    lines = (text for text in texts if _DELETES_ALL.match(text))
    return tuple(" ".join((first, *map(full, rest))) for first, *rest in (line.split() for line in lines))


def _first(patterns: list[tuple[str, str]] | tuple[tuple[str, str], ...], texts: tuple[str, ...]) -> str:
    return next((why for pattern, why in patterns if any(_compiled(pattern).search(text) for text in texts)), "")


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, _FLAGS)
