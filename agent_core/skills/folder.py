"""What is in a skill's folder."""

from __future__ import annotations

import os
from pathlib import Path

from tools.agent_ports import DEEPEST

MOST_TOLD = 60
"""Files of a skill that are told by name."""

_MOST_FILES = 500


def files_of(folder: Path) -> tuple[tuple[str, ...], int]:
    """The regular files in a skill's folder, relative, by name; how many more there are. Links are passed over."""
    found: list[str] = []
    budget = _MOST_FILES
    waiting = [(folder, 0)]
    left_out = 0
    while waiting and budget > 0:
        here, level = waiting.pop()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    budget -= 1
                    if budget < 0:
                        left_out += 1
                        break
                    if entry.name.startswith(".") or not _is_told(entry.name):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        if level < DEEPEST - 1:
                            waiting.append((here / entry.name, level + 1))
                    elif entry.is_file(follow_symlinks=False):
                        found.append((here / entry.name).relative_to(folder).as_posix())
        except OSError:
            continue  # a folder that cannot be listed has nothing that could be read
    return tuple(sorted(found)), left_out


def _is_told(name: str) -> bool:
    """Whether a name can be written down: it may be no UTF-8."""
    return not any("\udc80" <= sign <= "\udcff" for sign in name)
