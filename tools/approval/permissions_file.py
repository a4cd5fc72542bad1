"""The text of `permissions.yaml`: a list of entries that people read, change and comment as they like.

An entry is added behind the others or cut out; not a sign of the rest is changed, and where that is not possible,
nothing is.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from tools.locked_file import hold, open_regular, replace_file, unusable
from tools.os_compat import own_user

HEADER = """\
# What you have answered for every later session. Each entry is one yes of yours, but for secret files that are
# kept from commands.
# To take one back, delete its lines, or use /permissions in a session or `hermes-acp permissions revoke`.
# kind: run (this very command), run like (commands that begin so), run outside (without the sandbox), read, edit,
#       secret files (whether commands may read a project's, such as .env), read below, edit below,
#       mcp (a tool of a server), tool (one of your own), host (pages of it), connect (commands to a host), search
# where: the directory of a command; the project of secret files; else the directory whose sessions it counts in
# why: the dangers that were shown; where there is another one, you are asked again
# pin: what a tool of an MCP server was then; once it or its server is another, the entry allows nothing

"""
_ENTRY = re.compile(r"^- ", re.MULTILINE)  # what an entry goes on with is indented
_LONGEST = 512 * 1024
_LOCK_SECONDS = 5.0


class KeptGrantsError(Exception):
    """The file cannot be used as it is; the text says which file, why, and what to do."""


def read_text(path: Path) -> str:
    """The file's text; '' where there is none.

    Raises:
        KeptGrantsError: it cannot be read, or somebody else may have written it.
    """
    try:
        with open_regular(path) as stream:
            _check(path, os.fstat(stream.fileno()))
            # Bytes that are no UTF-8 are no YAML either: whoever reads the entries says which one has them.
            return stream.read(_LONGEST).decode(errors="surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as problem:
        raise unusable(path, "read", problem, KeptGrantsError) from problem


def entries_of(text: str, path: Path) -> Sequence[Any]:
    """The list that the text is.

    Raises:
        KeptGrantsError: it is none.
    """
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        where = " ".join(str(problem).split())[:200]
        raise KeptGrantsError(f"{path} is not valid YAML: {where}. Mend it.") from problem
    if value is None:
        return ()
    if not isinstance(value, list):
        raise KeptGrantsError(f"{path} must hold a list of entries (`- kind: run` …). Mend it.")
    return value


def readable_entries(text: str, path: Path) -> tuple[Sequence[Any], Sequence[int]]:
    """The entries, and the lines at which damaged ones begin; such a one takes none of the others away.

    Raises:
        KeptGrantsError: no entry can be read.
    """
    try:
        return entries_of(text, path), ()
    except KeptGrantsError as problem:
        found: list[Any] = []
        damaged: list[int] = []
        begins = [0, *(match.start() for match in _ENTRY.finditer(text)), len(text)]
        for begin, end in pairwise(begins):
            try:
                found += entries_of(text[begin:end], path)
            except KeptGrantsError:
                damaged.append(text.count("\n", 0, begin) + 1)
        if not found:
            raise KeptGrantsError(f"{problem} Nothing in it counts until then.") from problem
        return found, damaged


def with_entry(text: str, entry: dict[str, str], path: Path) -> str:
    """The text with one entry more, at its end.

    Raises:
        KeptGrantsError: that is not possible without changing the rest.
    """
    written = yaml.safe_dump([entry], sort_keys=False, allow_unicode=True, width=10**6)
    head = text or HEADER
    changed = f"{head}{'' if head.endswith(chr(10)) else chr(10)}{written}"
    return _checked(changed, [*entries_of(text, path), entry], path)


def without_entry(text: str, position: int, path: Path) -> str:
    """The text without the entry at `position` of the list.

    Raises:
        KeptGrantsError: that is not possible without changing the rest.
    """
    entries = entries_of(text, path)
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(node, yaml.SequenceNode) or not 0 <= position < len(entries):
        raise KeptGrantsError(f"{path} has no such entry any more; nothing was changed. Look at the list again.")
    lines = text.splitlines(keepends=True)
    begin = node.value[position].start_mark.line
    # An entry's node ends where the next thing begins, behind comments and blank lines that may belong to that.
    end = begin + 1
    while end < len(lines) and lines[end].startswith(" ") and lines[end].strip():
        end += 1
    rest = [entry for at, entry in enumerate(entries) if at != position]
    return _checked("".join([*lines[:begin], *lines[end:]]), rest, path)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[Path]:
    """Hold the lock of the file, as every process does that changes it; gives the file that is meant.

    Raises:
        KeptGrantsError: it cannot be had.
    """
    # A link leads to the file itself, and stays.
    target = Path(os.path.realpath(path))
    with hold(path, target, _LOCK_SECONDS, KeptGrantsError):
        yield target


def replace_text(target: Path, text: str) -> None:
    """Put the text in the file's place, whole and for its owner alone. The lock is held.

    Raises:
        KeptGrantsError: it could not be written; what was there still is.
    """
    try:
        replace_file(target, text.encode())
    except OSError as problem:
        raise unusable(target, "written", problem, KeptGrantsError) from problem


def stamp_of(path: Path) -> tuple[int, ...] | None:
    """What changes when the file does, nothing where it is missing; None where nobody can tell."""
    try:
        facts = path.stat()
    except FileNotFoundError:
        return ()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino, facts.st_mode, facts.st_uid


def _check(path: Path, facts: os.stat_result) -> None:
    if facts.st_size > _LONGEST:
        raise OSError(errno.EFBIG, f"it has more than {_LONGEST // 1024} KiB")
    if facts.st_uid != own_user() or facts.st_mode & 0o022:
        raise KeptGrantsError(
            f"{path} belongs to or may be changed by other users, so nothing in it counts. Look it through, then "
            f"make it yours alone: chmod 600 {path}"
        )


def _checked(text: str, entries: Sequence[Any], path: Path) -> str:
    try:
        if list(entries_of(text, path)) == list(entries):
            return text
    except KeptGrantsError:
        pass
    raise KeptGrantsError(
        f"{path} is written in a form that this program does not change by itself. Edit it by hand."
    )
