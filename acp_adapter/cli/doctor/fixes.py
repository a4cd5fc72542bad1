"""What `hermes-acp doctor --fix` mends, in the order in which it is done."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_adapter.cli.console import Style, diff_lines
from acp_adapter.cli.doctor.checks import Case
from acp_adapter.cli.doctor.configuration import close, leftovers, open_places
from acp_adapter.cli.doctor.report import Mended, Person
from acp_adapter.cli.setup.replacing import NewFile, free_backup, mode_of, replace_files

if TYPE_CHECKING:
    from acp_adapter.cli.editors import Editor
    from agent_core.sessions.salvage import Salvaged
    from agent_core.settings.problems import SettingsProblem


# Permissions: other users' are taken from the home and from what is private in it.

_PERMISSIONS = "permissions"


def mend_permissions(case: Case, _: Person) -> Iterator[Mended]:
    """The home first: with that alone nobody else gets in."""
    if os.name == "nt":
        return
    for path in tuple(open_places(case.home)):
        try:
            done = close(path)
        except OSError as problem:
            yield Mended(_PERMISSIONS, done=False, text=f"{path}: {problem.strerror}", harm=True)
            continue
        if done:
            yield Mended(_PERMISSIONS, done=True, text=f"{path} is for you alone now")
        else:
            yield Mended(_PERMISSIONS, done=False, text=f"{path} is a link, or another user's: it was left as it is")


# Leftovers of killed processes are removed.

_LEFTOVERS = "leftovers"


def mend_leftovers(case: Case, _: Person) -> Iterator[Mended]:
    """Nothing in these files can be used any more."""
    for path in leftovers(case.home):
        try:
            path.unlink(missing_ok=True)
        except OSError as problem:
            yield Mended(_LEFTOVERS, done=False, text=f"{path}: {problem.strerror}", harm=True)
        else:
            yield Mended(_LEFTOVERS, done=True, text=f"removed {path}")


# The database is mended, or set aside and what can be read of it is saved.

_DATABASE = "database"
_TABLES = ("sessions", "turns", "messages", "events")


def mend_database(case: Case, _: Person) -> Iterator[Mended]:
    """Nothing is ever deleted."""
    from agent_core.errors import StoreError  # noqa: PLC0415 - with SQLite
    from agent_core.sessions.repair import repair  # noqa: PLC0415 - loads SQLite

    try:
        report = repair(case.home.database, case.home.blobs)
    except StoreError as problem:
        yield Mended(_DATABASE, done=False, text=problem.public, harm=True)
        return
    for text in report.done:
        yield Mended(_DATABASE, done=True, text=text)
    if report.salvaged is not None:
        for text in _saved(report.salvaged):
            yield Mended(_DATABASE, done=True, text=text)
    if report.refused:
        yield Mended(_DATABASE, done=False, text=report.refused, harm=True)


def _saved(saved: Salvaged) -> Iterator[str]:
    yield f"Saved: {', '.join(f'{saved.rows.get(table, 0)} {table}' for table in _TABLES)}."
    if saved.unreadable:
        lost = ", ".join(f"{count} of {table}" for table, count in sorted(saved.unreadable.items()))
        yield f"Not readable, and in the broken file only: {lost}."
    if saved.recreated:
        yield f"{saved.recreated} sessions had lost their title and directory: «Recovered session»."


# Misspelt keys of config.yaml are corrected, once the person has seen the change and agrees.

_SETTINGS = "settings"


def mend_typos(case: Case, person: Person) -> Iterator[Mended]:
    """One question for all of them."""
    from agent_core.settings.problems import problems_of  # noqa: PLC0415 - loads what settings are made of

    file = case.home.config_file
    misspelt = [found for found in problems_of(case.home) if found.meant and found.file == file]
    if not misspelt:
        return
    before = file.read_bytes().decode("utf-8")
    after = before
    for problem in misspelt:
        changed = corrected(after, problem.path, problem.meant)
        if changed is None:
            where = ".".join(map(str, problem.path))
            text = f"{where} in {file} was left: with the name {problem.meant} it could not be used"
            yield Mended(_SETTINGS, done=False, text=text)
        else:
            after = changed
    if after != before:
        yield _written(file, before, after, person, misspelt)


def corrected(text: str, path: Sequence[Any], meant: str) -> str | None:
    """`text` with another name for the key at `path`; None where the settings would not be the better for it."""
    import yaml  # noqa: PLC0415 - for this only

    from agent_core.settings.problems import Layout  # noqa: PLC0415 - the same

    place = Layout(text).key(path)
    before = yaml.safe_load(text)
    wanted = _renamed(before, path, meant)
    if place is None or wanted is None:
        return None
    changed = f"{text[: place.start]}{meant}{text[place.end :]}"
    try:
        is_same = yaml.safe_load(changed) == wanted
    except (yaml.YAMLError, ValueError):
        return None
    return changed if is_same and _wrong_values(wanted) <= _wrong_values(before) else None


def _wrong_values(values: Any) -> int:
    from pydantic import ValidationError  # noqa: PLC0415 - as above

    from agent_core.settings.model import Settings  # noqa: PLC0415 - the same

    try:
        Settings.model_validate(values)
    except ValidationError as problem:
        return problem.error_count()
    return 0


def _renamed(values: Any, path: Sequence[Any], meant: str) -> Any:
    """The values with another name for that key; None where the name is taken, or the key is not there."""
    if isinstance(values, list) and len(path) > 1 and isinstance(path[0], int) and path[0] < len(values):
        inner = _renamed(values[path[0]], path[1:], meant)
        return None if inner is None else [*values[: path[0]], inner, *values[path[0] + 1 :]]
    if not isinstance(values, Mapping) or path[0] not in values:
        return None
    if len(path) > 1:
        inner = _renamed(values[path[0]], path[1:], meant)
        return None if inner is None else {**values, path[0]: inner}
    if meant in values:
        return None
    return {meant if key == path[0] else key: value for key, value in values.items()}


def _written(file: Path, before: str, after: str, person: Person, misspelt: Sequence[SettingsProblem]) -> Mended:
    change = diff_lines(str(file), before, after, Style(colour=person.paints()))
    if not person.agrees(f"{file} would become:", change):
        return Mended(_SETTINGS, done=False, text=f"{file} was left as it is: nobody agreed to the change")
    try:
        backup = free_backup(file, ".bak")
        if file.read_bytes().decode("utf-8") != before:
            return Mended(
                _SETTINGS, done=False, text=f"{file} was changed meanwhile, and is left as it is", harm=True
            )
        replace_files([NewFile(file, after, mode_of(file), backup)])
    except OSError as problem:
        return Mended(_SETTINGS, done=False, text=f"{file} could not be written: {problem.strerror}", harm=True)
    names = ", ".join(f"{problem.path[-1]} → {problem.meant}" for problem in misspelt)
    return Mended(_SETTINGS, done=True, text=f"{file}: {names}; what it was: {backup}")


# Editors' entries that start another program, or none, are corrected, once the person agrees.

_EDITOR = "editor"


def mend_editors(case: Case, person: Person) -> Iterator[Mended]:
    """Only entries that are there already: new ones are `hermes-acp setup`'s."""
    from acp_adapter.cli.editors import EDITORS, NotEntered, is_passing, own_command  # noqa: PLC0415 - for this only

    if is_passing(Path(sys.prefix)):
        return
    command = own_command(case.profile, case.environ)
    for editor in EDITORS:
        try:
            if editor.is_here(case.user) and _is_wrong(case, editor, command):
                yield _entered(case, editor, command, person)
        except NotEntered as problem:
            yield Mended(_EDITOR, done=False, text=f"{editor.title}: {problem.public}", harm=True)


