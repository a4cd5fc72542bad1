"""One write through the editor: what is in the file afterwards, and what must not be tried beside it.

A write has one writer. What the editor refuses is not written past it, and what it is silent about is left alone,
because it may still happen; only where it says that it cannot do this, somebody else may (`EditorCannot`).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

from acp_adapter.client_io.memory import EditorMemory
from acp_adapter.client_io.refusals import in_its_words, means_no
from acp_adapter.editor_calls import EditorCalls, EditorGone, EditorRefused, EditorSilent
from tools.context import FileStat, FileSystem, Interrupt
from tools.environments.resolved_open import open_resolved
from tools.errors import FileAccessError, FileChanged, FileMissing, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.os_flags import O_NONBLOCK, set_mode
from tools.text.encoding import decode

log = logging.getLogger(__name__)

WRITE_SECONDS = 10.0


class EditorCannot(Exception):
    """The editor has not written and will not; the message is a clause that says why."""


@dataclass(frozen=True, slots=True)
class EditorWrite:
    """Puts one text into one file through the editor (ACP v1, `fs/write_text_file`).

    Attributes:
        path: the file; `name` is what the editor calls it.
        before: what is on disk now, None for nothing.
        data: what shall be there; `text` is the same for the editor.
    """

    path: Path
    name: str
    before: bytes | None
    data: bytes
    text: str

    def through(
        self,
        calls: EditorCalls,
        disk: FileSystem,
        memory: EditorMemory,
        interrupt: Interrupt,
        tell: Callable[[str], None],
    ) -> bytes:
        """Write, and look at what is in the file then.

        Args:
            tell: hears what the person and the model should know.

        Raises:
            EditorCannot: nothing was written, and may be in another way.
            FileAccessError: the editor refuses, or nobody knows what it has done.
            ToolInterrupted: the turn is over; it may still write.
        """
        facts = disk.stat(self.path)
        try:
            calls.call("fs/write_text_file", {"path": self.name, "content": self.text}, interrupt, WRITE_SECONDS)
        except ToolInterrupted:
            memory.awaits(self.path, self.data)
            raise
        except EditorSilent:
            memory.was_silent(interrupt)
            memory.awaits(self.path, self.data)
            return self._found_after_silence(disk, memory, tell)
        except EditorRefused as refusal:
            memory.has_answered(interrupt, self.path)
            return self._found_after(refusal, disk)
        except EditorGone as problem:
            return self._unless_changed(disk, f"{problem}".rstrip("."))
        memory.has_answered(interrupt, self.path)
        landed = on_disk(disk, self.path)
        if landed == self.before and landed != self.data:
            landed = self._saved_for_it(disk)
        if landed is None:
            raise FileMissing(f"The editor took the new content of {self.path}, but the file is gone. Look again.")
        _keep_mode(disk, self.path, facts)
        if (file := decode(landed)) is not None:
            memory.in_common(self.path, file.text)
        return landed

    def _found_after(self, refusal: EditorRefused, disk: FileSystem) -> bytes:
        told = in_its_words(refusal)
        if not means_no(refusal):
            return self._unless_changed(disk, f"the editor could not write it: {told}")
        landed = on_disk(disk, self.path)
        if landed is not None and landed != self.before:
            return landed  # it has written, and failed at something afterwards
        raise FileAccessError(
            f"The editor refuses to write {self.path}: {told}. Nothing was written, on disk neither: the file may be "
            "protected there, or the user may have said no. Do not change it in another way; ask the user."
        )

    def _unless_changed(self, disk: FileSystem, why: str) -> bytes:
        landed = on_disk(disk, self.path)
        if landed is not None and landed != self.before:
            return landed
        log.info("%s is left to the disk: %s", self.path, why)
        raise EditorCannot(why)

    def _found_after_silence(self, disk: FileSystem, memory: EditorMemory, tell: Callable[[str], None]) -> bytes:
        landed = on_disk(disk, self.path)
        if landed is not None and not memory.is_awaited(self.path, lambda: landed):
            tell(f"The editor did not answer whether it has written {self.path}, but the new content is there.")
            return landed
        if landed == self.before:
            now = "On disk nothing has changed yet."
        else:
            now = "On disk it has changed, to something else than was sent."
        raise FileAccessError(
            f"The editor did not answer within {WRITE_SECONDS:g} seconds whether it has written {self.path}. {now} "
            "It may still be written later, so nothing was written beside the editor. Read the file before you try "
            "again; if the editor stays silent, tell the user."
        )

    def _saved_for_it(self, disk: FileSystem) -> bytes | None:
        """The editor has the new text and has not saved it: put the same on the disk."""
        try:
            disk.write(self.path, self.data, expected=self.before)
        except FileChanged:  # it has saved it just now
            return on_disk(disk, self.path)
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
