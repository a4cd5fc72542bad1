"""The home directory: whether it can be used, who else may, what killed processes left, and the room for more."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.finding import Finding, failing, warning, well
from acp_adapter.cli.doctor.leftovers import leftovers
from acp_adapter.cli.doctor.private import is_shared, open_places
from acp_adapter.cli.doctor.sizes import counted, size_of, size_text

LITTLE_SPACE = 200 << 20
_MOST_NAMED = 4


def check_home(case: Case) -> Iterator[Finding]:
    """Whether the home can be written to."""
    root = case.home.root
    if not root.exists() and (obstacle := _obstacle(root)):
        yield failing("home", f"{root} cannot be made: {obstacle}", "Choose another home with HERMES_HOME.")
    elif not root.exists():
        yield well("home", f"{root} is not there yet; it is made when it is needed", exists=False)
    elif not root.is_dir():
        yield failing("home", f"{root} is not a directory", "Move it away, or set HERMES_HOME to a directory.")
    elif not _is_ours(root):
        step = f"Run hermes-acp as its owner, or give it to you: chown -R $(id -un) {root}"
        yield failing("home", f"{root} belongs to another user (sudo?)", step)
    elif not os.access(root, os.R_OK | os.W_OK | os.X_OK):
        step = f"Make {root} yours and writable, or choose another home with HERMES_HOME."
        yield failing("home", f"{root} cannot be written: nothing is saved", step)
    else:
        yield well("home", str(root), exists=True)


def check_permissions(case: Case) -> Iterator[Finding]:
    """Whether other users of this machine could read keys and conversations."""
    root = case.home.root
    if os.name == "nt" or not root.is_dir():
        return
    if is_shared(root):
        step = "Set HERMES_HOME to a directory of your own."
        yield failing("permissions", f"{root} is a directory for all users, and no home", step)
        return
    is_closed = not stat.S_IMODE(root.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO)
    exposed = [] if is_closed else [place for place in open_places(case.home) if place != root]
    if exposed:
        names = ", ".join(place.name for place in exposed[:_MOST_NAMED])
        more = f" and {len(exposed) - _MOST_NAMED} more" if len(exposed) > _MOST_NAMED else ""
        text = f"other users of this machine may look into {names}{more}"
        yield failing("permissions", text, f"{_FIX}, or: chmod 700 {root}", mends=True, files=[*map(str, exposed)])
    elif not is_closed:
        text = f"other users may list {root}; its files are private"
        yield warning("permissions", text, f"{_FIX}, or: chmod 700 {root}", mends=True)
    else:
        yield well("permissions", "the home is for you alone")


def check_leftovers(case: Case) -> Iterator[Finding]:
    """Files that a process would have removed, had it not been killed."""
    left = leftovers(case.home)
    if left:
        size = size_text(sum(size_of(path) for path in left))
        text = f"{counted(len(left), 'file')} of processes that were killed ({size})"
        yield warning("leftovers", text, f"{_FIX}: they are of no use.", mends=True, files=[*map(str, left)])


def check_space(case: Case) -> Iterator[Finding]:
    """Whether there is room for more."""
    root = case.home.root
    place = next((path for path in (root, *root.parents) if path.is_dir()), None)
    try:
        free = shutil.disk_usage(place or "/").free
    except OSError as problem:
        yield warning("disk", f"the free space for {root} cannot be told: {problem.strerror}")
        return
    if free < LITTLE_SPACE:
        step = "Free some space: without it conversations cannot be saved."
        yield failing("disk", f"only {size_text(free)} are free for {root}", step, free=free)
    else:
        yield well("disk", f"{size_text(free)} free", free=free)


def _obstacle(root: Path) -> str:
    """Why a home that is not there cannot be made; '' where it can."""
    if root.is_symlink():
        return f"it is a link to {os.readlink(root)}, which is not there"  # noqa: PTH115 - as it is written there
    above = next(path for path in root.parents if os.path.lexists(path))
    if not above.is_dir():
        return f"{above} is not a directory"
    return "" if os.access(above, os.W_OK | os.X_OK) else f"{above} cannot be written"


def _is_ours(root: Path) -> bool:
    owner = getattr(os, "geteuid", lambda: None)()
    return owner is None or owner == 0 or root.stat().st_uid == owner


_FIX = "Run `hermes-acp doctor --fix`"
