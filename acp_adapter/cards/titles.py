"""The titles of tool calls: one line each, with nothing in it that could make it read as something else."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from tools.os_compat import absolute as absolute_path
from tools.patching.v4a import paths_of

Arguments = Mapping[str, Any]

_MAX_TITLE = 200
_BREAKS = re.compile(r"\s*[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]\s*")
# Control characters, and those that turn the direction of what follows: a title could show another name with them.
_HIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


# Signs that nobody sees, joiners and blanks that are none among them, and line breaks that few editors break at.
# The sign that makes a picture of the one before it is left out.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_PADDING = re.compile(r"[^\S\n]{40,}|(?:[^\S\n]*\n){6,}")


def one_line(text: str, limit: int = _MAX_TITLE) -> str:
    """`text` as one line of at most `limit` characters, without control characters; «…» ends what was cut."""
    line = _HIDDEN.sub("", _BREAKS.sub(" ", text.strip()))
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def unmasked(text: str) -> str:
    """All of `text`, hidden characters written out: what a person is asked to allow must be what they see."""
    return _UNSEEN.sub(lambda found: found[0] if found[0] in "\n\t" else ascii(found[0])[1:-1], text)


def unpadded(text: str) -> str:
    """`text` with no room in which what follows would be out of sight: what is left out is counted."""
    return _PADDING.sub(_counted, text)


def unseen_in(text: str) -> frozenset[str]:
    """The signs in `text` that nobody sees, line breaks and tabs apart."""
    return frozenset(_UNSEEN.findall(text)) - frozenset("\n\t\r")


def _counted(room: re.Match[str]) -> str:
    lines = room[0].count("\n")
    return f"\n[… {lines - 1} blank lines …]\n" if lines else f" [… {len(room[0])} blanks …] "


def absolute(path: object, cwd: str) -> str | None:
    """The path that an argument means, seen from `cwd`; None where it is none."""
    if not isinstance(path, str) or not path or "\0" in path:
        return None
    return absolute_path(path, cwd)


def on_path(verb: str, arguments: Arguments, cwd: str) -> str:
    """«Edit src/a.py»: the path relative to the session's directory where it is below it."""
    return f"{verb} {_shown_path(arguments, cwd)}"


def edit_title(arguments: Arguments, cwd: str) -> str:
    """The file that is changed; of a patch the first one, and how many more there are."""
    paths = paths_of(arguments)
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{on_path('Edit', {'path': paths[0] if paths else None}, cwd)}{more}"


def read_title(arguments: Arguments, cwd: str) -> str:
    """What is read, from which line, and whether the prompt linked to it."""
    offset = arguments.get("offset")
    start = f" from line {offset}" if isinstance(offset, int) and offset > 1 else ""
    linked = " (linked)" if arguments.get("linked") is True else ""
    return f"{on_path('Read', arguments, cwd)}{start}{linked}"


def search_title(arguments: Arguments, cwd: str) -> str:
    """What is searched for, and where if not everywhere."""
    where = "" if arguments.get("path") in (None, "", ".") else f" in {_shown_path(arguments, cwd)}"
    return f"Search {str(arguments.get('pattern', '?'))!r}{where}"


def recall_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
    """Which of the three things `session_search` does."""
    if query := arguments.get("query"):
        return f"Search sessions for {str(query)!r}"
    return "Read an earlier session" if arguments.get("session_id") else "Look at the latest sessions"


def command_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
    """The command's first line; « …» where it has more."""
    return first_line(arguments.get("command"), "?")


def question_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
    """The question's first line; « …» where it has more."""
    return first_line(arguments.get("question"), "Ask a question")


def todo_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
    """Whether the plan is changed or looked at."""
    return "Update the plan" if arguments.get("todos") else "Look at the plan"


def first_line(text: object, otherwise: str) -> str:
    """The first line of `text` that is not blank, with « …» where another follows; `otherwise` without one."""
    lines = [line.strip() for line in str(text or "").splitlines() if line.strip()]
    if not lines:
        return otherwise
    return f"{lines[0]} …" if len(lines) > 1 else lines[0]


def _shown_path(arguments: Arguments, cwd: str) -> str:
    full = absolute(arguments.get("path"), cwd)
    if full is None:
        return "?"
    relative = os.path.relpath(full, cwd)
    return full if relative.startswith("..") else relative
