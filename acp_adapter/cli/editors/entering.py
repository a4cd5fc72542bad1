"""Enters the agent into an editor's settings: what will change is shown, and what was there is kept beside."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from acp_adapter.cli.editors.jsonc import JsoncError
from acp_adapter.cli.editors.table import Editor
from acp_adapter.cli.setup.replacing import NewFile, free_backup, mode_of, replace_files
from agent_core.errors import HermesError
from agent_core.own_files import read_text, why_unreadable

_NEW_FILE = 0o644


class NotEntered(HermesError):
    """The editor's settings were not changed; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is to become of an editor's settings. `before` is None where there is no file yet."""

    editor: Editor
    path: Path
    before: str | None
    after: str

    @property
    def is_done(self) -> bool:
        """Whether they say it already."""
        return self.before == self.after


def planned_entry(editor: Editor, home: Path, command: Sequence[str]) -> Entry:
    """What entering the agent would change.

    Raises:
        NotEntered: the settings cannot be read; the text has what to put in by hand.
    """
    path = editor.settings_file(home)
    try:
        before = _content(path)
    except (OSError, UnicodeDecodeError) as problem:
        said = why_unreadable(problem)
        raise NotEntered(f"{path} could not be read: {said}. {_by_hand(editor, command)}") from problem
    try:
        return Entry(editor, path, before, editor.entered(before or "", command))
    except JsoncError as problem:
        raise NotEntered(
            f"{path} could not be read as settings: {problem}. Nothing was changed. {_by_hand(editor, command)}"
        ) from problem


def enter(entry: Entry) -> Path | None:
    """Write it; where the old settings are now, None where there were none.

    Raises:
        NotEntered: it could not be written, and nothing was.
    """
    try:
        backup = None if entry.before is None else free_backup(entry.path, ".before-hermes")
        if _content(entry.path) != entry.before:
            raise NotEntered(f"{entry.path} was changed meanwhile, and is left as it is. Try again.")
        real = Path(os.path.realpath(entry.path))
        if entry.before is not None and not mode_of(real) & stat.S_IWUSR:
            raise NotEntered(
                f"{real} is read-only: something else writes it, and it is left as it is. Put the entry in there; "
                f"{entry.editor.docs} has it."
            )
        # A link may lead to a place that is not there yet.
        real.parent.mkdir(parents=True, exist_ok=True)
        replace_files([NewFile(entry.path, entry.after, mode_of(entry.path, _NEW_FILE), backup)])
    except OSError as problem:
        said = problem.strerror or type(problem).__name__
        raise NotEntered(f"{entry.path} could not be written: {said}. Nothing was changed.") from problem
    return backup


def _content(path: Path) -> str | None:
    """The file's text, its line ends as they are; None where there is no file."""
    try:
        return read_text(path)
    except FileNotFoundError:
        return None


def _by_hand(editor: Editor, command: Sequence[str]) -> str:
    return f"Put this in by hand:\n\n{editor.entered('', command)}"
