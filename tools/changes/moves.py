"""Files that a command has moved: whoever takes it back must not remove the only copy of what cannot come back.

A file that is new at its place may be one that went from another. Where the content from there is not held, it is
read here, so that the file can come back. Where that cannot be, or nobody looked at where it came from, what is new
is lost as well: it is left alone, and told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tools.changes.facts import CLOCK_STEP_NS, Facts, look, read_content
from tools.changes.records import FileBefore, FileDifference

_MAY_BE_ONLY_COPY = "it may be the only copy of {}, which cannot be brought back"
_FROM_UNSEEN = "it was moved here from where nobody looked: it may be the only copy"


class Moves:
    """Tells the files that were moved from those that were made.

    Args:
        facts: how a file was before the command, by its path; None for one that was not seen.
        started_ns: when the look before began.
        folder_is_gone: whether a directory is gone whose files were not all looked at.
        max_bytes: how much is read of one file, and of all together.
    """

    def __init__(
        self,
        facts: Callable[[str], Facts | None],
        started_ns: int,
        *,
        folder_is_gone: bool,
        max_bytes: tuple[int, int],
    ) -> None:
        self._facts = facts
        self._old = started_ns - CLOCK_STEP_NS
        self._folder_is_gone = folder_is_gone
        self._max_file, self._left = max_bytes

    def followed(self, differences: Sequence[FileDifference], known: Iterable[Facts]) -> list[FileDifference]:
        """The differences, with what the moves tell about them.

        Args:
            known: the facts of all files that were seen before.
        """
        told = {str(one.path): one for one in differences}
        by_inode: dict[int, str] = {}
        by_time: dict[tuple[int, int], str] = {}
        for path, one in told.items():
            old = self._facts(path) if one.before.lost else None
            if old is not None:
                by_inode[old.inode] = by_time[old.size, old.mtime_ns] = path
        seen: set[int] | None = None
        for path in list(told):
            now = look(path)
            if now is None or not now.is_file:
                continue
            source = by_inode.get(now.inode) or by_time.get((now.size, now.mtime_ns))
            if source is not None and source != path:
                self._moved(told, source, path, now)
            elif _is_new(told[path].before):
                seen = {facts.inode for facts in known} if seen is None else seen
                if self._came_from_unseen(now, seen):
                    _lose(told, path, _FROM_UNSEEN)
        return list(told.values())

    def _moved(self, told: dict[str, FileDifference], source: str, path: str, now: Facts) -> None:
        before = told[source].before
        if before.content is not None:
            return
        old = self._facts(source)
        # The same time and size alone may be another file, as archives make them.
        is_same = old is not None and (old.inode, old.size, old.mtime_ns) == (now.inode, now.size, now.mtime_ns)
        content = self._read(path, now) if is_same else None
        if content is None:
            _lose(told, path, _MAY_BE_ONLY_COPY.format(source))
        else:
            told[source] = replace(told[source], before=replace(before, content=content, lost=""))

    def _came_from_unseen(self, now: Facts, seen: set[int]) -> bool:
        # Moving a directory changes no time of the files in it; other devices get copies that keep `mtime`.
        if now.ctime_ns < self._old:
            return now.inode not in seen
        return self._folder_is_gone and now.mtime_ns < self._old

    def _read(self, path: str, facts: Facts) -> bytes | None:
        most = min(self._max_file, self._left)
        if facts.size > most:
            return None
        try:
            content = read_content(path, facts, most)
        except OSError:
            return None
        if content is None or len(content) != facts.size or look(path) != facts:
            return None
        self._left -= len(content)
        return content


def _is_new(before: FileBefore) -> bool:
    return before.content is None and before.mode is None and not before.lost


def _lose(told: dict[str, FileDifference], path: str, reason: str) -> None:
    one = told[path]
    told[path] = replace(one, before=replace(one.before, content=None, lost=reason))
