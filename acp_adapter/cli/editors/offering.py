"""Offers a person to enter the agent into the settings of their editors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acp_adapter.cli.editors.entering import Entry, NotEntered, enter, planned_entry
from acp_adapter.cli.editors.next_steps import NEXT_STEPS
from acp_adapter.cli.editors.table import EDITORS, Editor, is_passing, own_command
from acp_adapter.cli.terminal.diffs import diff_lines
from acp_adapter.cli.terminal.failing import say_failed
from acp_adapter.cli.terminal.style import style_for

if TYPE_CHECKING:
    from acp_adapter.cli.setup.choosing import Person

FAILED = 1
PASSING = (
    "Editors' settings are left as they are: this hermes-acp was made for the moment by uvx or pipx, and its "
    "directory goes when their cache is emptied. Install it to stay, as docs/install.md says, then run: "
    "hermes-acp setup --editor NAME"
)


def offer_editors(person: Person, names: Sequence[str], profile: str | None, *, asks: bool) -> int:
    """Enter the agent where the person agrees; the exit code.

    Args:
        names: which editors; none: those that are here and do not know the agent yet.
        asks: whether the person is asked; else what is named is done.
    """
    if is_passing(Path(sys.prefix)):
        if not names:
            person.say(PASSING)
            return 0
        say_failed("setup", PASSING)
        return FAILED
    home = Path.home()
    command = own_command(profile, os.environ)
    wanted = [editor for editor in EDITORS if editor.name in names or (not names and editor.is_here(home))]
    codes = [_offer(person, editor, home, command, asks=asks, is_named=bool(names)) for editor in wanted]
    if not names:
        here = f" --profile {profile}" if profile else ""
        person.say(f"\nWithout an editor: `hermes-acp chat{here}`. Something is wrong? `hermes-acp doctor{here}`.")
    return max(codes, default=0)


def _offer(person: Person, editor: Editor, home: Path, command: Sequence[str], *, asks: bool, is_named: bool) -> int:
    try:
        entry = planned_entry(editor, home, command)
        if entry.is_done:
            if is_named:
                person.say(f"{editor.title} knows the agent already: {entry.path}")
            return 0
        if asks and not _agreed(person, entry):
            person.say(f"Left as it is. `hermes-acp setup --editor {editor.name}` does it later.")
            return 0
        backup = enter(entry)
    except NotEntered as problem:
        say_failed("setup", f"{editor.title}: {problem.public}")
        return FAILED
    kept = f" (what it was: {backup})" if backup else ""
    person.say(f"Written: {entry.path}{kept}")
    person.say(f"Next, in {editor.title.partition(' (')[0]}: {NEXT_STEPS[editor.name]}")
    return 0


def _agreed(person: Person, entry: Entry) -> bool:
    person.say(f"\n{entry.editor.title}: {entry.path} would get:\n")
    print("\n".join(diff_lines(str(entry.path), entry.before, entry.after, style_for(sys.stdout))), flush=True)
    return person.agrees("\nAdd the agent to this file?", default=False)
