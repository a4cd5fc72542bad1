"""Files as the editor has them: its unsaved text wins over the disk, and what is written goes through it.

The editor is asked only for what it offers, and only about text files of a moderate size. Whatever it cannot do is
done on the disk: when it refuses, is silent, or cannot hold what the file is. But where the editor has told of text
that is not saved, nothing is written under it. Search, names and facts are the disk's: a search finds what is saved.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.client_io.buffer_text import DiskText, sendable
from acp_adapter.client_io.memory import EditorMemory
from acp_adapter.editor_calls import EditorCalls, EditorProblem, EditorRefused, EditorSilent
from tools.context import FileStat, FileSystem, Interrupt, SearchQuery, SearchResult
from tools.environments.file_errors import told_as_file_error
from tools.errors import FileChanged, FileMissing
from tools.text.encoding import decode

log = logging.getLogger(__name__)

MAX_BYTES = 4 * 1024 * 1024
"""A larger file is read and written on disk: it would hold up everything else on the wire."""

_READ_SECONDS = 5.0
_WRITE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class _Seen:
    """A text file at one moment.

    Attributes:
        disk: what is saved.
        buffer: the editor's text, None where it told none, or one that the disk is ahead of.
        content: what a reader gets.
    """

    disk: DiskText
    buffer: str | None
    content: bytes

    @property
    def is_unsaved(self) -> bool:
        """Whether the person has changed the text and not saved it."""
        return self.content != self.disk.data


@dataclass(frozen=True, slots=True)
class EditorFileSystem:
    """Implements `tools.context.FileSystem` over the editor (ACP v1, file-system section) and the disk.

    Attributes:
        disk: does everything that the editor does not.
        interrupt: the turn's.
        memory: the session's.
        roots: the session's directories by the names that the editor gave: paths come with links resolved, and the
            editor knows its files by its own names.
    """

    disk: FileSystem
    calls: EditorCalls
    client: ClientCapabilities
    interrupt: Interrupt
    memory: EditorMemory = field(default_factory=EditorMemory)
    roots: tuple[Path, ...] = ()

    def stat(self, path: Path) -> FileStat | None:
        """Facts of the path on disk, None when nothing is there."""
        return self.disk.stat(path)

    def list(self, path: Path) -> Sequence[str]:
        """Names in a directory on disk, sorted."""
        return self.disk.list(path)

    def search(self, query: SearchQuery) -> SearchResult:
        """Search on disk. What is not saved is not found: to ask the editor about each file would cost too much."""
        return self.disk.search(query)

    def open(self, path: Path) -> BinaryIO:
        """The editor's text of a file, in the file's encoding; the disk's bytes where the text is the same.

        A file that is not on disk is missing, whatever the editor still shows of it.
        """
        seen = self._look(path)
        return self.disk.open(path) if seen is None else BytesIO(seen.content)

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        """Put `data` in place of `expected`, which is what `open` gives.

        Returns:
            what is in the file now: not `data` where the editor changes what it saves (formats it, ends the last
            line).

        Raises:
            FileChanged: the content now is not `expected`, or it is not saved and cannot go through the editor.
        """
        if expected is None:
            return self._create(path, data)
        seen = self._look(path)
        if seen is None:
            self.disk.write(path, data, expected=expected)
            return data
        if seen.content != expected:
            raise FileChanged(f"{path} has changed since it was read; nothing was written. Read it again.")
        return self._replace(path, data, seen)

    def remove(self, path: Path, *, expected: bytes) -> None:
        """Delete a file whose content is `expected`, unless the editor has unsaved changes to it."""
        self._refuse_unsaved(path, "deleted")
        self.disk.remove(path, expected=expected)

    def rename(self, source: Path, target: Path) -> None:
        """Move a file to a path where nothing is, unless the editor has unsaved changes to it."""
        self._refuse_unsaved(source, "moved")
        self.disk.rename(source, target)

    def _look(self, path: Path) -> _Seen | None:
        """What a text file is on disk and in the editor; None for what the editor is not asked about."""
        if not self._asks():
            return None
        disk = self._text_on_disk(path)
        if disk is None:
            return None
        try:
            buffer = self._ask(path)
        except EditorProblem as problem:
            log.info("%s is read from the disk: %s", path, problem)
            buffer = None
        if buffer is None:
            return _Seen(disk, None, disk.data)
        if disk.is_what(buffer):
            self.memory.in_common(path, buffer)
            return _Seen(disk, buffer, disk.data)
        content = disk.bytes_of(buffer)
        if content is None or self.memory.is_outdated(path, buffer):
            log.info("%s is read from the disk: the editor's text of it is outdated or unreadable", path)
            return _Seen(disk, None, disk.data)
        return _Seen(disk, buffer, content)

    def _asks(self) -> bool:
        return self.client.read_files and self.memory.may_ask(self.interrupt)

    def _text_on_disk(self, path: Path) -> DiskText | None:
        facts = self.disk.stat(path)
        if facts is None or facts.kind != "file" or facts.size > MAX_BYTES:
            return None
        with self.disk.open(path) as stream:
            data = stream.read(MAX_BYTES + 1)
        file = decode(data) if len(data) <= MAX_BYTES else None
        return None if file is None else DiskText(data, file)

    def _ask(self, path: Path) -> str | None:
        """The editor's text of a file; None where its answer is none.

        Raises:
            EditorProblem: it did not answer, or with an error.
        """
        params = {"path": self._editor_name(path)}
        try:
            answer = self.calls.call("fs/read_text_file", params, self.interrupt, _READ_SECONDS)
        except EditorSilent:
            self.memory.was_silent(self.interrupt)
            raise
        except EditorRefused:
            self.memory.has_answered(self.interrupt)
            raise
        self.memory.has_answered(self.interrupt)
        content = answer.get("content")
        return content if isinstance(content, str) else None

    def _create(self, path: Path, data: bytes) -> bytes:
        text = sendable(data) if self._may_write(data) else None
        if text is None or os.path.lexists(path) or self._holds_text_for(path):
            self.disk.write(path, data, expected=None)
            return data
        with told_as_file_error("create", path):
            # An editor need not make directories.
            path.parent.mkdir(parents=True, exist_ok=True)
        written = self._written(path, data, text, None)
        if written is None:
            self.disk.write(path, data, expected=None)
            return data
        return written

    def _holds_text_for(self, path: Path) -> bool:
        """Whether the editor has text for a path where the disk has nothing, or cannot be asked.

        A file that was never saved, or one that was deleted: on disk the new one comes beside that text, not over it.
        """
        try:
            return bool(self._ask(path))
        except EditorRefused:  # there is no such file: as it should be
            return False
        except EditorProblem as problem:
            log.info("%s is made on the disk: %s", path, problem)
            return True

    def _replace(self, path: Path, data: bytes, seen: _Seen) -> bytes:
        text = None
        if seen.buffer is not None and self._may_write(data):
            text = seen.disk.text_to_send(data, seen.buffer)
        if text is not None:
            written = self._written(path, data, text, seen.disk.data)
            if written is not None:
                return written
        if seen.is_unsaved:
            raise FileChanged(_unsaved(path, "written"))
        self.disk.write(path, data, expected=seen.disk.data)
        return data

    def _may_write(self, data: bytes) -> bool:
        # Who cannot be asked what is unsaved is not made to overwrite it.
        return self.client.write_files and self._asks() and len(data) <= MAX_BYTES

    def _written(self, path: Path, data: bytes, text: str, before: bytes | None) -> bytes | None:
        """Write through the editor. What is in the file then; None where nothing has happened.

        Args:
            before: what is on disk now.
        """
        facts = self.disk.stat(path)
        params = {"path": self._editor_name(path), "content": text}
        try:
            self.calls.call("fs/write_text_file", params, self.interrupt, _WRITE_SECONDS)
        except EditorProblem as problem:
            if isinstance(problem, EditorSilent):
                self.memory.was_silent(self.interrupt)
            log.info("%s was not written by the editor: %s", path, problem)
            landed = self._on_disk(path)
            return None if landed == before else landed
        landed = self._on_disk(path)
        if landed == before and landed != data:
            landed = self._saved_for_it(path, data, before)
        if landed is None:
            raise FileMissing(f"The editor took the new content of {path}, but the file is gone. Look again.")
        self._keep_mode(path, facts)
        if (file := decode(landed)) is not None:
            self.memory.in_common(path, file.text)
        return landed

    def _saved_for_it(self, path: Path, data: bytes, before: bytes | None) -> bytes | None:
        """The editor has the new text and has not saved it: put the same on the disk."""
        try:
            self.disk.write(path, data, expected=before)
        except FileChanged:  # it has saved it just now
            return self._on_disk(path)
        return data

    def _on_disk(self, path: Path) -> bytes | None:
        try:
            with self.disk.open(path) as stream:
                return stream.read()
        except FileMissing:
            return None

    def _keep_mode(self, path: Path, before: FileStat | None) -> None:
        now = self.disk.stat(path)
        if before is None or now is None or now.mode == before.mode:
            return
        try:
            path.chmod(before.mode)
        except OSError as problem:
            log.warning("the permissions that %s had are lost: %s", path, problem.strerror)

    def _refuse_unsaved(self, path: Path, what: str) -> None:
        seen = None if path.is_symlink() else self._look(path)
        if seen is not None and seen.is_unsaved:
            raise FileChanged(_unsaved(path, what))

    def _editor_name(self, path: Path) -> str:
        for root in self.roots:
            real = Path(os.path.realpath(root))
            if real != root and path.is_relative_to(real):
                return str(root / path.relative_to(real))
        return str(path)


def _unsaved(path: Path, what: str) -> str:
    return (
        f"{path} has unsaved changes in the editor, which could not be asked to save them; nothing was {what}. "
        "Ask the user to save or to discard them."
    )
