"""Operating system errors about paths, told as `FileAccessError`s that the model can act on."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.errors import FileAccessError, FileMissing, FileRefused

_ADVICE = {
    errno.EACCES: "Its permissions do not allow that; ask the user.",
    errno.EPERM: "Its permissions do not allow that; ask the user.",
    errno.EROFS: "Choose a path on a file system that can be written.",
    errno.ENOSPC: "Free some space or ask the user.",
    errno.EDQUOT: "Free some space or ask the user.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
    errno.EEXIST: "A part of the path is a file; check the path.",
    errno.ENOTDIR: "A part of the path is a file; check the path.",
    errno.EINVAL: "Name it in another way.",
    errno.EXDEV: "The two paths are on different file systems; write the new file, then remove the old one.",
}


@contextmanager
def told_as_file_error(trying: str, path: Path) -> Iterator[None]:
    """Turn an OSError of the block into the fitting `FileAccessError`.

    Args:
        trying: what the block does, as in «Could not read /a/b».
    """
    try:
        yield
    except OSError as problem:
        raise file_error(trying, path, problem) from problem


def file_error(trying: str, path: Path, problem: OSError) -> FileAccessError:
    """The error that says what was tried, what happened and what to do."""
    if isinstance(problem, FileNotFoundError):
        return FileMissing(f"Could not {trying} {path}: there is nothing at that path.")
    if problem.errno == errno.ELOOP:
        return FileRefused(
            f"Could not {trying} {path}: it has changed since it was looked at, as a part of it is a symbolic link "
            "now, or one that leads nowhere. Look at it again, and name the real path."
        )
    reason = problem.strerror or type(problem).__name__
    message = f"Could not {trying} {path}: {reason}."
    if advice := _ADVICE.get(problem.errno or 0):
        message += f" {advice}"
    if isinstance(problem, IsADirectoryError):
        return FileRefused(message)
    return FileAccessError(message)