def _is_wrong(case: Case, editor: Editor, command: Sequence[str]) -> bool:
    from acp_adapter.cli.editors import known_in, starts_same  # noqa: PLC0415 - the same
    from acp_adapter.cli.jsonc import JsoncError  # noqa: PLC0415 - as above

    try:
        entries = known_in(editor, case.user)
    except (OSError, UnicodeDecodeError, JsoncError):
        return False  # told by the check, and nothing to be changed by a program
    return any(known.is_ours and not starts_same(known, command, case.environ.get("PATH")) for known in entries)


def _entered(case: Case, editor: Editor, command: Sequence[str], person: Person) -> Mended:
    from acp_adapter.cli.editors import enter, planned_entry  # noqa: PLC0415 - as above

    entry = planned_entry(editor, case.user, command)
    if entry.is_done:  # a second entry that is not in our block
        return Mended(
            _EDITOR, done=False, text=f"{editor.title}: {entry.path} has an entry of your own; change it there"
        )
    change = diff_lines(str(entry.path), entry.before, entry.after, Style(colour=person.paints()))
    if not person.agrees(f"{editor.title}: {entry.path} would get:", change):
        return Mended(_EDITOR, done=False, text=f"{editor.title}: left as it is: nobody agreed to the change")
    backup = enter(entry)
    kept = f"; what it was: {backup}" if backup else ""
    return Mended(_EDITOR, done=True, text=f"{editor.title}: {entry.path} starts {command[0]}{kept}")


# All of them.

Mend = Callable[[Case, Person], Iterator[Mended]]

MENDERS: Mapping[str, Mend] = {
    "permissions": mend_permissions,
    "leftovers": mend_leftovers,
    "database": mend_database,
    "settings": mend_typos,
    "editor": mend_editors,
}


def mend(case: Case, person: Person) -> Iterator[Mended]:
    """Each thing that is done or left, as it happens."""
    for name, each in MENDERS.items():
        try:
            yield from each(case, person)
        except Exception as problem:  # noqa: BLE001 - what cannot be mended must not hide the rest
            yield Mended(name, done=False, text=f"{name}: {_told(problem)}", harm=True)


def _told(problem: Exception) -> str:
    if isinstance(problem, OSError):
        return f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem)
    return f"this failed, which is a fault of the program: {type(problem).__name__}: {problem}"
