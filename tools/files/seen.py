"""What a session's model knows of files: which content it has read or written, and which lines it was shown of it.

`write_file` asks it before it replaces a file, `read_file` so as not to say the same twice. The agent forgets it all
when the history that the model sees becomes shorter. It also keeps the text of the latest documents. A program that
calls tools knows what it has read itself, and what the model knows.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tools.light_dataclass import dataclass

_MAX_FILES = 500
_MAX_PAGES = 64
_MAX_DOCUMENTS = 4

Lines = tuple[int, int]
"""The first and the last line (1-based) of a page."""


class ChangedLines(NamedTuple):
    """An edit: the lines from `first` on, up to `old_last`, became those up to `new_last` (1-based, inclusive)."""

    first: int
    old_last: int
    new_last: int

    def moved(self, read: Iterable[Lines]) -> tuple[Lines, ...]:
        """Lines that were read, as they are numbered after the edit."""
        lines: list[Lines] = []
        for start, end in read:
            if start <= self.first and end >= self.old_last:
                lines.append((start, end + self.new_last - self.old_last))
                continue
            if start < self.first:
                lines.append((start, min(end, self.first - 1)))
            if end > self.old_last:
                shift = self.new_last - self.old_last
                lines.append((max(start, self.old_last + 1) + shift, end + shift))
        return _joined(lines)


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document as text: its lines, what is to be said about them ('' for nothing), and the digest of its bytes."""

    lines: Sequence[str]
    note: str
    digest: str


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file as the model last saw it.

    Attributes:
        digest: of its bytes, as `digest_of` gives it.
        pages: the lines that the model was shown, in order, apart from each other.
        whole: the model has seen all of it.
        cut: what it was shown of the lines is not all that is in them.
        read: the lines that it knows of this content, though they may not be before it any more.
    """

    digest: str
    pages: tuple[Lines, ...] = ()
    whole: bool = False
    cut: bool = False
    read: tuple[Lines, ...] = ()

    def shows(self, first: int, last: int) -> bool:
        """Whether the model was shown every line from `first` to `last`."""
        return any(start <= first and last <= end for start, end in self.pages)

    def unread(self, total: int) -> tuple[Lines, ...]:
        """Which of the file's `total` lines the model does not know."""
        if self.whole:
            return ()
        following = [first for first, _ in self.read] + [total + 1]
        starts = [1, *(last + 1 for _, last in self.read)]
        gaps = zip(starts, following, strict=True)
        return tuple((start, next_read - 1) for start, next_read in gaps if start < next_read)


class FilesSeen:
    """The files that one session's model knows; safe to use from several threads.

    Paths are absolute; symbolic links are followed, so that a file is the same under all its names. Of many files the
    latest are remembered.
    """

    def __init__(self, max_files: int = _MAX_FILES) -> None:
        self._max_files = max_files
        self._files: OrderedDict[Path, SeenFile] = OrderedDict()
        self._documents: OrderedDict[str, DocumentText] = OrderedDict()
        self._lock = threading.Lock()

    def note(
        self,
        path: Path,
        digest: str,
        *,
        pages: Iterable[Lines] = (),
        total: int | None = None,
        whole: bool = False,
        cut: bool = False,
    ) -> None:
        """The model knows a file with this content now.

        Args:
            digest: of the file's bytes, from `digest_of`.
            pages: lines that it was shown; they come to those that it has seen of the same content.
            total: how many lines the file has; None where that is not known.
            whole: it has written all of it.
            cut: the lines were shortened, or are only what was made of the content.
        """
        key = _key(path)
        with self._lock:
            before = self._files.get(key)
            if before is None or before.digest != digest:
                before = SeenFile(digest)
            new = tuple(pages)
            seen = SeenFile(
                digest,
                _joined((*before.pages, *new)),
                whole or before.whole,
                cut or before.cut,
                _joined((*before.read, *new)),
            )
            if total is not None and not seen.cut and (total == 0 or seen.shows(1, total)):
                seen = replace(seen, whole=True)
            self._keep(key, seen)

    def edited(self, path: Path, before: str, after: str, changed: ChangedLines | None = None) -> None:
        """The model changed a piece of a file, from the content `before` to `after` (digests).

        What it knew it knows still; of a file that it had not read, it knows no more than it did.

        Args:
            changed: where; None where that is not known, so that no line counts as read any more.
        """
        key = _key(path)
        with self._lock:
            seen = self._files.get(key)
            if seen is not None and seen.digest == before:
                read = () if changed is None else changed.moved(seen.read)
                self._keep(key, SeenFile(after, (), seen.whole, seen.cut, read))

    def known(self, path: Path) -> SeenFile | None:
        """What the model last saw of a file, None where that is nothing."""
        with self._lock:
            return self._files.get(_key(path))

    def forget_pages(self, path: Path) -> None:
        """The model may not have the file's lines before it any more; which content it knows stays."""
        key = _key(path)
        with self._lock:
            if (seen := self._files.get(key)) is not None:
                self._files[key] = replace(seen, pages=())

    def forget_all(self) -> None:
        """The model's history is another one now: what it was shown may be gone from it."""
        with self._lock:
            self._files.clear()

    def document(self, digest: str) -> DocumentText | None:
        """The text of a document that was read not long ago: to make it costs seconds."""
        with self._lock:
            return self._documents.get(digest)

    def keep_document(self, text: DocumentText) -> None:
        """Keep the text of a document, for the next page of it."""
        with self._lock:
            self._documents[text.digest] = text
            self._documents.move_to_end(text.digest)
            while len(self._documents) > _MAX_DOCUMENTS:
                self._documents.popitem(last=False)

    def paths(self) -> tuple[Path, ...]:
        """The files that the model knows, with links resolved, the latest first."""
        with self._lock:
            return tuple(reversed(self._files))

    def _keep(self, key: Path, seen: SeenFile) -> None:
        self._files[key] = seen
        self._files.move_to_end(key)
        while len(self._files) > self._max_files:
            self._files.popitem(last=False)


def digest_of(data: bytes) -> str:
    """The digest of a file's bytes, as `FilesSeen` compares it."""
    return hashlib.sha256(data).hexdigest()


def new_digest() -> hashlib._Hash:
    """What makes such a digest of bytes that come in parts."""
    return hashlib.sha256()


def _key(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _joined(pages: Iterable[Lines]) -> tuple[Lines, ...]:
    """The same lines in order, with pages that touch made one."""
    joined: list[Lines] = []
    for first, last in sorted(pages):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        elif first <= last:
            joined.append((first, last))
    return tuple(joined[-_MAX_PAGES:])


# What a program knows.


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
