"""Files with the outputs that were too long to show: a directory for each session, a file for each tool call."""

from __future__ import annotations

import hashlib
import logging
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

log = logging.getLogger(__name__)

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")
_HASH_LENGTH = 32
_MAX_AGE = 7 * 86_400.0


class SavedOutputs:
    """The files below `root`. They go with their session or after seven days; its model may read them too."""

    def __init__(self, root: Path, clock: Callable[[], float] = time.time) -> None:
        self._root = root
        self._clock = clock

    def directory_of(self, session_id: str) -> Path:
        """Where all outputs of a session go; nothing is made."""
        return self._root / _file_name(session_id)

    def file_of(self, session_id: str, call_id: str) -> Path:
        """Where the output of a call goes; nothing is made."""
        return self.directory_of(session_id) / f"{_file_name(call_id)}.txt"

    def transcript_of(self, session_id: str) -> Path:
        """Where the conversation goes that hooks may read; nothing is made."""
        return self.directory_of(session_id) / "transcript.jsonl"

    def drop(self, session_id: str) -> None:
        """Remove the files of a session; what cannot be removed is left for `prune`."""
        shutil.rmtree(self.directory_of(session_id), ignore_errors=True)

    def prune(self) -> int:
        """Remove what was not written for seven days; how many files."""
        before, dropped = self._clock() - _MAX_AGE, 0
        for directory in self._root.glob("*/"):
            for file in (*directory.glob("*.txt"), *directory.glob("*.jsonl")):
                dropped += _drop_if_old(file, before)
            try:
                directory.rmdir()
            except OSError:  # it has newer files
                continue
        return dropped


def _drop_if_old(file: Path, before: float) -> bool:
    try:
        if file.lstat().st_mtime >= before:
            return False
        file.unlink()
    except OSError as problem:
        log.warning("the old output %s could not be removed: %s", file, problem.strerror)
        return False
    return True


def _file_name(given: str) -> str:
    """Ids come from models and editors: only harmless ones are names as they are."""
    if _PLAIN_NAME.fullmatch(given):
        return given
    return hashlib.sha256(given.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
