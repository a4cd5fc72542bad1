"""Files that are written whole or not at all, for the user alone, and never over others without being told to."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from agent_core.errors import RequestError


@contextlib.contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """A file to write to, that is at `path` once the block is left without an exception.

    Args:
        force: replace what is there.

    Raises:
        RequestError: there is a file already, or it cannot be written.
    """
    temporary = ""
    try:
        _refuse_existing(path, force=force)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _refuse_existing(path, force=force)  # somebody may have made one meanwhile
        os.replace(temporary, path)  # noqa: PTH105 - a name, not a path
    except OSError as problem:
        raise RequestError(
            f"{path} could not be written: {problem.strerror or problem}. Choose another --output."
        ) from problem
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)  # noqa: PTH108 - a name, not a path


def _refuse_existing(path: Path, *, force: bool) -> None:
    if path.is_dir():
        raise RequestError(f"{path} is a directory. Name a file in it: --output {path / 'session'}.")
    if not force and os.path.lexists(path):
        raise RequestError(f"{path} was not written: there is such a file. Add --force to replace it.")
