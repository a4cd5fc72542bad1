"""Whether the settings can be used, with the place of what is wrong in them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.finding import Finding, failing, warning, well

if TYPE_CHECKING:
    from agent_core.settings.problems import SettingsProblem

_NAME = "settings"
_MOST_UNKNOWN = 3


def check_settings(case: Case) -> Iterator[Finding]:
    """Each wrong value and each unknown key, as FILE:LINE:COLUMN."""
    from agent_core.settings.problems import problems_of  # noqa: PLC0415 - loads what settings are made of

    file = case.home.config_file
    problems = problems_of(case.home)
    # Other programs may have settings in the same file: many keys that are like none of ours are one line.
    strange = [found for found in problems if found.path and not found.meant and "is not a setting" in found.text]
    alone = strange if len(strange) > _MOST_UNKNOWN else []
    for problem in problems:
        if problem not in alone:
            yield _told(problem)
    if alone:
        names = ", ".join(f"{'.'.join(map(str, found.path))} (line {found.line})" for found in alone)
        yield warning(
            _NAME,
            f"{file} has {len(alone)} keys that this program ignores: {names}",
            "Leave them if another program reads them; else remove them.",
            file=str(file),
            keys=[".".join(map(str, found.path)) for found in alone],
        )
    if not any(problem.stops for problem in problems):
        there = file.exists()
        if file.is_symlink() and not there:
            text = f"{file} is a link to {os.readlink(file)}, which is not there: the defaults count"  # noqa: PTH115
            yield warning(_NAME, text, "Make the file that it leads to, or remove the link.", file=str(file))
            return
        yield well(_NAME, str(file) if there else f"no {file}: the defaults count", file=str(file), exists=there)


def _told(problem: SettingsProblem) -> Finding:
    facts: dict[str, Any] = {"file": str(problem.file), "line": problem.line, "column": problem.column}
    if problem.path:
        facts["key"] = ".".join(map(str, problem.path))
    text = f"{problem.where}: {problem.text}"
    if problem.stops:
        step = "Correct it" if problem.line else "Make it readable for you"
        return failing(_NAME, text, f"{step}: no session begins like this.", **facts)
    if problem.meant:
        step = f"Write {problem.meant}, or `hermes-acp doctor --fix`, which shows the change and asks."
        return warning(_NAME, text, step, mends=True, **facts)
    return warning(_NAME, text, "Correct or remove it.", **facts)
