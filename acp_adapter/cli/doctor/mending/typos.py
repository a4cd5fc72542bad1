"""Corrects misspelt keys of config.yaml, once the person has seen the change and agrees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.mending.mended import Mended, Person
from acp_adapter.cli.setup.replacing import NewFile, free_backup, mode_of, replace_files
from acp_adapter.cli.terminal.diffs import diff_lines
from acp_adapter.cli.terminal.style import Style

if TYPE_CHECKING:
    from agent_core.settings.problems import SettingsProblem

_NAME = "settings"


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
            yield Mended(_NAME, done=False, text=text)
        else:
            after = changed
    if after != before:
        yield _written(file, before, after, person, misspelt)


def corrected(text: str, path: Sequence[Any], meant: str) -> str | None:
    """`text` with another name for the key at `path`; None where the settings would not be the better for it."""
    import yaml  # noqa: PLC0415 - for this only

    from agent_core.settings.places import Layout  # noqa: PLC0415 - the same

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
        return Mended(_NAME, done=False, text=f"{file} was left as it is: nobody agreed to the change")
    try:
        backup = free_backup(file, ".bak")
        if file.read_bytes().decode("utf-8") != before:
            return Mended(_NAME, done=False, text=f"{file} was changed meanwhile, and is left as it is", harm=True)
        replace_files([NewFile(file, after, mode_of(file), backup)])
    except OSError as problem:
        return Mended(_NAME, done=False, text=f"{file} could not be written: {problem.strerror}", harm=True)
    names = ", ".join(f"{problem.path[-1]} → {problem.meant}" for problem in misspelt)
    return Mended(_NAME, done=True, text=f"{file}: {names}; what it was: {backup}")
