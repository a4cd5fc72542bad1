"""One write through the editor: what is in the file afterwards, and what must not be tried beside it.

A write has one writer. What the editor refuses is not written past it, and what it is silent about is left alone,
because it may still happen; only where it says that it cannot do this, somebody else may (`EditorCannot`). What it
has written otherwise than it was meant, in nothing but ends, is put right (`endings`).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

from acp_adapter.client_io.endings import as_meant, what_was_lost
from acp_adapter.client_io.memory import EditorMemory
from acp_adapter.client_io.refusals import in_its_words, means_no
from acp_adapter.editor_calls import EditorCalls, EditorGone, EditorRefused, EditorSilent
from tools.environments.atomic_writes import open_resolved
from tools.errors import FileAccessError, FileChanged, FileMissing, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.os_compat import O_NONBLOCK, set_mode
from tools.ports import FileStat, FileSystem, Interrupt
from tools.text.encoding import decode

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
