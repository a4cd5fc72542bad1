"""Which editors are here, and whether what they start is this program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.finding import Finding, failing, warning, well

if TYPE_CHECKING:
    from acp_adapter.cli.editors.looking import Known
    from acp_adapter.cli.editors.table import Editor

_NAME = "editor"


def check_editors(case: Case) -> Iterator[Finding]:
    """Each editor that is here."""
    from acp_adapter.cli.editors.table import EDITORS, own_command  # noqa: PLC0415 - for this look only

    command = own_command(case.profile, case.environ)
    here = [editor for editor in EDITORS if editor.is_here(case.user)]
    found = [finding for editor in here for finding in _looked_at(case, editor, command)]
    yield from found
    if not any(finding.facts.get("entered") for finding in found):
        names = ", ".join(editor.title for editor in here)
        text = f"none of them starts hermes-acp yet ({names})" if here else "no editor that is known here was found"
        step = "`hermes-acp setup` enters it into their settings." if here else "docs/editors/ has a page for each."
        yield warning(_NAME, text, step) if here else well(_NAME, f"{text}; {step}")


def _looked_at(case: Case, editor: Editor, command: Sequence[str]) -> Iterator[Finding]:
    from acp_adapter.cli.editors.jsonc import JsoncError  # noqa: PLC0415 - as above
    from acp_adapter.cli.editors.looking import known_in  # noqa: PLC0415 - the same
    from agent_core.own_files import why_unreadable  # noqa: PLC0415 - the same

    file = editor.settings_file(case.user)
    try:
        entries = known_in(editor, case.user)
    except (OSError, UnicodeDecodeError, JsoncError) as problem:
        said = str(problem) if isinstance(problem, JsoncError) else why_unreadable(problem)
        text = f"{editor.title}: {file} could not be read: {said}"
        yield warning(_NAME, text, "Mend the file: the editor cannot read it either.", editor=editor.name)
        return
    if not entries:
        yield well(_NAME, f"{editor.title} is here; it does not start hermes-acp", editor=editor.name, entered=False)
    for known in entries:
        yield _judged(case, editor, known, command)


def _judged(case: Case, editor: Editor, known: Known, command: Sequence[str]) -> Finding:
    from acp_adapter.cli.editors.looking import starts_same  # noqa: PLC0415 - as above

    path, file = case.environ.get("PATH"), editor.settings_file(case.user)
    called = f"«{known.name}» in {file}" if known.name else str(file)
    facts: dict[str, Any] = {
        "editor": editor.name,
        "file": str(file),
        "entered": True,
        "command": list(known.command),
    }
    step = f"`hermes-acp doctor --fix` makes it {command[0]}: it shows the change, asks, and keeps a backup."
    by_hand = f"Write {command[0]} there."
    if known.program(path) is None:
        text = f"{editor.title}: {called} starts {known.command[0]}, which is not there"
        return failing(_NAME, text, step if known.is_ours else by_hand, mends=known.is_ours, **facts)
    if not starts_same(known, command, path):
        text = f"{editor.title}: {called} starts {known.command[0]}, which is another program than this one"
        return warning(_NAME, text, step if known.is_ours else by_hand, mends=known.is_ours, **facts)
    return well(_NAME, f"{editor.title} starts this program ({called})", **facts)
