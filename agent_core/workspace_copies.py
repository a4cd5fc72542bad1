"""What all copies of a workspace have in common: patches of what is not brought back, and emptied directories."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shlex
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.environments.temp_directories import remove_tree

# A patch for each change, which `git apply` takes; and copies that are gone.

log = logging.getLogger(__name__)

_EACH = re.compile(rb"^(?=diff --git )", re.MULTILINE)
_GONE = "gone-"
_SETTLED = ".patch-settled"


def write_rest(directory: Path, patch: bytes, changes: int, patch_of: Callable[[int], bytes]) -> None:
    """Write a patch for each change, by its number, before any is brought back: what a crash leaves can be applied.

    Args:
        patch: of all changes, in their order.
        patch_of: the one of a change, for where `patch` does not tell them apart.

    Raises:
        ToolError: as `patch_of` does. OSError: it cannot be written.
    """
    # Within a patch each line begins with a sign of its own.
    parts = _EACH.split(patch)[1:]
    directory.mkdir()
    try:
        for number in range(changes):
            one = parts[number] if len(parts) == changes else patch_of(number)
            patch_file(directory, number).write_bytes(one)
    except BaseException:
        # Who applied some of them would believe that it was all.
        shutil.rmtree(directory, ignore_errors=True)
        raise


def patch_file(directory: Path, number: int) -> Path:
    """Where the patch of a change is until it is brought back."""
    return directory / f"{number:04}.patch"


def settle(directory: Path, number: int, *, for_good: bool) -> None:
    """A change needs its patch no more; not `for_good`: as long as what it was brought back to is there."""
    file = patch_file(directory, number)
    if for_good:
        file.unlink(missing_ok=True)
    elif file.exists():
        file.rename(file.with_suffix(_SETTLED))


def how_to_apply(top: Path, directory: Path, *, settled: bool = False) -> str:
    """The command that brings the rest back; `settled`: also what is settled, but not for good."""
    return f"git -C {shlex.quote(str(top))} apply {shlex.quote(str(directory))}/*.patch{'*' if settled else ''}"


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
        try:
            for entry in gone.iterdir() if gone.is_dir() else ():
                if entry.name not in last:
                    remove_tree(entry)
            remove_tree(gone)
        except OSError:
            log.info("the copy %s could not be removed: the next start tries again", gone, exc_info=True)
        finally:
            then()

    threading.Thread(target=work, name="removal of a copy", daemon=True).start()


def remove_emptied(directory: Path) -> None:
    """Remove a directory (resolved) in which only directories are left; nothing happens where there is more."""
    if os.path.realpath(directory) != str(directory) or any(files for _, _, files in os.walk(directory)):
        return
    for path, _, _ in os.walk(directory, topdown=False):
        # A link to a directory stays, and so what it is in.
        with contextlib.suppress(OSError):
            Path(path).rmdir()
