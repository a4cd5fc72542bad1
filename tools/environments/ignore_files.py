"""The files outside of a directory that say what a search in it passes over."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

_NAMES = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")
_EXCLUDES = re.compile(rb"""(?im)^\s*excludesfile\s*=\s*"?\s*(\S+?)\s*"?\s*$""")
_MOST_BYTES = 1 << 20


def ignore_files(folder: Path) -> Iterator[Path]:
    """The paths where they may be, in its parents and in the user's home, the latter resolved; most are not there."""
    for parent in folder.parents:
        yield from (parent / name for name in _NAMES)
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - a home that is not known is no error
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    yield _resolved(settings / "ignore")
    for config in (home / ".gitconfig", settings / "config"):
        yield _resolved(config)
        try:
            with config.open("rb") as stream:
                written = _EXCLUDES.findall(stream.read(_MOST_BYTES))
        except OSError:
            continue
        for name in written:
            yield _resolved(Path(os.path.expanduser(os.fsdecode(name))))  # noqa: PTH111 - as above


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))
