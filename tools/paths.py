"""Paths as people and models write them."""

from __future__ import annotations

import os
import unicodedata


def absolute(path: str, base: str | os.PathLike[str], home: str | os.PathLike[str] | None = None) -> str:
    """The path that is meant: `~` and `~/x` are in the home, relative ones in `base`; `~name` is a file called so.

    A `..` takes back a name, and not what a link of that name leads to.

    Args:
        home: None for the one of this machine's user.
    """
    if path == "~" or path.startswith("~/"):
        path = os.path.join(os.path.expanduser("~") if home is None else home, path[2:])  # noqa: PTH111, PTH118
    return os.path.normpath(os.path.join(base, path))  # noqa: PTH118 - text, also of another machine


def one_slash(path: str) -> str:
    """The path without the second slash at its beginning. POSIX lets `//x` be another place; on no system it is."""
    return path[1:] if os.sep == "/" and path[:2] == "//" and path[2:3] != "/" else path


def same_directory(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two spellings name one directory of this machine. Blocks for the disk.

    They may differ by symbolic links, slashes and dots; by case and the composition of letters where the file system
    does not tell these apart. What is not there is compared as text.
    """
    try:
        mine, theirs = (one_slash(os.path.realpath(path)) for path in (one, other))
        if mine == theirs or _folded(mine) != _folded(theirs):
            return mine == theirs
        return os.path.samestat(os.stat(mine), os.stat(theirs))  # noqa: PTH116 - text
    except (OSError, ValueError):  # it is not there, or can be no path
        return False


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
