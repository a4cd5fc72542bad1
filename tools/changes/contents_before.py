"""Contents as they were before a command, so that what it changes without a word can be put back."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from tools.changes.facts import Facts, look, read_content
from tools.changes.held_content import ContentCache
from tools.changes.records import FileBefore, ObservationLimits

_MEGABYTE = 1_000_000


class ContentsBefore:
    """The contents of one observation.

    Attributes:
        incomplete: why not every small file is held; empty where all are.
    """

    def __init__(self, limits: ObservationLimits, cache: ContentCache | None) -> None:
        self._limits = limits
        self._cache = cache
        self._files: Mapping[str, Facts] = {}
        self._contents: dict[str, bytes] = {}
        self._bytes = 0
        self._named: dict[str, Facts | None] = {}
        self._named_bytes = 0
        self._copy_until = time.monotonic() + limits.max_copy_seconds
        self.incomplete = ""

    def hold(self, files: Mapping[str, Facts], deadline: float) -> None:
        """Read the small ones of `files` in their order, until `deadline` (of the monotonic clock) or the bound."""
        self._files = files
        for path, facts in files.items():
            if facts.size > self._limits.max_held_file:
                continue
            if self._bytes + facts.size > self._limits.max_held_bytes:
                self.incomplete = f"the files are larger than {_size(self._limits.max_held_bytes)} together"
                return
            cached = self._cache.get(path, facts) if self._cache else None
            if cached is None and time.monotonic() > deadline:
                self.incomplete = f"looking took longer than {self._limits.max_seconds:g} s"
                continue
            content = cached if cached is not None else self._read(path, facts)
            if content is not None:
                self._contents[path] = content
                self._bytes += len(content)

    def foreseen(self, path: Path) -> FileBefore | None:
        """A file that the command names, with its content as far as the bounds allow; None for directories."""
        name = str(path)
        facts = look(name)
        self._named[name] = facts
        if facts is None:
            lost = "" if not os.path.lexists(path) else "it could not be looked at"
            return FileBefore(path, None, None, lost)
        if not facts.is_file:
            return None
        if time.monotonic() > self._copy_until:
            return FileBefore(path, None, facts.mode, self._limits.too_slow)
        room = self._limits.max_foreseen_bytes - self._named_bytes
        if facts.size > self._limits.max_file_bytes or facts.size > room:
            limit = min(self._limits.max_file_bytes, self._limits.max_foreseen_bytes)
            return FileBefore(path, None, facts.mode, f"larger than {_size(limit)}, alone or with the others")
        try:
            held = self._contents.get(name) if self._files.get(name) == facts else None
            content = held if held is not None else read_content(name, facts, self._limits.max_file_bytes)
        except OSError as problem:
            return FileBefore(path, None, facts.mode, f"it could not be read: {problem.strerror}")
        if content is None:
            return FileBefore(path, None, facts.mode, "it was being written")
        self._named_bytes += len(content)
        return FileBefore(path, content, facts.mode)

    def facts(self, path: str) -> Facts | None:
        """The facts of a foreseen file."""
        return self._named.get(path)

    def before(self, path: str, facts: Facts) -> FileBefore:
        """A file of the roots as it was when `facts` were taken."""
        content = self._contents.get(path)
        lost = "" if content is not None else self._why_not_held(facts)
        return FileBefore(Path(path), content, facts.mode, lost)

    def _why_not_held(self, facts: Facts) -> str:
        if facts.size > self._limits.max_held_file:
            return f"larger than {_size(self._limits.max_held_file)}, and the command did not name it"
        return self.incomplete or "it could not be read"

    def _read(self, path: str, facts: Facts) -> bytes | None:
        try:
            content = read_content(path, facts, self._limits.max_held_file)
        except OSError:
            return None
        if content is not None and self._cache:
            self._cache.put(path, facts, content)
        return content


def _size(count: int) -> str:
    return f"{count >> 10} KB" if count < _MEGABYTE else f"{count // _MEGABYTE} MB"
