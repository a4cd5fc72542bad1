"""Which files of the home may become code of this program."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tools.os_flags import own_user


def why_not_trusted(path: Path, home: Path) -> str:
    """Why `path`, a file below `home`, must not be loaded, to complete «it …»; '' when it may.

    It and every directory up to the home have to be the user's own (or root's), and nobody else may change them.
    """
    real, root = Path(os.path.realpath(path)), Path(os.path.realpath(home))
    if real != root and root not in real.parents:
        return f"is a link that leads out of {home}, to {real}: copy the file there instead"
    places = [real, *(parent for parent in real.parents if parent == root or root in parent.parents)]
    for place in places:
        try:
            facts = place.stat()
        except OSError as problem:
            return f"cannot be looked at ({problem.strerror})"
        which = "" if place == real else f", being in {place},"
        if facts.st_uid not in {own_user(), 0}:
            return f"belongs{which} to another user: take it over with chown, or remove it"
        if facts.st_mode & stat.S_IWOTH:
            return f"could be changed{which} by every user of this machine: run chmod o-w {place}"
    return ""
