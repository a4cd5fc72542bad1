"""Compares files with what they were before a command."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from tools.changes.contents_before import ContentsBefore
from tools.changes.facts import CLOCK_STEP_NS, Facts, look, read_content
from tools.changes.records import UNKNOWN_HASH, FileBefore, FileDifference
from tools.changes.root_scan import RootScan


class Comparison:
    """Tells the differences, file by file.

    Args:
        before: the look before the command; `held`: the contents from then.
        max_bytes: how much is read in all. What is beyond has an unknown content.
    """

    def __init__(self, before: RootScan, held: ContentsBefore, max_bytes: int) -> None:
        self._before = before
        self._held = held
        self._left = max_bytes

    def of(self, path: str, named: FileBefore | None) -> FileDifference | None:
        """What happened to `path`; None where nothing did, or nobody can tell.

        Args:
            named: how it was, if the command names it.
        """
        now = look(path)
        old = self._held.facts(path) if named else self._before.files.get(path)
        before = named or self._known(path, old, now)
        if before is None or (before.mode is None and not before.lost and (now is None or not now.is_file)):
            return None
        if now is None:
            return FileDifference(before.path, before, None, None)
        if not now.is_file:
            return FileDifference(before.path, before, UNKNOWN_HASH, now.mode)
        if before.content is None and old is not None:
            return self._without_content(before, old, now)
        content, now_hash = self._content(path, now)
        if before.content is not None and content == before.content and now.mode == before.mode:
            return None
        return FileDifference(before.path, before, now_hash, now.mode)

    def _known(self, path: str, old: Facts | None, now: Facts | None) -> FileBefore | None:
        """How a file of the roots was; None where it was not seen and need not have changed."""
        if old is not None:
            return self._held.before(path, old)
        if self._before.shows_absence(path) or path in self._before.listed:  # a directory was there, and no file
            return FileBefore(Path(path), None, None)
        if now is None or now.ctime_ns < self._before.started_ns - CLOCK_STEP_NS:
            return None
        # Nobody can set the time that tells: it was made or changed since. Which of both, nobody knows.
        return FileBefore(Path(path), None, None, "it was not seen before the command")

    def _without_content(self, before: FileBefore, old: Facts, now: Facts) -> FileDifference | None:
        if now == old:
            return None
        is_same_content = (now.mtime_ns, now.size, now.inode) == (old.mtime_ns, old.size, old.inode)
        if is_same_content and now.mode == old.mode:
            return None
        content, now_hash = self._content(str(before.path), now)
        if is_same_content and content is not None:
            before = replace(before, content=content, lost="")
        return FileDifference(before.path, before, now_hash, now.mode)

    def _content(self, path: str, facts: Facts) -> tuple[bytes | None, str]:
        """The content now and its hash, as far as there is something left to spend."""
        if facts.size > self._left:
            return None, UNKNOWN_HASH
        try:
            content = read_content(path, facts, self._left)
        except OSError:
            return None, UNKNOWN_HASH
        if content is None:
            return None, UNKNOWN_HASH
        self._left -= len(content)
        return content, hashlib.sha256(content).hexdigest()
