"""What one tool call changes on another machine, kept before it is changed.

What commands change there is not looked for: that would be a look at all of its directories each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.sessions.files.call_history import CallHistory
from agent_core.sessions.files.disk import stored_far
from agent_core.sessions.files.looking import NOTHING, FileState, sha256
from agent_core.sessions.files.version_rows import Change
from tools.ports import TakeBack

if TYPE_CHECKING:
    from tools.ports import CommandSpec, FileSystem
    from tools.result import ChangedFile


class FarHistory:
    """Implements `tools.ports.FileHistory`.

    Args:
        rows: where it is noted; a call's own.
        where: the machine's name.
        files: its files.
    """

    def __init__(self, rows: CallHistory, where: str, files: Callable[[], FileSystem]) -> None:
        self._rows = rows
        self._where = where
        self._files = files

    def writing(self, path: Path, before: bytes | None, after: bytes | None) -> TakeBack:
        """Keep `before`, and note what `path` will hold."""
        try:
            return self._note(path, before, after)
        except Exception as problem:  # noqa: BLE001 - an edit goes on whatever keeps its past from being kept
            return self._rows.give_up(problem, stored_far(self._where, path))

    def moving(self, source: Path, target: Path) -> TakeBack:
        """Keep the file `source`, and note both ends of its way."""
        try:
            with self._files().open(source) as stream:
                content = stream.read()
            gone, come = self._note(source, content, None), self._note(target, None, content)
        except Exception as problem:  # noqa: BLE001 - as above
            return self._rows.give_up(problem, *(stored_far(self._where, path) for path in (source, target)))

        def take_back() -> None:
            gone()
            come()

        return take_back

    @contextmanager
    def command(
        self,
        spec: CommandSpec,  # noqa: ARG002 - as the port has it
        unkept: Callable[[str], object] = lambda _: None,  # noqa: ARG002
    ) -> Iterator[Sequence[ChangedFile]]:
        """Nothing is looked at."""
        yield ()

    def _note(self, path: Path, before: bytes | None, after: bytes | None) -> TakeBack:
        stored = stored_far(self._where, path)
        facts = self._files().stat(path) if before is not None else None
        mode = None if facts is None else facts.mode
        left = NOTHING if after is None else FileState(sha256(after), mode)
        if before is None:
            return self._rows.note("tool", [Change(stored, NOTHING, left)])
        kept = self._rows.keeper.keep(stored, before, mode)
        change = Change(stored, kept.state, left, kept.lost)
        take_back = self._rows.note("tool", [change])
        self._rows.make_sure(change, before)
        return take_back
