"""Files that are written whole or not at all, for the user alone, and never over others without being told to."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from agent_core.errors import RequestError

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


@contextlib.contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """A file to write to, that is at `path` once the block is left without an exception.

    Args:
        force: replace what is there.

    Raises:
        RequestError: there is a file already, or it cannot be written.
    """
    refuse_existing(path, force=force)
    temporary: str | None = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _put(temporary, path, force=force)
    except FileExistsError as problem:
        raise _exists(path) from problem
    except OSError as problem:
        raise RequestError(
            f"{path} could not be written: {problem.strerror or problem}. Choose another --output."
        ) from problem
    finally:
        if temporary is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)  # noqa: PTH108 - a name, not a path


def refuse_existing(path: Path, *, force: bool) -> None:
    """Raise RequestError where `path` is there and may not be replaced, or is a directory."""
    if path.is_dir():
        raise RequestError(f"{path} is a directory. Name a file in it: --output {path / 'session'}.")
    if not force and os.path.lexists(path):
        raise _exists(path)


def _put(temporary: str, path: Path, *, force: bool) -> None:
    if not force:
        try:
            os.link(temporary, path)  # fails where there is a file, whoever made it meanwhile
        except OSError as problem:
            if problem.errno not in _NO_LINKS:
                raise
            refuse_existing(path, force=False)
        else:
            return
    os.replace(temporary, path)  # noqa: PTH105 - a name, not a path


def _exists(path: Path) -> RequestError:
    return RequestError(f"{path} was not written: there is such a file. Add --force to replace it.")
