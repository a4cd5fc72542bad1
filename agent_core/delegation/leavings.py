"""What of a copy is not brought back: a patch for each change, which `git apply` takes; and copies that are gone."""

from __future__ import annotations

import re
import shlex
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

_EACH = re.compile(rb"^(?=diff --git )", re.MULTILINE)
_GONE = "gone-"


def write_rest(directory: Path, patch: bytes, changes: int, patch_of: Callable[[int], bytes]) -> None:
    """Write a patch for each change, by its number, before any is brought back: what a crash leaves can be applied.

    Args:
        patch: of all changes, in their order.
        patch_of: the one of a change, for where `patch` does not tell them apart.

    Raises:
        ToolError: as `patch_of` does. OSError: it cannot be written.
    """
    directory.mkdir()
    # Within a patch each line begins with a sign of its own.
    parts = _EACH.split(patch)[1:]
    for number in range(changes):
        one = parts[number] if len(parts) == changes else patch_of(number)
        patch_file(directory, number).write_bytes(one)


def patch_file(directory: Path, number: int) -> Path:
    """Where the patch of a change is until it is brought back."""
    return directory / f"{number:04}.patch"


def how_to_apply(top: Path, directory: Path) -> str:
    """The command that brings the rest back."""
    return f"git -C {shlex.quote(str(top))} apply {shlex.quote(str(directory))}/*.patch"


def is_gone(directory: Path) -> bool:
    """Whether it was given up and is only to be removed."""
    return directory.name.startswith(_GONE)


def remove_behind(directory: Path, last: Sequence[str], then: Callable[[], None] = lambda: None) -> None:
    """Remove a directory that may be large: it has another name at once, and goes on a thread of its own.

    Args:
        last: names in it that go when all others are gone.
        then: called when nothing is left of it.
    """
    gone = directory if is_gone(directory) else directory.with_name(f"{_GONE}{directory.name}")
    try:
        directory.rename(gone)
    except OSError:  # somebody else removes it, or it cannot be renamed
        gone = directory

    def work() -> None:
        for entry in gone.iterdir() if gone.is_dir() else ():
            if entry.name not in last:
                shutil.rmtree(entry, ignore_errors=True)
        shutil.rmtree(gone, ignore_errors=True)
        then()

    threading.Thread(target=work, name="removal of a copy", daemon=True).start()
