"""Reads files of skills: regular ones of a bounded size, whose real path is inside the skill's folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from tools.approval.sensitive import why_sensitive
from tools.environments.atomic_writes import open_resolved
from tools.os_compat import O_NOFOLLOW, O_NONBLOCK

MOST_CHARS = 100_000
"""Of a text file; of a SKILL.md too."""

MOST_BYTES = 1024 * 1024
"""Of any file."""

Refusal = Callable[[Path], str]
"""Why a path (absolute, resolved) must not be read, in words that follow «it »; '' where it may be."""


class Unreadable(ValueError):
    """Why a file of a skill is not read, in words that follow its name and «: »."""


def is_below(path: Path, root: Path) -> bool:
    """Whether `path` is `root` or inside it; both with symbolic links resolved."""
    return path == root or root in path.parents


def read_file(path: Path, within: Path, refusal: Refusal, most: int = MOST_BYTES) -> bytes:
    """The content of a file.

    Args:
        path: symbolic links in it may lead to other places in `within`.
        within: a folder, with symbolic links resolved.

    Raises:
        Unreadable: it leads out of there, must not be read, is no regular file, is too big or cannot be read.
        FileNotFoundError.
    """
    try:
        real = Path(os.path.realpath(path, strict=True))
        if not is_below(real, within):
            raise Unreadable("it leads out of the skill's folder")
        # Nobody is asked. Where the folder is does not count: the home, which holds skills, is private as a whole.
        if why := refusal(real) or why_sensitive(Path("/", real.relative_to(within))):
            raise Unreadable(f"it {why}")
        # O_NONBLOCK: a pipe in the file's place must not make anyone wait for a writer.
        descriptor = open_resolved(real, os.O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError) as problem:
        raise FileNotFoundError(str(path)) from problem
    except OSError as problem:
        raise Unreadable(f"it cannot be read ({problem.strerror or problem})") from problem
    with open(descriptor, "rb") as stream:  # noqa: PTH123 - a descriptor
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable("it is no regular file")
        data = stream.read(most + 1)
    if len(data) > most:
        raise Unreadable(f"it has more than {most:,} bytes")
    return data


def as_text(data: bytes) -> str | None:
    """The text in a file's bytes, without a byte order mark; None where it is none.

    Raises:
        Unreadable: it is longer than a text of a skill may be.
    """
    if b"\0" in data[:8_192]:
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if len(text) > MOST_CHARS:
        raise Unreadable(f"it has {len(text):,} characters; {MOST_CHARS:,} are allowed")
    return text
