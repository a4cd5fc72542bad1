"""Files that are to be changed on disk while an editor may hold other text of them: which of them must wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from acp_adapter.client_io.files import EditorFileSystem
from tools.errors import FileAccessError
from tools.light_dataclass import dataclass
from tools.ports import FileSystem


@dataclass(frozen=True, slots=True)
class Hindrances:
    """What the editor has told.

    Attributes:
        by_path: why a file must not be changed now, as a clause.
        is_silent: it has not answered, so that the files after that were not looked at.
    """

    by_path: Mapping[Path, str]
    is_silent: bool = False


def hindrances(paths: Iterable[Path], files: FileSystem) -> Hindrances:
    """Compare what the editor shows of files with the disk, one question a file, until one has no answer.

    Args:
        files: a turn's files; where they are not the editor's, nothing hinders.

    Raises:
        ToolInterrupted: the turn is over.
    """
    if not isinstance(files, EditorFileSystem):
        return Hindrances({})
    found: dict[Path, str] = {}
    for path in paths:
        try:
            why = files.hindrance(path)
        except FileAccessError:  # what it is, and whether it can be changed, is for others to say
            continue
        if why is None:
            return Hindrances(found, is_silent=True)
        if why:
            found[path] = why
    return Hindrances(found)
