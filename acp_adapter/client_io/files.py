"""Files as the editor has them: unsaved text is read from it, and what it has open is written through it."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.client_io.calls import EditorCalls, EditorGone, EditorProblem, EditorRefused, EditorSilent
from acp_adapter.client_io.endings import DiskText, EndingHabits, as_meant, digest, sendable, what_was_lost
from tools.environments.atomic_writes import holding, open_resolved, told_as_file_error
from tools.errors import FileAccessError, FileChanged, FileMissing, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.os_compat import O_NONBLOCK, set_mode
from tools.ports import FileStat, FileSystem, Interrupt, SearchQuery, SearchResult
from tools.text.encoding import decode

# What a session has learned of its editor: whether it answers, which texts it had in common with the disk, and what
# it was asked to write and has not answered.

_MOST_SILENCES = 2
MOST_FILES = 10_000
"""Files of which is remembered what the editor and the disk have in common."""


class EditorMemory:
    """Shared by all calls of a session; safe for threads. `endings` is shared by all sessions of the client."""

    def __init__(self, endings: EndingHabits | None = None) -> None:
        self.endings = endings or EndingHabits()
        self._lock = threading.Lock()
        self._turn: Interrupt | None = None
        self._silences = 0
        self._common: OrderedDict[Path, bytes] = OrderedDict()
        self._awaited: dict[Path, bytes] = {}

    def may_ask(self, turn: Interrupt) -> bool:
        """Whether the editor is worth asking: not if it was silent several times in a row, in this turn."""
        with self._lock:
            return turn is not self._turn or self._silences < _MOST_SILENCES

    def was_silent(self, turn: Interrupt) -> None:
        """The editor has not answered in time."""
        with self._lock:
            self._silences = self._silences + 1 if turn is self._turn else 1
            self._turn = turn

    def has_answered(self, turn: Interrupt, written: Path | None = None) -> None:
        """The editor has answered, with whatever.

        Args:
            written: the file that it was asked to write; what it was asked earlier for this file is over as well.
        """
        with self._lock:
            self._turn, self._silences = turn, 0
            if written is not None:
                self._awaited.pop(written, None)

    def awaits(self, path: Path, data: bytes) -> None:
        """The editor was asked to write `data` and has not answered: it may do so at any time."""
        with self._lock:
            self._awaited[path] = hashlib.sha256(data).digest()

    def is_awaited(self, path: Path, look: Callable[[], bytes | None]) -> bool:
        """Whether the editor may still write this file, as far as we know: it has not answered, and not written.

        Args:
            look: what is in the file now, None for nothing; called only where it matters.
        """
        with self._lock:
            awaited = self._awaited.get(path)
        if awaited is None:
            return False
        found = look()
        if found is None or hashlib.sha256(found).digest() != awaited:
            return True
        with self._lock:
            self._awaited.pop(path, None)
        return False

    def in_common(self, path: Path, text: str) -> None:
        """The editor's text of the file and the disk's are both `text`."""
        with self._lock:
            self._common[path] = digest(text)
            self._common.move_to_end(path)
            while len(self._common) > MOST_FILES:
                self._common.popitem(last=False)

    def is_outdated(self, path: Path, buffer: str) -> bool:
        """Whether the editor's text, which is not the disk's, is what both had before.

        Then the disk has changed, by a command perhaps, and the editor has not noticed yet: nothing in it is unsaved.
        """
        shown = {digest(buffer)}
        if self.endings.adds(path):
            shown.add(digest(buffer.removesuffix("\n")))
        with self._lock:
            return self._common.get(path) in shown


# What it means that an editor answers a write with an error: it cannot do that, or the file is not to be changed.
# Most editors have one code for everything, so their words count too. Whoever is not sure has heard a no.

# JSON-RPC's own codes and ACP's «resource not found»; 0 is ours for an answer that is no object.
_UNABLE = frozenset({-32700, -32600, -32601, -32602, -32603, -32002, 0})
# A file that is not the editor's business is not one that it protects.
_NOT_ITS_OWN = re.compile(r"outside|not (?:in|inside|within|part of|below|under) |not found|no such", re.IGNORECASE)
_NO = re.compile(
    r"read[- _]?only|permission|e(?:acces|perm|rofs)\b|denied|den(?:y|ies)|reject|refus|declin|forbid|disallow"
    r"|(?:not|n't) (?:be )?(?:allow|permit|writable|edit|modif)|protect|\block|cancel|abort"
    r"|conflict|unsaved|dirty|changed|modified",
    re.IGNORECASE,
)
_MOST_CHARS = 300


def means_no(refusal: EditorRefused) -> bool:
    """Whether the file must not be written at all, in whatever way."""
    if refusal.code not in _UNABLE:
        return True
    return _NO.search(refusal.text) is not None and _NOT_ITS_OWN.search(refusal.text) is None


def in_its_words(refusal: EditorRefused) -> str:
    """The error as the editor told it, on one line and bounded: «buffer is read-only» (-32603)."""
    text = " ".join(refusal.text.split())
    told = text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…"
    return f"«{told}» ({refusal.code})"


# One write through the editor: what is in the file afterwards, and what must not be tried beside it.
# A write has one writer. What the editor refuses is not written past it, and what it is silent about is left alone,
# because it may still happen; only where it says that it cannot do this, somebody else may (`EditorCannot`). What it
# has written otherwise than it was meant, in nothing but ends, is put right (`endings`).

log = logging.getLogger(__name__)

WRITE_SECONDS = 10.0
_METHOD = "fs/write_text_file"


class EditorCannot(Exception):
    """The editor has not written and will not; the message is a clause that says why."""


@dataclass(frozen=True, slots=True)
class EditorWrite:
    """Puts one text into one file through the editor (ACP v1, `fs/write_text_file`).

    Attributes:
        path: the file; `name` is what the editor calls it.
        before: what is on disk now, None for nothing.
        data: what shall be there; `text` is the same for the editor.
        tell: hears what the person and the model should know.
    """

    path: Path
    name: str
    before: bytes | None
    data: bytes
    text: str
    calls: EditorCalls
    disk: FileSystem
    memory: EditorMemory
    interrupt: Interrupt
    tell: Callable[[str], None]

    def through(self) -> bytes:
        """Write, look at what is in the file then, and put right what the editor does to ends.

        Raises:
            EditorCannot: nothing was written, and may be in another way.
            FileAccessError: the editor refuses, or nobody knows what it has done.
            ToolInterrupted: the turn is over; it may still write.
        """
        facts, endings = self.disk.stat(self.path), self.memory.endings
        sent = endings.as_sent(self.path, self.text)
        landed = self._landed(sent, self.before)
        again = endings.as_sent(self.path, self.text)
        if again != sent and self._meant(landed) != landed:
            # Only what goes through the editor changes what it shows, if it has the file open.
            try:
                landed = self._landed(again, landed)
            except (EditorCannot, FileAccessError) as problem:
                log.info("%s could not be put right through the editor: %s", self.path, problem)
        landed = self._put_right(landed)
        _keep_mode(self.disk, self.path, facts)
        if (file := decode(landed)) is not None:
            self.memory.in_common(self.path, file.text)
        return landed

    def _landed(self, text: str, before: bytes | None) -> bytes:
        """Write `text` once over what is there, `before`; what is in the file then."""
        memory = self.memory
        try:
            self.calls.call(_METHOD, {"path": self.name, "content": text}, self.interrupt, WRITE_SECONDS)
        except ToolInterrupted:
            memory.awaits(self.path, self.data)
            raise
        except EditorSilent:
            memory.was_silent(self.interrupt)
            memory.awaits(self.path, self.data)
            return self._found_after_silence(before)
        except EditorRefused as refusal:
            memory.has_answered(self.interrupt, self.path)
            return self._found_after(refusal, before)
        except EditorGone as problem:
            return self._unless_changed(before, f"{problem}".rstrip("."))
        memory.has_answered(self.interrupt, self.path)
        landed = on_disk(self.disk, self.path)
        if landed == before and landed != self.data:
            landed = self._saved_for_it(before)
        if landed is None:
            raise FileMissing(f"The editor took the new content of {self.path}, but the file is gone. Look again.")
        memory.endings.has_written(self.path, text, landed)
        return landed

    def _meant(self, landed: bytes) -> bytes:
        return as_meant(landed, self.data, self.before, adds=self.memory.endings.adds(self.path))

    def _put_right(self, landed: bytes) -> bytes:
        """Give the file on disk the ends that it should have, or tell that it has not; what is in it now."""
        meant, lost = self._meant(landed), what_was_lost(landed, self.data)
        if meant == landed:
            if lost:  # and more was changed, so that nobody can say what the file should be
                self.tell(f"The editor has saved {self.path} {lost}.")
            return landed
        try:
            refuse_awaited(self.path, self.disk, self.memory, "put right")
            return self.disk.write(self.path, meant, expected=landed)
        except (FileAccessError, FileChanged) as problem:
            log.info("%s", problem)
            self.tell(f"The editor has saved {self.path} {lost or 'with another end than it was given'}.")
            return on_disk(self.disk, self.path) or landed

    def _found_after(self, refusal: EditorRefused, before: bytes | None) -> bytes:
        told = in_its_words(refusal)
        if not means_no(refusal):
            return self._unless_changed(before, f"the editor could not write it: {told}")
        landed = on_disk(self.disk, self.path)
        if landed is not None and landed != before:
            return landed  # it has written, and failed at something afterwards
        raise FileAccessError(
            f"The editor refuses to write {self.path}: {told}. Nothing was written, on disk neither: the file may be "
            "protected there, or the user may have said no. Do not change it in another way; ask the user."
        )

    def _unless_changed(self, before: bytes | None, why: str) -> bytes:
        landed = on_disk(self.disk, self.path)
        if landed is not None and landed != before:
            return landed
        log.info("%s is left to the disk: %s", self.path, why)
        raise EditorCannot(why)

    def _found_after_silence(self, before: bytes | None) -> bytes:
        landed = on_disk(self.disk, self.path)
        if landed is not None and not self.memory.is_awaited(self.path, lambda: landed):
            self.tell(f"The editor did not answer whether it has written {self.path}, but the new content is there.")
            return landed
        if landed == before:
            now = "On disk nothing has changed yet."
        else:
            now = "On disk it has changed, to something else than was sent."
        raise FileAccessError(
            f"The editor did not answer within {WRITE_SECONDS:g} seconds whether it has written {self.path}. {now} "
            "It may still be written later, so nothing was written beside the editor. Read the file before you try "
            "again; if the editor stays silent, tell the user."
        )

    def _saved_for_it(self, before: bytes | None) -> bytes | None:
        """The editor has the new text and has not saved it: put the same on the disk."""
        try:
            self.disk.write(self.path, self.data, expected=before)
        except FileChanged:  # it has saved it just now
            return on_disk(self.disk, self.path)
        return self.data


def refuse_awaited(path: Path, disk: FileSystem, memory: EditorMemory, what: str) -> None:
    """Make sure that the editor does not still have to write this file.

    Raises:
        FileAccessError: it was silent about a write, and has not told since what became of it.
    """
    if memory.is_awaited(path, lambda: on_disk(disk, path)):
        raise FileAccessError(
            f"{path} was not {what}: the editor has not answered whether it has written an earlier change of it, and "
            "may still do so. Ask the user to look whether the editor hangs, and try again when it answers."
        )


def on_disk(disk: FileSystem, path: Path) -> bytes | None:
    """The file's bytes, None where there is none."""
    try:
        with disk.open(path) as stream:
            return stream.read()
    except FileMissing:
        return None


def _keep_mode(disk: FileSystem, path: Path, before: FileStat | None) -> None:
    now = disk.stat(path)
    if before is None or now is None or now.mode == before.mode:
        return
    try:
        descriptor = open_resolved(path, os.O_RDONLY | O_NONBLOCK)
        try:
            set_mode(descriptor, before.mode)
        finally:
            os.close(descriptor)
    except OSError as problem:
        log.warning("the permissions that %s had are lost: %s", path, problem.strerror)


# The file system itself.
# The editor is asked only for what it offers, and only about text files of a moderate size. Whatever it cannot do
# is done on the disk, and told: when it cannot read or write a file, or hold what is in it. But where it has told
# of text that is not saved, nothing is written under it; what it refuses to write is not written; and where it is
# silent about a write, which may still happen, nothing is written beside it. Search, names and facts are the
# disk's: a search finds what is saved.

MAX_BYTES = 4 * 1024 * 1024
"""A larger file is read and written on disk: it would hold up everything else on the wire."""

READ_SECONDS = 5.0
"""How long the editor's answer about a file is waited for."""
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
            answer = self.calls.call("fs/read_text_file", params, self.interrupt, READ_SECONDS)
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


# Files that are to be changed on disk while an editor may hold other text of them: which of them must wait.


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
