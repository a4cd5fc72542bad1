"""The files outside of a directory that say what a search in it passes over."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

IGNORE_FILES = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")
_EXCLUDES = re.compile(rb"""(?im)^\s*excludesfile\s*=\s*"?\s*(\S+?)\s*"?\s*$""")
_MOST_BYTES = 1 << 20


def ignore_files(folder: Path) -> Iterator[Path]:
    """The paths where they may be, in its parents and in the user's home, the latter resolved; most are not there."""
    for parent in folder.parents:
        yield from (parent / name for name in IGNORE_FILES)
    for config, names in _of_home():
        yield _resolved(config)
        yield from map(_resolved, names)


def ignored_everywhere() -> list[Path]:
    """The ignore files of the user's own that are there: they hold in every repository."""
    return [path for _, names in _of_home() for path in names if path.is_file()]


def _of_home() -> Iterator[tuple[Path, list[Path]]]:
    """Git's settings in the user's home, each with the ignore files that it names; first the usual one."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - a home that is not known is no error
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    yield settings / "ignore", [settings / "ignore"]
    for config in (home / ".gitconfig", settings / "config"):
        try:
            with config.open("rb") as stream:
                written = _EXCLUDES.findall(stream.read(_MOST_BYTES))
        except OSError:
            written = []
        yield config, [Path(os.path.expanduser(os.fsdecode(name))) for name in written]  # noqa: PTH111 - as above


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))
