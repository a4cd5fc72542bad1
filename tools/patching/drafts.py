"""Files as they would be: what a patch does is done here first, and reaches the disk only when all of it could be."""

from __future__ import annotations

import os
from pathlib import Path

from tools.arguments import display
from tools.context import ToolContext
from tools.environments.together import FileChange
from tools.errors import FileMissing, ToolError
from tools.files.seen import digest_of
from tools.files.whole_file import read_whole
from tools.light_dataclass import dataclass
from tools.text.encoding import TextFile, decode


@dataclass(slots=True)
class Draft:
    """One path.

    Attributes:
        path: absolute.
        before: the bytes that are there, None where nothing is.
        now: the bytes that shall be there.
        source: where a file that was moved here is.
        moved_to: where the file that is here goes.
        lines: the lines (1-based) that begin a change.
        notes: what the model should know.
    """

    path: Path
    before: bytes | None
    now: bytes | None
    source: Path | None = None
    moved_to: Path | None = None
    lines: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


class Drafts:
    """The files that a patch works on, in the order in which it names them."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx
        self._drafts: dict[Path, Draft] = {}

    def at(self, path: Path) -> Draft:
        """The draft of a path.

        Raises:
            ToolError: what is there cannot be read.
        """
        if path not in self._drafts:
            self._check_apart(path)
            before = read_whole(path, self._ctx)
            self._drafts[path] = Draft(path, before, before)
        return self._drafts[path]

    def _check_apart(self, path: Path) -> None:
        real = os.path.realpath(path)
        twin = next((known for known in self._drafts if os.path.realpath(known) == real), None)
        if twin is not None:
            names = f"{display(twin, self._ctx)} and {display(path, self._ctx)}"
            raise ToolError(f"{names} are the same file (one is a link): use one name for it in a patch.")

    def text(self, draft: Draft) -> TextFile:
        """What shall be there, as text.

        Raises:
            ToolError: nothing, or no text.
        """
        return text_of(draft.path, draft.now, self._ctx)

    def move(self, draft: Draft, target: Path) -> Draft:
        """Let the file go to `target`, and return the draft of that.

        Raises:
            ToolError: something is there that would be lost.
        """
        if draft.path == target:
            return draft
        there = self.at(target)
        self.check_free(there)
        there.now, there.source = draft.now, draft.source or draft.path
        there.lines, there.notes = draft.lines, draft.notes
        draft.now, draft.moved_to, draft.source = None, target, None
        return there

    def check_free(self, draft: Draft) -> None:
        """Refuse to replace a file that the model may not know, or that the patch has changed itself.

        Raises:
            ToolError: there is one.
        """
        name = display(draft.path, self._ctx)
        if not draft.now:
            return
        if draft.now != draft.before or draft.source is not None:
            raise ToolError(f"{name}: the patch puts another file in its place after it has changed it.")
        if self._ctx.seen is None:
            return
        known = self._ctx.seen.known(draft.path)
        if known is None or known.digest != digest_of(draft.now):
            raise ToolError(
                f"{name} exists already, and you have not read it as it is now. Read it first, or change it with "
                "*** Update File."
            )
        if decode(draft.now) is None:
            raise ToolError(f"{name} exists already, and is no text file. If it may really go, delete it first.")

    def changes(self) -> list[tuple[Draft, FileChange]]:
        """What is to be done on disk: files that are made or changed first, those that go last."""
        changes = [(draft, change) for draft in self._drafts.values() if (change := self._change(draft)) is not None]
        return sorted(changes, key=lambda pair: pair[1].after is None)

    def _change(self, draft: Draft) -> FileChange | None:
        if draft.now == draft.before and draft.source is None:
            return None
        origin = None if draft.source is None else self._drafts[draft.source]
        if origin is not None and draft.before is None:
            return FileChange(draft.path, origin.before, draft.now, source=origin.path)
        if draft.now is None and self._is_moved(draft):
            return None
        return FileChange(draft.path, draft.before, draft.now)

    def _is_moved(self, draft: Draft) -> bool:
        """Whether the file leaves this path by a move, which needs no deletion beside it."""
        return any(other.source == draft.path and other.before is None for other in self._drafts.values())


def text_of(path: Path, data: bytes | None, ctx: ToolContext) -> TextFile:
    """The content of a file as text.

    Raises:
        ToolError: there is none, or it is no text.
    """
    name = display(path, ctx)
    if data is None:
        raise FileMissing(f"{name} does not exist. To create it use write_file, or *** Add File in a patch.")
    file = decode(data)
    if file is None:
        raise ToolError(f"{name} is a binary file: patch changes text only.")
    return file
