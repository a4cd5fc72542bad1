"""What a program knows of files: what it has read itself, and what the session's model knows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tools.files.seen import FilesSeen, SeenFile


class SeenByProgram(FilesSeen):
    """As a session's, but no line counts as shown: a program gets what it asks for as often as it asks.

    Nothing that it reads is known to the model, and what it changes the model has to read anew.

    Args:
        of_session: what the session's model knows.
    """

    def __init__(self, of_session: FilesSeen) -> None:
        super().__init__()
        self._of_session = of_session

    def known(self, path: Path) -> SeenFile | None:
        """What the program last saw of a file, or else the model."""
        found = super().known(path) or self._of_session.known(path)
        return None if found is None else replace(found, pages=())
