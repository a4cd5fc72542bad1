"""Files as the editor has them: its unsaved text wins over the disk, and what is written goes through it.

The editor is asked only for what it offers, and only about text files of a moderate size. Whatever it cannot do is
done on the disk, and told: when it cannot read or write a file, or hold what is in it. But where it has told of text
that is not saved, nothing is written under it; what it refuses to write is not written; and where it is silent about
a write, which may still happen, nothing is written beside it. Search, names and facts are the disk's: a search finds
what is saved.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.client_io.buffer_text import DiskText, sendable
from acp_adapter.client_io.memory import EditorMemory
from acp_adapter.client_io.refusals import in_its_words
from acp_adapter.client_io.writing import EditorCannot, EditorWrite, on_disk, refuse_awaited
from acp_adapter.editor_calls import EditorCalls, EditorProblem, EditorRefused, EditorSilent
from tools.environments.atomic_writes import holding, told_as_file_error
from tools.errors import FileChanged
from tools.light_dataclass import dataclass
from tools.ports import FileStat, FileSystem, Interrupt, SearchQuery, SearchResult
from tools.text.encoding import decode

log = logging.getLogger(__name__)

MAX_BYTES = 4 * 1024 * 1024
"""A larger file is read and written on disk: it would hold up everything else on the wire."""

_READ_SECONDS = 5.0
_SILENT = "the editor does not answer, so what may not be saved there was not seen"


@dataclass(frozen=True, slots=True)
class _Seen:
    """A text file at one moment.

    Attributes:
        disk: what is saved.
        buffer: the editor's text, None where it told none, or one that the disk is ahead of.
        content: what a reader gets.
        trouble: why the editor could not tell its text; '' if it could.
    """

    disk: DiskText
    buffer: str | None
    content: bytes
    trouble: str = ""

    @property
    def is_unsaved(self) -> bool:
        """Whether the person has changed the text and not saved it."""
        return self.content != self.disk.data


@dataclass(frozen=True, slots=True)
class EditorFileSystem:
    """Implements `tools.ports.FileSystem` over the editor (ACP v1, file-system section) and the disk.

    Attributes:
        disk: does everything that the editor does not.
        interrupt: the turn's.
        memory: the session's.
        roots: the session's directories by the names that the editor gave: paths come with links resolved, and the
            editor knows its files by its own names.
        told: what a person and the model should know of the writes so far.
    """

    disk: FileSystem
    calls: EditorCalls
    client: ClientCapabilities
    interrupt: Interrupt
    memory: EditorMemory = field(default_factory=EditorMemory)
    roots: tuple[Path, ...] = ()
    told: list[str] = field(default_factory=list)

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

    def open_saved(self, path: Path) -> BinaryIO:
        """The disk's bytes, without asking the editor."""
        return self.disk.open(path)

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        """Put `data` in place of `expected`, which is what `open` gives.

        Returns:
            what is in the file now: not `data` where the editor changes what it saves (formats it, ends the last
            line).

        Raises:
            FileChanged: the content now is not `expected`, or it is not saved and cannot go through the editor.
            FileAccessError: the editor refuses, or is silent and may still write.
        """
        if expected is None:
            return self._create(path, data)
        seen = self._look(path)
        if seen is None:
            return self._to_disk(path, data, expected, self._silence())
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

    def hindrance(self, path: Path) -> str | None:
        """Why a file must not be changed past the editor; '' where nothing speaks against it.

        Returns:
            None where the editor does not answer, so that nobody knows.

        Raises:
            ToolInterrupted: the turn is over.
        """
        if self.memory.is_awaited(path, lambda: on_disk(self.disk, path)):
            return "the editor has not answered whether it has written an earlier change of it, and may still do so"
        seen = None if path.is_symlink() else self._look(path)
        if self._silence() or (seen is not None and seen.trouble == _SILENT):
            return None
        return "it has unsaved changes in the editor" if seen is not None and seen.is_unsaved else ""

    def remarks(self) -> tuple[str, ...]:
        """What was written in another way than through the editor, although that offers it, and why."""
        return tuple(self.told)

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
            return _Seen(disk, None, disk.data, _why(problem))
        if buffer is None:
            return _Seen(disk, None, disk.data, "the editor gave no text for it")
        buffer = self.memory.endings.as_read(buffer, disk.file.text)
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
        if text is None or os.path.lexists(path):
            return self._to_disk(path, data, None, self._silence())
        if in_the_way := self._why_not_made(path):
            return self._to_disk(path, data, None, in_the_way)
        with told_as_file_error("create", path), holding(path, make=True):
            pass  # an editor need not make directories
        try:
            return self._through_editor(path, None, data, text)
        except EditorCannot as problem:
            return self._to_disk(path, data, None, str(problem))

    def _why_not_made(self, path: Path) -> str:
        """Why a new file is not made by the editor: it has text for the path already, or cannot be asked.

        A file that was never saved, or one that was deleted: on disk the new one comes beside that text, not over it.
        """
        try:
            return "the editor has other text for it, which is not saved" if self._ask(path) else ""
        except EditorRefused:  # there is no such file: as it should be
            return ""
        except EditorProblem as problem:
            return _why(problem)

    def _replace(self, path: Path, data: bytes, seen: _Seen) -> bytes:
        text = None
        if seen.buffer is not None and self._may_write(data):
            text = seen.disk.text_to_send(data, seen.buffer)
        trouble = seen.trouble
        if text is not None:
            try:
                return self._through_editor(path, seen.disk.data, data, text)
            except EditorCannot as problem:
                trouble = str(problem)
        if seen.is_unsaved:
            raise FileChanged(_unsaved(path, "written"))
        return self._to_disk(path, data, seen.disk.data, trouble)

    def _through_editor(self, path: Path, before: bytes | None, data: bytes, text: str) -> bytes:
        return EditorWrite(
            path,
            self._editor_name(path),
            before,
            data,
            text,
            calls=self.calls,
            disk=self.disk,
            memory=self.memory,
            interrupt=self.interrupt,
            tell=self.told.append,
        ).through()

    def _to_disk(self, path: Path, data: bytes, before: bytes | None, trouble: str) -> bytes:
        """Write past the editor.

        Args:
            trouble: why the editor does not do it, where it should have; '' where that is as usual.
        """
        refuse_awaited(path, self.disk, self.memory, "written")
        self.disk.write(path, data, expected=before)
        if trouble:
            log.info("%s was written on the disk: %s", path, trouble)
            self.told.append(f"{path} was written on disk, not through the editor: {trouble}.")
        return data

    def _may_write(self, data: bytes) -> bool:
        # Who cannot be asked what is unsaved is not made to overwrite it.
        return self.client.write_files and self._asks() and len(data) <= MAX_BYTES

    def _silence(self) -> str:
        """Why the editor is not asked about anything at present; '' where it is, or offers nothing."""
        return _SILENT if self.client.read_files and not self.memory.may_ask(self.interrupt) else ""

    def _refuse_unsaved(self, path: Path, what: str) -> None:
        refuse_awaited(path, self.disk, self.memory, what)
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


def _why(problem: EditorProblem) -> str:
    """Why the editor could not tell what it has, as a clause."""
    if isinstance(problem, EditorRefused):
        return f"the editor could not read it: {in_its_words(problem)}"
    return _SILENT if isinstance(problem, EditorSilent) else str(problem).rstrip(".")
