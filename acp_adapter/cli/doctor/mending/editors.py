"""Corrects editors' entries that start another program, or none, once the person has seen the change and agrees."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.mending.mended import Mended, Person
from acp_adapter.cli.terminal.diffs import diff_lines
from acp_adapter.cli.terminal.style import Style

if TYPE_CHECKING:
    from acp_adapter.cli.editors.table import Editor

_NAME = "editor"


def mend_editors(case: Case, person: Person) -> Iterator[Mended]:
    """Only entries that are there already: new ones are `hermes-acp setup`'s."""
    from acp_adapter.cli.editors.entering import NotEntered  # noqa: PLC0415 - for this only
    from acp_adapter.cli.editors.table import EDITORS, is_passing, own_command  # noqa: PLC0415 - the same

    if is_passing(Path(sys.prefix)):
        return
    command = own_command(case.profile, case.environ)
    for editor in EDITORS:
        try:
            if editor.is_here(case.user) and _is_wrong(case, editor, command):
                yield _entered(case, editor, command, person)
        except NotEntered as problem:
            yield Mended(_NAME, done=False, text=f"{editor.title}: {problem.public}", harm=True)


def _is_wrong(case: Case, editor: Editor, command: Sequence[str]) -> bool:
    from acp_adapter.cli.editors.jsonc import JsoncError  # noqa: PLC0415 - as above
    from acp_adapter.cli.editors.looking import known_in, starts_same  # noqa: PLC0415 - the same

    try:
        entries = known_in(editor, case.user)
    except (OSError, UnicodeDecodeError, JsoncError):
        return False  # told by the check, and nothing to be changed by a program
    return any(known.is_ours and not starts_same(known, command, case.environ.get("PATH")) for known in entries)


def _entered(case: Case, editor: Editor, command: Sequence[str], person: Person) -> Mended:
    from acp_adapter.cli.editors.entering import enter, planned_entry  # noqa: PLC0415 - as above

    entry = planned_entry(editor, case.user, command)
    if entry.is_done:  # a second entry that is not in our block
        return Mended(
            _NAME, done=False, text=f"{editor.title}: {entry.path} has an entry of your own; change it there"
        )
    change = diff_lines(str(entry.path), entry.before, entry.after, Style(colour=person.paints()))
    if not person.agrees(f"{editor.title}: {entry.path} would get:", change):
        return Mended(_NAME, done=False, text=f"{editor.title}: left as it is: nobody agreed to the change")
    backup = enter(entry)
    kept = f"; what it was: {backup}" if backup else ""
    return Mended(_NAME, done=True, text=f"{editor.title}: {entry.path} starts {command[0]}{kept}")
