"""Paths as people and models write them."""

from __future__ import annotations

import os


def absolute(path: str, base: str | os.PathLike[str], home: str | os.PathLike[str] | None = None) -> str:
    """The path that is meant: `~` and `~/x` are in the home, relative ones in `base`; `~name` is a file called so.

    A `..` takes back a name, and not what a link of that name leads to.

    Args:
        home: None for the one of this machine's user.
    """
    if path == "~" or path.startswith("~/"):
        path = os.path.join(os.path.expanduser("~") if home is None else home, path[2:])  # noqa: PTH111, PTH118
    return os.path.normpath(os.path.join(base, path))  # noqa: PTH118 - text, also of another machine
