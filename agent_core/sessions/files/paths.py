"""Paths as text that SQLite can hold: names on disk are bytes, and need not be UTF-8.

A path that is UTF-8 stands as it is. Any other is written as `bytes:` and its bytes in percent notation; as paths are
absolute, nothing else begins like that. A path has one form only, so that equal texts are equal paths.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

_AS_BYTES = "bytes:"


def stored_path(path: Path) -> str:
    """The text for an absolute path."""
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        return _AS_BYTES + quote(os.fsencode(text))
    return text


def path_from(stored: str) -> Path:
    """The path that `stored_path` gave a text for."""
    if stored.startswith(_AS_BYTES):
        return Path(os.fsdecode(unquote_to_bytes(stored.removeprefix(_AS_BYTES))))
    return Path(stored)


def settled(path: Path) -> Path:
    """`path` with the links in its directories resolved, and its last part as it is: it may be a link itself."""
    return Path(os.path.realpath(path.parent)) / path.name


def shown_path(path: Path) -> str:
    """`path` for a person: one line, bytes that are no text as question marks."""
    return os.fsencode(path).decode(errors="replace").replace("\n", "\\n")


def missing_folders(path: Path) -> list[Path]:
    """The directories that must be made before `path` can be, outermost first."""
    missing: list[Path] = []
    for folder in path.parents:
        if folder.exists():
            break
        missing.append(folder)
    return missing[::-1]
