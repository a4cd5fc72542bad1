"""What `make`, `just` and `npm run` would run of a file whose text is known."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

_RULE = re.compile(r"^([^\s#:=][^#:=]*)::?(?!=)([^#;]*)(?:;(.*))?")
_ASSIGNED = re.compile(r"^(?:export\s+|override\s+)?([\w.-]+)\s*(?:[:?+!]|::)?=\s*(.*)")
_VARIABLE = re.compile(r"\$[({]([\w.-]+)[)}]")
# `$@`, `$<` …: the names of the target and what it is made of.
_AUTOMATIC = re.compile(r"\$[@<^?*+%]|\$\([@<^?*+%][DF]\)")
_MAX_GOALS = 200
_MAX_CHARS = 20_000


def recipes(source: str, goals: Sequence[str]) -> str:
    """The shell commands that these goals run, with what they depend on; the first target where none is named."""
    rules: dict[str, tuple[list[str], list[str]]] = {}
    assigned: dict[str, str] = {}
    current: list[list[str]] = []
    for line in source[:_MAX_CHARS].replace("\\\n", " ").split("\n"):
        if line.startswith("\t"):
            for lines in current:
                lines.append(line.lstrip("\t @-+"))
        elif (found := _ASSIGNED.match(line)) is not None:
            assigned[found[1]] = found[2].strip()
        elif (found := _RULE.match(line)) is not None:
            current = []
            for target in _expanded(found[1], assigned).split():
                needs, lines = rules.setdefault(target, ([], []))
                needs.extend(_expanded(found[2], assigned).split())
                lines.extend([found[3].strip()] if found[3] else [])
                current.append(lines)
    first = [name for name in rules if not name.startswith(".")][:1]
    commands: list[str] = []
    for goal in _reached(rules, list(goals) or first):
        commands.extend(rules[goal][1])
    return "\n".join(_expanded(command, assigned) for command in commands)


def just_recipes(source: str, goals: Sequence[str]) -> str:
    """The same of a justfile, whose recipes are indented by blanks, too."""
    indented = re.sub(r"(?m)^[ \t]+(?=\S)", "\t", source[:_MAX_CHARS])
    return recipes(re.sub(r"\{\{\s*(\w+)\s*\}\}", r"$(\1)", indented), goals)


def package_scripts(source: str, goals: Sequence[str]) -> str:
    """The scripts of a `package.json` that these words name, with what runs before and after them."""
    try:
        content = json.loads(source)
    except (ValueError, RecursionError):
        return ""
    scripts = content.get("scripts") if isinstance(content, dict) else None
    if not isinstance(scripts, dict):
        return ""
    names = [f"{kind}{goal}" for goal in goals for kind in ("pre", "", "post")]
    return "\n".join(str(scripts[name]) for name in names if name in scripts)


def _reached(rules: dict[str, tuple[list[str], list[str]]], goals: list[str]) -> list[str]:
    reached: list[str] = []
    waiting = goals
    while waiting and len(reached) < _MAX_GOALS:
        goal = waiting.pop()
        if goal in rules and goal not in reached:
            reached.append(goal)
            waiting.extend(rules[goal][0])
    return reached


def _expanded(text: str, assigned: dict[str, str]) -> str:
    """With the values of variables; one that nobody sets is the program it is named after (`$(CC)`, `$(RM)`)."""
    text = _AUTOMATIC.sub("target", text)
    for _ in range(2):
        text = _VARIABLE.sub(lambda found: assigned.get(found[1], found[1].lower()), text)
    return text.replace("$$", "$")
